// RUN: mpc-opt %s --mpc-sink-resamples | FileCheck %s
// Resamplings that stay where they are.

// Another image of that size is no repetition.
// CHECK-LABEL: func.func @one_of_two
// CHECK-NEXT: %[[UP:.*]] = mpc.resample %arg0
// CHECK-NEXT: mpc.add %[[UP]], %arg1
func.func @one_of_two(%a: tensor<?x2xf32>, %b: tensor<?x4xf32>) -> tensor<?x4xf32> attributes {mpc.entry} {
  %0 = mpc.resample %a axes [1] taps [1] indices [0, 0, 1, 1] : tensor<?x2xf32> -> tensor<?x4xf32>
  %1 = mpc.add %0, %b : tensor<?x4xf32>, tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}

// A vector along the repeated axis differs from element to element.
// CHECK-LABEL: func.func @vector
// CHECK-NEXT: %[[UP:.*]] = mpc.resample %arg0
// CHECK-NEXT: mpc.add %[[UP]], %arg1
func.func @vector(%a: tensor<?x2xf32>, %b: tensor<4xf32>) -> tensor<?x4xf32> attributes {mpc.entry} {
  %0 = mpc.resample %a axes [1] taps [1] indices [0, 0, 1, 1] : tensor<?x2xf32> -> tensor<?x4xf32>
  %1 = mpc.add %0, %b : tensor<?x4xf32>, tensor<4xf32>
  return %1 : tensor<?x4xf32>
}

// Repetitions that differ.
// CHECK-LABEL: func.func @two_orders
// CHECK: mpc.add {{.*}} : tensor<?x4xf32>, tensor<?x4xf32>
// CHECK-NEXT: return
func.func @two_orders(%a: tensor<?x2xf32>) -> tensor<?x4xf32> attributes {mpc.entry} {
  %0 = mpc.resample %a axes [1] taps [1] indices [0, 0, 1, 1] : tensor<?x2xf32> -> tensor<?x4xf32>
  %1 = mpc.resample %a axes [1] taps [1] indices [0, 1, 0, 1] : tensor<?x2xf32> -> tensor<?x4xf32>
  %2 = mpc.add %0, %1 : tensor<?x4xf32>, tensor<?x4xf32>
  return %2 : tensor<?x4xf32>
}

// Zeros, which the op would be computed of.
// CHECK-LABEL: func.func @zeros
// CHECK-NEXT: %[[UP:.*]] = mpc.resample %arg0
// CHECK-NEXT: mpc.exp %[[UP]]
func.func @zeros(%a: tensor<?x2xf32>) -> tensor<?x4xf32> attributes {mpc.entry} {
  %0 = mpc.resample %a axes [1] taps [1] indices [0, 0, 1, -1] : tensor<?x2xf32> -> tensor<?x4xf32>
  %1 = mpc.exp %0 : tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}

// A crop has fewer elements to compute, and so has one that repeats along one axis and crops more along another.
// CHECK-LABEL: func.func @crop
// CHECK-NEXT: %[[PART:.*]] = mpc.resample %arg0
// CHECK-NEXT: mpc.exp %[[PART]]
func.func @crop(%a: tensor<?x2x6xf32>) -> tensor<?x4x2xf32> attributes {mpc.entry} {
  %0 = mpc.resample %a axes [1, 2] taps [1, 1] indices [0, 0, 1, 1, 2, 3] : tensor<?x2x6xf32> -> tensor<?x4x2xf32>
  %1 = mpc.exp %0 : tensor<?x4x2xf32>
  return %1 : tensor<?x4x2xf32>
}

// Weighted sums.
// CHECK-LABEL: func.func @weighted
// CHECK-NEXT: %[[UP:.*]] = mpc.resample %arg0
// CHECK-NEXT: mpc.relu %[[UP]]
func.func @weighted(%a: tensor<?x2xf32>) -> tensor<?x4xf32> attributes {mpc.entry} {
  %0 = mpc.resample %a axes [1] taps [1] indices [0, 0, 1, 1] weights dense<[1.0, 0.5, 0.5, 1.0]> : tensor<4xf64> : tensor<?x2xf32> -> tensor<?x4xf32>
  %1 = mpc.relu %0 : tensor<?x4xf32>
  return %1 : tensor<?x4xf32>
}

// The contraction sums along the repeated axis.
// CHECK-LABEL: func.func @contracted
// CHECK-NEXT: %[[UP:.*]] = mpc.resample %arg0
// CHECK-NEXT: mpc.contract %[[UP]], %arg1
func.func @contracted(%x: tensor<?x2xf32>, %w: tensor<4x5xf32>) -> tensor<?x5xf32> attributes {mpc.entry} {
  %0 = mpc.resample %x axes [1] taps [1] indices [0, 0, 1, 1] : tensor<?x2xf32> -> tensor<?x4xf32>
  %1 = mpc.contract %0, %w contracting [1] x [0] : (tensor<?x4xf32>, tensor<4x5xf32>) -> tensor<?x5xf32>
  return %1 : tensor<?x5xf32>
}

// The smaller operand of a broadcast: the op has more elements than its repetition.
// CHECK-LABEL: func.func @broadcast
// CHECK-NEXT: %[[UP:.*]] = mpc.resample %arg0
// CHECK-NEXT: mpc.add %[[UP]], %arg1
func.func @broadcast(%a: tensor<1x2xf32>, %b: tensor<?x1xf32>) -> tensor<?x4xf32> attributes {mpc.entry} {
  %0 = mpc.resample %a axes [1] taps [1] indices [0, 0, 1, 1] : tensor<1x2xf32> -> tensor<1x4xf32>
  %1 = mpc.add %0, %b : tensor<1x4xf32>, tensor<?x1xf32>
  return %1 : tensor<?x4xf32>
}
