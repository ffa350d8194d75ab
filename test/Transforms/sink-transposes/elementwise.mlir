// RUN: mpc-opt %s --mpc-sink-transposes --canonicalize | FileCheck %s
// RUN: mpc-opt %s --mpc-sink-transposes --canonicalize --mpc-sink-transposes --canonicalize | FileCheck %s
// Transpositions stand behind what computes each element for itself, where they meet the one back.

// CHECK-LABEL: func.func @relu_between
// CHECK-NEXT: %[[RELU:.*]] = mpc.relu %arg0 : tensor<?x4x5x8xf32>
// CHECK-NEXT: return %[[RELU]]
func.func @relu_between(%y: tensor<?x4x5x8xf32>) -> tensor<?x4x5x8xf32> {
  %0 = mpc.transpose %y {permutation = array<i64: 0, 3, 1, 2>} : tensor<?x4x5x8xf32> -> tensor<?x8x4x5xf32>
  %1 = mpc.relu %0 : tensor<?x8x4x5xf32>
  %2 = mpc.transpose %1 {permutation = array<i64: 0, 2, 3, 1>} : tensor<?x8x4x5xf32> -> tensor<?x4x5x8xf32>
  return %2 : tensor<?x4x5x8xf32>
}

// Both branches of a residual block, and a cast.
// CHECK-LABEL: func.func @residual
// CHECK-NEXT: %[[SUM:.*]] = mpc.add %arg0, %arg1 : tensor<?x4x5x8xf32>, tensor<?x4x5x8xf32>
// CHECK-NEXT: %[[CAST:.*]] = mpc.cast %[[SUM]] : tensor<?x4x5x8xf32> to tensor<?x4x5x8xf16>
// CHECK-NEXT: return %[[CAST]]
func.func @residual(%a: tensor<?x4x5x8xf32>, %b: tensor<?x4x5x8xf32>) -> tensor<?x4x5x8xf16> {
  %0 = mpc.transpose %a {permutation = array<i64: 0, 3, 1, 2>} : tensor<?x4x5x8xf32> -> tensor<?x8x4x5xf32>
  %1 = mpc.transpose %b {permutation = array<i64: 0, 3, 1, 2>} : tensor<?x4x5x8xf32> -> tensor<?x8x4x5xf32>
  %2 = mpc.add %0, %1 : tensor<?x8x4x5xf32>, tensor<?x8x4x5xf32>
  %3 = mpc.cast %2 : tensor<?x8x4x5xf32> to tensor<?x8x4x5xf16>
  %4 = mpc.transpose %3 {permutation = array<i64: 0, 2, 3, 1>} : tensor<?x8x4x5xf16> -> tensor<?x4x5x8xf16>
  return %4 : tensor<?x4x5x8xf16>
}

// A number for each channel becomes a vector along the last dimension, a number stays one.
// CHECK-LABEL: func.func @channels
// CHECK-NEXT: %[[C:.*]] = mpc.reshape %arg1 : tensor<8x1x1xf32> -> tensor<8xf32>
// CHECK-NEXT: %[[SUM:.*]] = mpc.add %arg0, %[[C]] : tensor<?x4x5x8xf32>, tensor<8xf32>
// CHECK-NEXT: %[[MOST:.*]] = mpc.minimum %[[SUM]], %arg2 : tensor<?x4x5x8xf32>, tensor<f32>
// CHECK-NEXT: mpc.transpose %[[MOST]] {permutation = array<i64: 0, 3, 1, 2>}
func.func @channels(%y: tensor<?x4x5x8xf32>, %c: tensor<8x1x1xf32>, %six: tensor<f32>) -> tensor<?x8x4x5xf32> {
  %0 = mpc.transpose %y {permutation = array<i64: 0, 3, 1, 2>} : tensor<?x4x5x8xf32> -> tensor<?x8x4x5xf32>
  %1 = mpc.add %0, %c : tensor<?x8x4x5xf32>, tensor<8x1x1xf32>
  %2 = mpc.minimum %1, %six : tensor<?x8x4x5xf32>, tensor<f32>
  return %2 : tensor<?x8x4x5xf32>
}

// CHECK-LABEL: func.func @join
// CHECK-NEXT: %[[BOTH:.*]] = mpc.concatenate %arg0, %arg1 {axis = 3 : i64}
// CHECK-NEXT: mpc.transpose %[[BOTH]] {permutation = array<i64: 0, 3, 1, 2>}
func.func @join(%a: tensor<?x4x5x8xf32>, %b: tensor<?x4x5x2xf32>) -> tensor<?x10x4x5xf32> {
  %0 = mpc.transpose %a {permutation = array<i64: 0, 3, 1, 2>} : tensor<?x4x5x8xf32> -> tensor<?x8x4x5xf32>
  %1 = mpc.transpose %b {permutation = array<i64: 0, 3, 1, 2>} : tensor<?x4x5x2xf32> -> tensor<?x2x4x5xf32>
  %2 = mpc.concatenate %0, %1 {axis = 1 : i64} : (tensor<?x8x4x5xf32>, tensor<?x2x4x5xf32>) -> tensor<?x10x4x5xf32>
  return %2 : tensor<?x10x4x5xf32>
}

// A transposition of a constant is left to the clean-up, which folds it.
// CHECK-LABEL: func.func @constant
// CHECK: mpc.constant dense<{{.*}}> : tensor<2x2x1xf32>
// CHECK: mpc.add
func.func @constant(%a: tensor<?x2x2x1xf32>) -> tensor<?x2x2x1xf32> {
  %c = mpc.constant dense<[[[1.0, 2.0], [3.0, 4.0]]]> : tensor<1x2x2xf32>
  %0 = mpc.transpose %c {permutation = array<i64: 1, 2, 0>} : tensor<1x2x2xf32> -> tensor<2x2x1xf32>
  %1 = mpc.add %a, %0 : tensor<?x2x2x1xf32>, tensor<2x2x1xf32>
  return %1 : tensor<?x2x2x1xf32>
}
