// RUN: mpc-opt %s --convert-mpc-to-linalg --split-input-file | FileCheck %s
// Packed int4 is read where it is needed; float8 is arithmetic of the type that computes.

// CHECK: #[[BYTES:.*]] = affine_map<(d0, d1) -> (d0, d1 floordiv 2)>
// CHECK-LABEL: func.func @unpack
// CHECK: linalg.generic {indexing_maps = [#[[BYTES]], #{{.*}}]
// CHECK: arith.shli
// CHECK: arith.shrsi
func.func @unpack(%packed: tensor<8x3xi8>) -> tensor<8x5xi8> attributes {mpc.entry} {
  %u = mpc.unpack_int4 %packed {extent = 5 : i64} : tensor<8x3xi8> -> tensor<8x5xi8>
  return %u : tensor<8x5xi8>
}

// -----

// CHECK-LABEL: func.func @integers
// CHECK: mpcrt.contract ins(%{{.*}}, %{{.*}} : tensor<?x8xi8>, tensor<8x5xi8>) outs(%{{.*}} : tensor<?x5xi32>)
func.func @integers(%q: tensor<?x8xi8>, %w: tensor<8x5xi8>) -> tensor<?x5xi32> attributes {mpc.entry} {
  %y = mpc.contract %q, %w contracting [1] x [0] : (tensor<?x8xi8>, tensor<8x5xi8>) -> tensor<?x5xi32>
  return %y : tensor<?x5xi32>
}

// -----

// The scale in the type that computes; each op rounds.
// CHECK-LABEL: func.func @float8
// CHECK: arith.truncf %{{.*}} : f32 to bf16
// CHECK: arith.divf
// CHECK: arith.maximumf
// CHECK: arith.minimumf
// CHECK: arith.ori
// CHECK: arith.mulf
func.func @float8(%x: tensor<?x8xbf16>, %s: tensor<f32>, %history: tensor<6xf32>) -> tensor<?x8xbf16> attributes {mpc.entry} {
  %y = mpc.float8_quantize %x scale %s history %history {format = f8E4M3FN} : tensor<?x8xbf16>, tensor<6xf32>
  return %y : tensor<?x8xbf16>
}
