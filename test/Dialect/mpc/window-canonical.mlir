// RUN: mpc-opt %s --canonicalize | FileCheck %s
// Zeros become padding, pointwise convolutions contractions, transposes in a row one or none.

// CHECK-LABEL: func.func @padded
func.func @padded(%x: tensor<?x8x9x3xf32>, %w: tensor<3x3x3x4xf32>) -> tensor<?x4x5x4xf32> {
  %0 = mpc.pad %x {axis = 1 : i64, low = 0 : i64, high = 1 : i64, value = 0.0 : f64} : tensor<?x8x9x3xf32> -> tensor<?x9x9x3xf32>
  %1 = mpc.pad %0 {axis = 2 : i64, low = 1 : i64, high = 1 : i64, value = 0.0 : f64} : tensor<?x9x9x3xf32> -> tensor<?x9x11x3xf32>
  // CHECK-NEXT: mpc.convolution %arg0, %arg1 strides [2, 2] padding [0, 1] x [1, 1] dilations [1, 1]
  %y = mpc.convolution %1, %w strides [2, 2] padding [0, 0] x [0, 0] dilations [1, 1] : (tensor<?x9x11x3xf32>, tensor<3x3x3x4xf32>) -> tensor<?x4x5x4xf32>
  return %y : tensor<?x4x5x4xf32>
}

// Other values, and zeros along the channels, are no padding.
// CHECK-LABEL: func.func @not_padding
func.func @not_padding(%x: tensor<?x8x3xf32>, %w: tensor<3x4x4xf32>) -> tensor<?x7x4xf32> {
  // CHECK: mpc.pad
  %0 = mpc.pad %x {axis = 1 : i64, low = 0 : i64, high = 1 : i64, value = 1.0 : f64} : tensor<?x8x3xf32> -> tensor<?x9x3xf32>
  // CHECK: mpc.pad
  %1 = mpc.pad %0 {axis = 2 : i64, low = 0 : i64, high = 1 : i64, value = 0.0 : f64} : tensor<?x9x3xf32> -> tensor<?x9x4xf32>
  // CHECK: mpc.convolution %{{.*}} padding [0] x [0]
  %y = mpc.convolution %1, %w strides [1] padding [0] x [0] dilations [1] : (tensor<?x9x4xf32>, tensor<3x4x4xf32>) -> tensor<?x7x4xf32>
  return %y : tensor<?x7x4xf32>
}

// Zeros are not the border of integers.
// CHECK-LABEL: func.func @border
func.func @border(%x: tensor<?x8x3xi8>, %w: tensor<3x3x4xi8>) -> (tensor<?x8x4xi32>, tensor<?x8x4xi32>) {
  %0 = mpc.pad %x {axis = 1 : i64, low = 1 : i64, high = 1 : i64, value = 0.0 : f64} : tensor<?x8x3xi8> -> tensor<?x10x3xi8>
  // CHECK: %[[P:.*]] = mpc.pad
  // CHECK: mpc.convolution %[[P]], %arg1 strides [1] padding [0] x [0] dilations [1] border 5
  %1 = mpc.convolution %0, %w strides [1] padding [0] x [0] dilations [1] border 5 : (tensor<?x10x3xi8>, tensor<3x3x4xi8>) -> tensor<?x8x4xi32>
  // CHECK: mpc.convolution %arg0, %arg1 strides [1] padding [1] x [1] dilations [1] :
  %2 = mpc.convolution %0, %w strides [1] padding [0] x [0] dilations [1] : (tensor<?x10x3xi8>, tensor<3x3x4xi8>) -> tensor<?x8x4xi32>
  return %1, %2 : tensor<?x8x4xi32>, tensor<?x8x4xi32>
}

// CHECK-LABEL: func.func @pointwise
func.func @pointwise(%x: tensor<?x8x9x3xf32>, %w: tensor<1x1x3x4xf32>) -> tensor<?x8x9x4xf32> {
  // CHECK: %[[M:.*]] = mpc.reshape %arg1 : tensor<1x1x3x4xf32> -> tensor<3x4xf32>
  // CHECK: mpc.contract %arg0, %[[M]] contracting [3] x [0]
  %y = mpc.convolution %x, %w strides [1, 1] padding [0, 0] x [0, 0] dilations [1, 1] : (tensor<?x8x9x3xf32>, tensor<1x1x3x4xf32>) -> tensor<?x8x9x4xf32>
  return %y : tensor<?x8x9x4xf32>
}

// CHECK-LABEL: func.func @strided
func.func @strided(%x: tensor<?x8x3xf32>, %w: tensor<1x3x4xf32>) -> tensor<?x4x4xf32> {
  // CHECK: mpc.convolution
  %y = mpc.convolution %x, %w strides [2] padding [0] x [0] dilations [1] : (tensor<?x8x3xf32>, tensor<1x3x4xf32>) -> tensor<?x4x4xf32>
  return %y : tensor<?x4x4xf32>
}

// CHECK-LABEL: func.func @transposes
func.func @transposes(%x: tensor<?x2x3x4xf32>) -> (tensor<?x2x3x4xf32>, tensor<?x4x3x2xf32>) {
  %0 = mpc.transpose %x {permutation = array<i64: 0, 2, 3, 1>} : tensor<?x2x3x4xf32> -> tensor<?x3x4x2xf32>
  %1 = mpc.transpose %0 {permutation = array<i64: 0, 3, 1, 2>} : tensor<?x3x4x2xf32> -> tensor<?x2x3x4xf32>
  // CHECK: %[[T:.*]] = mpc.transpose %arg0 {permutation = array<i64: 0, 3, 2, 1>}
  %2 = mpc.transpose %0 {permutation = array<i64: 0, 2, 1, 3>} : tensor<?x3x4x2xf32> -> tensor<?x4x3x2xf32>
  // CHECK: return %arg0, %[[T]]
  return %1, %2 : tensor<?x2x3x4xf32>, tensor<?x4x3x2xf32>
}
