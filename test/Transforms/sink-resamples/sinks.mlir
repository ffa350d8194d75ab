// RUN: mpc-opt %s --mpc-sink-resamples | FileCheck %s
// RUN: mpc-opt %s --mpc-sink-resamples --mpc-sink-resamples | FileCheck %s
// Repeated elements are computed once.

// CHECK-LABEL: func.func @rows_of_a_contraction
// CHECK-NEXT: %[[Y:.*]] = mpc.contract %arg0, %arg1 contracting [3] x [0] : (tensor<?x2x3x8xf32>, tensor<8x5xf32>) -> tensor<?x2x3x5xf32>
// CHECK-NEXT: %[[UP:.*]] = mpc.resample %[[Y]] axes [1, 2] taps [1, 1] indices [0, 0, 1, 1, 0, 0, 1, 1, 2, 2] : tensor<?x2x3x5xf32> -> tensor<?x4x6x5xf32>
// CHECK-NEXT: return %[[UP]]
func.func @rows_of_a_contraction(%x: tensor<?x2x3x8xf32>, %w: tensor<8x5xf32>) -> tensor<?x4x6x5xf32> attributes {mpc.entry} {
  %0 = mpc.resample %x axes [1, 2] taps [1, 1] indices [0, 0, 1, 1, 0, 0, 1, 1, 2, 2] : tensor<?x2x3x8xf32> -> tensor<?x4x6x8xf32>
  %1 = mpc.contract %0, %w contracting [3] x [0] : (tensor<?x4x6x8xf32>, tensor<8x5xf32>) -> tensor<?x4x6x5xf32>
  return %1 : tensor<?x4x6x5xf32>
}

// The rows' axes move where the contracted axis was in front of them.
// CHECK-LABEL: func.func @axes_move
// CHECK-NEXT: %[[Y:.*]] = mpc.contract %arg0, %arg1 contracting [1] x [0] : (tensor<?x8x2xf32>, tensor<8x5xf32>) -> tensor<?x2x5xf32>
// CHECK-NEXT: mpc.resample %[[Y]] axes [1] taps [1] indices [0, 0, 1] : tensor<?x2x5xf32> -> tensor<?x3x5xf32>
func.func @axes_move(%x: tensor<?x8x2xf32>, %w: tensor<8x5xf32>) -> tensor<?x3x5xf32> attributes {mpc.entry} {
  %0 = mpc.resample %x axes [2] taps [1] indices [0, 0, 1] : tensor<?x8x2xf32> -> tensor<?x8x3xf32>
  %1 = mpc.contract %0, %w contracting [1] x [0] : (tensor<?x8x3xf32>, tensor<8x5xf32>) -> tensor<?x3x5xf32>
  return %1 : tensor<?x3x5xf32>
}

// The sum of two repeated images, with a number for each channel, and its cast.
// CHECK-LABEL: func.func @sum
// CHECK-NEXT: %[[BOTH:.*]] = mpc.add %arg0, %arg1 : tensor<?x2x8xf32>, tensor<?x2x8xf32>
// CHECK-NEXT: %[[MOVED:.*]] = mpc.add %[[BOTH]], %arg2 : tensor<?x2x8xf32>, tensor<8xf32>
// CHECK-NEXT: %[[CAST:.*]] = mpc.cast %[[MOVED]] : tensor<?x2x8xf32> to tensor<?x2x8xbf16>
// CHECK-NEXT: mpc.resample %[[CAST]] axes [1] taps [1] indices [0, 0, 1, 1] : tensor<?x2x8xbf16> -> tensor<?x4x8xbf16>
func.func @sum(%a: tensor<?x2x8xf32>, %b: tensor<?x2x8xf32>, %c: tensor<8xf32>) -> tensor<?x4x8xbf16> attributes {mpc.entry} {
  %0 = mpc.resample %a axes [1] taps [1] indices [0, 0, 1, 1] : tensor<?x2x8xf32> -> tensor<?x4x8xf32>
  %1 = mpc.resample %b axes [1] taps [1] indices [0, 0, 1, 1] : tensor<?x2x8xf32> -> tensor<?x4x8xf32>
  %2 = mpc.add %0, %1 : tensor<?x4x8xf32>, tensor<?x4x8xf32>
  %3 = mpc.add %2, %c : tensor<?x4x8xf32>, tensor<8xf32>
  %4 = mpc.cast %3 : tensor<?x4x8xf32> to tensor<?x4x8xbf16>
  return %4 : tensor<?x4x8xbf16>
}

