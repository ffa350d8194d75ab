// RUN: mpc-opt %s | mpc-opt | FileCheck %s
// RUN: mpc-opt %s --mlir-print-op-generic | mpc-opt | FileCheck %s
// Ops over windows print in a form that reads back as the same op.

// CHECK-LABEL: func.func @convolution
func.func @convolution(%x: tensor<?x8x9x4xf32>, %w: tensor<3x2x2x6xf32>, %b: tensor<6xf32>, %c: tensor<4xf32>) -> tensor<3x2x2x6xf32> {
  // CHECK: mpc.convolution %{{.*}}, %{{.*}} bias %{{.*}} strides [2, 1] padding [1, 0] x [0, 2] dilations [1, 3] groups 2 {activation = #mpc<activation relu>} : (tensor<?x8x9x4xf32>, tensor<3x2x2x6xf32>, tensor<6xf32>) -> tensor<?x4x8x6xf32>
  %y = mpc.convolution %x, %w bias %b strides [2, 1] padding [1, 0] x [0, 2] dilations [1, 3] groups 2 {activation = #mpc<activation relu>} : (tensor<?x8x9x4xf32>, tensor<3x2x2x6xf32>, tensor<6xf32>) -> tensor<?x4x8x6xf32>
  // CHECK: mpc.convolution_input_gradient %{{.*}}, %{{.*}} bias %{{.*}} strides [2, 1] padding [1, 0] x [0, 2] dilations [1, 3] groups 2 : (tensor<?x4x8x6xf32>, tensor<3x2x2x6xf32>, tensor<4xf32>) -> tensor<?x8x9x4xf32>
  %dx = mpc.convolution_input_gradient %y, %w bias %c strides [2, 1] padding [1, 0] x [0, 2] dilations [1, 3] groups 2 : (tensor<?x4x8x6xf32>, tensor<3x2x2x6xf32>, tensor<4xf32>) -> tensor<?x8x9x4xf32>
  // CHECK: mpc.convolution_filter_gradient %{{.*}}, %{{.*}} strides [2, 1] padding [1, 0] x [0, 2] dilations [1, 3] groups 2 : (tensor<?x8x9x4xf32>, tensor<?x4x8x6xf32>) -> tensor<3x2x2x6xf32>
  %dw = mpc.convolution_filter_gradient %dx, %y strides [2, 1] padding [1, 0] x [0, 2] dilations [1, 3] groups 2 : (tensor<?x8x9x4xf32>, tensor<?x4x8x6xf32>) -> tensor<3x2x2x6xf32>
  return %dw : tensor<3x2x2x6xf32>
}

// CHECK-LABEL: func.func @integers
func.func @integers(%x: tensor<?x8x4xi8>, %w: tensor<3x4x6xi8>) -> tensor<?x8x6xi32> {
  // CHECK: mpc.convolution %{{.*}}, %{{.*}} strides [1] padding [1] x [1] dilations [1] border -7 : (tensor<?x8x4xi8>, tensor<3x4x6xi8>) -> tensor<?x8x6xi32>
  %y = mpc.convolution %x, %w strides [1] padding [1] x [1] dilations [1] border -7 : (tensor<?x8x4xi8>, tensor<3x4x6xi8>) -> tensor<?x8x6xi32>
  return %y : tensor<?x8x6xi32>
}

// CHECK-LABEL: func.func @pool
func.func @pool(%x: tensor<?x9x4xbf16>) -> (tensor<?x9x4xbf16>, tensor<?x9x4xbf16>) {
  // CHECK: mpc.pool max %{{.*}} window [3] strides [2] padding [0] x [1] : tensor<?x9x4xbf16> -> tensor<?x4x4xbf16>
  %y = mpc.pool max %x window [3] strides [2] padding [0] x [1] : tensor<?x9x4xbf16> -> tensor<?x4x4xbf16>
  // CHECK: mpc.pool mean %{{.*}} : tensor<?x9x4xbf16> -> tensor<?x4x4xbf16>
  %z = mpc.pool mean %x : tensor<?x9x4xbf16> -> tensor<?x4x4xbf16>
  // CHECK: mpc.pool_gradient max %{{.*}} of %{{.*}} window [3] strides [2] padding [0] x [1] : (tensor<?x4x4xbf16>, tensor<?x9x4xbf16>) -> tensor<?x9x4xbf16>
  %dy = mpc.pool_gradient max %y of %x window [3] strides [2] padding [0] x [1] : (tensor<?x4x4xbf16>, tensor<?x9x4xbf16>) -> tensor<?x9x4xbf16>
  // CHECK: mpc.pool_gradient mean %{{.*}} : (tensor<?x4x4xbf16>) -> tensor<?x9x4xbf16>
  %dz = mpc.pool_gradient mean %z : (tensor<?x4x4xbf16>) -> tensor<?x9x4xbf16>
  return %dy, %dz : tensor<?x9x4xbf16>, tensor<?x9x4xbf16>
}

// CHECK-LABEL: func.func @resample
func.func @resample(%x: tensor<?x2x3xf32>, %i: tensor<?x2xui8>) -> (tensor<?x3x1xf32>, tensor<?x4xui8>) {
  // CHECK: mpc.resample %{{.*}} axes [1, 2] taps [2, 1] indices [0, 0, 0, 1, 1, -1, 2] weights dense<[0.33333333333333331, 6.500000e-01, 5.000000e-01, 5.000000e-01, 1.000000e+00, 0.000000e+00, 1.000000e+00]> : tensor<7xf64> : tensor<?x2x3xf32> -> tensor<?x3x1xf32>
  %y = mpc.resample %x axes [1, 2] taps [2, 1] indices [0, 0, 0, 1, 1, -1, 2] weights dense<[0.33333333333333331, 0.65, 0.5, 0.5, 1.0, 0.0, 1.0]> : tensor<7xf64> : tensor<?x2x3xf32> -> tensor<?x3x1xf32>
  // CHECK: mpc.resample %{{.*}} axes [1] taps [1] indices [0, 0, 1, 1] : tensor<?x2xui8> -> tensor<?x4xui8>
  %j = mpc.resample %i axes [1] taps [1] indices [0, 0, 1, 1] : tensor<?x2xui8> -> tensor<?x4xui8>
  return %y, %j : tensor<?x3x1xf32>, tensor<?x4xui8>
}
