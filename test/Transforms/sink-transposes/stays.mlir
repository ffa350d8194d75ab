// RUN: mpc-opt %s --mpc-sink-transposes --canonicalize | FileCheck %s
// Transpositions that stay where they are.

// Another array of that size would be transposed instead.
// CHECK-LABEL: func.func @one_of_two
// CHECK: %[[T:.*]] = mpc.transpose %arg0
// CHECK-NEXT: mpc.add %[[T]], %arg1
func.func @one_of_two(%a: tensor<?x4x5x8xf32>, %b: tensor<?x8x4x5xf32>) -> tensor<?x8x4x5xf32> {
  %0 = mpc.transpose %a {permutation = array<i64: 0, 3, 1, 2>} : tensor<?x4x5x8xf32> -> tensor<?x8x4x5xf32>
  %1 = mpc.add %0, %b : tensor<?x8x4x5xf32>, tensor<?x8x4x5xf32>
  return %1 : tensor<?x8x4x5xf32>
}

// So would a number for each channel and row.
// CHECK-LABEL: func.func @two_extents
// CHECK: %[[T:.*]] = mpc.transpose %arg0
// CHECK-NEXT: mpc.add %[[T]], %arg1
func.func @two_extents(%a: tensor<?x4x5x8xf32>, %b: tensor<8x4x1xf32>) -> tensor<?x8x4x5xf32> {
  %0 = mpc.transpose %a {permutation = array<i64: 0, 3, 1, 2>} : tensor<?x4x5x8xf32> -> tensor<?x8x4x5xf32>
  %1 = mpc.add %0, %b : tensor<?x8x4x5xf32>, tensor<8x4x1xf32>
  return %1 : tensor<?x8x4x5xf32>
}

// Transpositions that differ.
// CHECK-LABEL: func.func @two_orders
// CHECK: mpc.add {{.*}} : tensor<?x5x5x5xf32>
// CHECK-NEXT: return
func.func @two_orders(%a: tensor<?x5x5x5xf32>) -> tensor<?x5x5x5xf32> {
  %0 = mpc.transpose %a {permutation = array<i64: 0, 3, 1, 2>} : tensor<?x5x5x5xf32> -> tensor<?x5x5x5xf32>
  %1 = mpc.transpose %a {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x5x5x5xf32> -> tensor<?x5x5x5xf32>
  %2 = mpc.add %0, %1 : tensor<?x5x5x5xf32>, tensor<?x5x5x5xf32>
  return %2 : tensor<?x5x5x5xf32>
}

// Nothing is joined along what is the first dimension then.
// CHECK-LABEL: func.func @join_of_batches
// CHECK: %[[T:.*]] = mpc.transpose %arg0
// CHECK-NEXT: mpc.concatenate %[[T]], %[[T]] {axis = 1 : i64}
func.func @join_of_batches(%a: tensor<3x4x8xf32>) -> tensor<4x6x8xf32> {
  %0 = mpc.transpose %a {permutation = array<i64: 1, 0, 2>} : tensor<3x4x8xf32> -> tensor<4x3x8xf32>
  %1 = mpc.concatenate %0, %0 {axis = 1 : i64} : (tensor<4x3x8xf32>, tensor<4x3x8xf32>) -> tensor<4x6x8xf32>
  return %1 : tensor<4x6x8xf32>
}
