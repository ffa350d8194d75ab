// RUN: mpc-opt %s --convert-mpc-to-linalg=short-products --canonicalize | FileCheck %s
// On CUDA a product whose results are sums of few terms is elementwise, so that it merges with what follows: in float32,
// rounded once.

// CHECK-DAG: #[[X0:.*]] = affine_map<(d0, d1) -> (d0, 0)>
// CHECK-DAG: #[[W0:.*]] = affine_map<(d0, d1) -> (0, d1)>
// CHECK-DAG: #[[X1:.*]] = affine_map<(d0, d1) -> (d0, 1)>
// CHECK-DAG: #[[W1:.*]] = affine_map<(d0, d1) -> (1, d1)>

// The kernel is read by columns, so that neighbours read neighbours.
// CHECK-LABEL: func.func @gradient
func.func @gradient(%g: tensor<?x2xbf16>, %w: tensor<64x2xbf16>) -> tensor<?x64xbf16> attributes {mpc.entry} {
  // CHECK: %[[TURNED:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<2x64xbf16>)
  // CHECK: linalg.generic {indexing_maps = [#[[X0]], #[[W0]], #[[X1]], #[[W1]], #{{.*}}], iterator_types = ["parallel", "parallel"]}
  // CHECK-SAME: ins(%arg0, %[[TURNED]], %arg0, %[[TURNED]] :
  // CHECK: %[[FIRST:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
  // CHECK: %[[SECOND:.*]] = arith.mulf %{{.*}}, %{{.*}} : f32
  // CHECK: %[[SUM:.*]] = arith.addf %[[FIRST]], %[[SECOND]] : f32
  // CHECK: arith.truncf %[[SUM]] : f32 to bf16
  // CHECK-NOT: mpcrt.contract
  %0 = mpc.contract %g, %w contracting [1] x [1] : (tensor<?x2xbf16>, tensor<64x2xbf16>) -> tensor<?x64xbf16>
  return %0 : tensor<?x64xbf16>
}

// What the library adds at its end it adds still; and long sums are its work.
// CHECK-LABEL: func.func @others
func.func @others(%x: tensor<?x2xf16>, %w: tensor<2x64xf16>, %b: tensor<64xf16>, %y: tensor<?x17xf16>, %v: tensor<17x64xf16>) -> (tensor<?x64xf16>, tensor<?x64xf16>) attributes {mpc.entry} {
  // CHECK: mpcrt.contract ins(%arg0
  %0 = mpc.contract %x, %w bias %b contracting [1] x [0] : (tensor<?x2xf16>, tensor<2x64xf16>, tensor<64xf16>) -> tensor<?x64xf16>
  // CHECK: mpcrt.contract ins(%arg3
  %1 = mpc.contract %y, %v contracting [1] x [0] : (tensor<?x17xf16>, tensor<17x64xf16>) -> tensor<?x64xf16>
  return %0, %1 : tensor<?x64xf16>, tensor<?x64xf16>
}
