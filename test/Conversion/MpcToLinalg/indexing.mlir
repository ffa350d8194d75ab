// RUN: mpc-opt %s --convert-mpc-to-linalg --split-input-file | FileCheck %s
// Gather reads the table inside a parallel op; scatter_add becomes mpcrt.scatter_add on two or three dimensions.

// CHECK-LABEL: func.func @gather
// CHECK: linalg.generic
// CHECK: arith.cmpi slt
// CHECK: arith.cmpi ult
// CHECK: tensor.extract %{{.*}}[%{{.*}}, %{{.*}}] : tensor<100x8xf32>
// CHECK: linalg.yield
func.func @gather(%table: tensor<100x8xf32>, %ids: tensor<?x5xi32>) -> tensor<?x5x8xf32> attributes {mpc.entry} {
  %0 = mpc.gather %table, %ids {axis = 0 : i64} : tensor<100x8xf32>, tensor<?x5xi32> -> tensor<?x5x8xf32>
  return %0 : tensor<?x5x8xf32>
}

// -----

// Unsigned indices are never negative.
// CHECK-LABEL: func.func @unsigned
// CHECK-NOT: arith.cmpi slt
// CHECK: tensor.extract
func.func @unsigned(%x: tensor<?x6x4xf16>, %ids: tensor<?x6x2xui8>) -> tensor<?x6x2xf16> attributes {mpc.entry} {
  %0 = mpc.gather %x, %ids {axis = 2 : i64, batch_dims = 2 : i64} : tensor<?x6x4xf16>, tensor<?x6x2xui8> -> tensor<?x6x2xf16>
  return %0 : tensor<?x6x2xf16>
}

// -----

// CHECK-LABEL: func.func @scatter
// CHECK: linalg.fill
// CHECK: mpcrt.scatter_add ins(%{{.*}}, %{{.*}} : tensor<?xi64>, tensor<?x8xbf16>) outs(%{{.*}} : tensor<100x8xf32>) -> tensor<100x8xf32>
// CHECK: arith.truncf %{{.*}} : f32 to bf16
func.func @scatter(%table: tensor<100x8xbf16>, %ids: tensor<?x5xi32>, %dy: tensor<?x5x8xbf16>) -> tensor<100x8xbf16> attributes {mpc.entry} {
  %0 = mpc.scatter_add %ids, %dy like %table {axis = 0 : i64} : tensor<?x5xi32>, tensor<?x5x8xbf16>, tensor<100x8xbf16>
  return %0 : tensor<100x8xbf16>
}

// -----

// CHECK-LABEL: func.func @scatter_along
// CHECK: mpcrt.scatter_add ins(%{{.*}}, %{{.*}} : tensor<?x2xi64>, tensor<?x2x1xf32>) outs(%{{.*}} : tensor<?x4x1xf32>) -> tensor<?x4x1xf32>
func.func @scatter_along(%x: tensor<?x6x4xf32>, %ids: tensor<?x6x2xi32>, %dy: tensor<?x6x2xf32>) -> tensor<?x6x4xf32> attributes {mpc.entry} {
  %0 = mpc.scatter_add %ids, %dy like %x {axis = 2 : i64, batch_dims = 2 : i64} : tensor<?x6x2xi32>, tensor<?x6x2xf32>, tensor<?x6x4xf32>
  return %0 : tensor<?x6x4xf32>
}