// A comparison gives other elements.
// CHECK-LABEL: func.func @compare
// CHECK-NEXT: %[[IS:.*]] = mpc.compare gt %arg0, %arg1 : tensor<?x2xf32>, tensor<f32>
// CHECK-NEXT: mpc.resample %[[IS]] {{.*}} : tensor<?x2xi1> -> tensor<?x4xi1>
func.func @compare(%a: tensor<?x2xf32>, %c: tensor<f32>) -> tensor<?x4xi1> attributes {mpc.entry} {
  %0 = mpc.resample %a axes [1] taps [1] indices [0, 0, 1, 1] : tensor<?x2xf32> -> tensor<?x4xf32>
  %1 = mpc.compare gt %0, %c : tensor<?x4xf32>, tensor<f32>
  return %1 : tensor<?x4xi1>
}

// A number for each batch that broadcasts along the axis, which has one element there.
// CHECK-LABEL: func.func @broadcast
// CHECK-NEXT: mpc.multiply %arg0, %arg1 : tensor<?x2x8xf32>, tensor<?x1x8xf32>
func.func @broadcast(%a: tensor<?x2x8xf32>, %b: tensor<?x1x8xf32>) -> tensor<?x4x8xf32> attributes {mpc.entry} {
  %0 = mpc.resample %a axes [1] taps [1] indices [0, 0, 1, 1] : tensor<?x2x8xf32> -> tensor<?x4x8xf32>
  %1 = mpc.multiply %0, %b : tensor<?x4x8xf32>, tensor<?x1x8xf32>
  return %1 : tensor<?x4x8xf32>
}

// Where an image is read once more, both readers repeat it from the small one.
// CHECK-LABEL: func.func @two_readers
// CHECK-NEXT: %[[RELU:.*]] = mpc.relu %arg0 : tensor<?x2xf32>
// CHECK-NEXT: %[[ONE:.*]] = mpc.resample %[[RELU]] axes [1] taps [1] indices [0, 0, 1, 1]
// CHECK-NEXT: %[[TWO:.*]] = mpc.resample %arg0 axes [1] taps [1] indices [0, 0, 0, 0, 1, 1, 1, 1] : tensor<?x2xf32> -> tensor<?x8xf32>
// CHECK-NEXT: return %[[ONE]], %[[TWO]]
func.func @two_readers(%a: tensor<?x2xf32>) -> (tensor<?x4xf32>, tensor<?x8xf32>) attributes {mpc.entry} {
  %0 = mpc.resample %a axes [1] taps [1] indices [0, 0, 1, 1] : tensor<?x2xf32> -> tensor<?x4xf32>
  %1 = mpc.relu %0 : tensor<?x4xf32>
  %2 = mpc.resample %0 axes [1] taps [1] indices [0, 0, 1, 1, 2, 2, 3, 3] : tensor<?x4xf32> -> tensor<?x8xf32>
  return %1, %2 : tensor<?x4xf32>, tensor<?x8xf32>
}

// A crop of another axis, and zeros around, are joined as well.
// CHECK-LABEL: func.func @joined
// CHECK-NEXT: mpc.resample %arg0 axes [1, 2] taps [1, 1] indices [-1, 1, 1, 0, -1, 2] : tensor<?x2x3xf32> -> tensor<?x5x1xf32>
func.func @joined(%a: tensor<?x2x3xf32>) -> tensor<?x5x1xf32> attributes {mpc.entry} {
  %0 = mpc.resample %a axes [1] taps [1] indices [0, 0, 1, 1] : tensor<?x2x3xf32> -> tensor<?x4x3xf32>
  %1 = mpc.resample %0 axes [1, 2] taps [1, 1] indices [-1, 3, 2, 1, -1, 2] : tensor<?x4x3xf32> -> tensor<?x5x1xf32>
  return %1 : tensor<?x5x1xf32>
}
