// RUN: mpc-opt %s --convert-mpc-to-linalg --canonicalize | FileCheck %s
// Convolutions become library calls; pools are parallel over what they write, with small windows
// unrolled and large ones taken along one axis after the other.

// CHECK-LABEL: func.func @convolutions
func.func @convolutions(%x: tensor<?x8x4xbf16>, %w: tensor<3x2x6xbf16>, %b: tensor<6xbf16>) -> (tensor<?x8x4xbf16>, tensor<3x2x6xbf16>) attributes {mpc.entry} {
  // CHECK: %[[Y:.*]] = mpcrt.convolve forward ins(%arg0, %arg1 : tensor<?x8x4xbf16>, tensor<3x2x6xbf16>) bias(%arg2 : tensor<6xbf16>) outs(%{{.*}} : tensor<?x4x6xbf16>) strides [2] padding [0] x [1] dilations [1] groups 2 activation({{ ?}}relu) {layer = "conv"} -> tensor<?x4x6xbf16>
  %y = mpc.convolution %x, %w bias %b strides [2] padding [0] x [1] dilations [1] groups 2 {activation = #mpc<activation relu>} : (tensor<?x8x4xbf16>, tensor<3x2x6xbf16>, tensor<6xbf16>) -> tensor<?x4x6xbf16> loc("conv")
  // CHECK: mpcrt.convolve input_gradient ins(%[[Y]], %arg1 : tensor<?x4x6xbf16>, tensor<3x2x6xbf16>) outs(%{{.*}} : tensor<?x8x4xbf16>)
  %dx = mpc.convolution_input_gradient %y, %w strides [2] padding [0] x [1] dilations [1] groups 2 : (tensor<?x4x6xbf16>, tensor<3x2x6xbf16>) -> tensor<?x8x4xbf16>
  // CHECK: mpcrt.convolve filter_gradient ins(%arg0, %[[Y]] : tensor<?x8x4xbf16>, tensor<?x4x6xbf16>) outs(%{{.*}} : tensor<3x2x6xbf16>)
  %dw = mpc.convolution_filter_gradient %x, %y strides [2] padding [0] x [1] dilations [1] groups 2 : (tensor<?x8x4xbf16>, tensor<?x4x6xbf16>) -> tensor<3x2x6xbf16>
  return %dx, %dw : tensor<?x8x4xbf16>, tensor<3x2x6xbf16>
}

// CHECK-LABEL: func.func @integers
func.func @integers(%x: tensor<?x8x4xi8>, %w: tensor<3x4x6xi8>) -> tensor<?x8x6xi32> attributes {mpc.entry} {
  // CHECK: mpcrt.convolve forward ins(%arg0, %arg1 : tensor<?x8x4xi8>, tensor<3x4x6xi8>) outs(%{{.*}} : tensor<?x8x6xi32>) strides [1] padding [1] x [1] dilations [1] groups 1 border -7 {layer = "conv"} -> tensor<?x8x6xi32>
  %y = mpc.convolution %x, %w strides [1] padding [1] x [1] dilations [1] border -7 : (tensor<?x8x4xi8>, tensor<3x4x6xi8>) -> tensor<?x8x6xi32> loc("conv")
  return %y : tensor<?x8x6xi32>
}

// Windows inside the input: each element is an input at an affine place, no index is computed.
// CHECK-LABEL: func.func @inside
func.func @inside(%x: tensor<?x4x6x8xf32>) -> tensor<?x2x3x8xf32> attributes {mpc.entry} {
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%arg0, %arg0, %arg0, %arg0 :
  // CHECK-NOT: linalg.index
  // CHECK-COUNT-3: arith.maximumf
  %y = mpc.pool max %x window [2, 2] strides [2, 2] padding [0, 0] x [0, 0] : tensor<?x4x6x8xf32> -> tensor<?x2x3x8xf32>
  // CHECK: return
  return %y : tensor<?x2x3x8xf32>
}

// Places outside do not count for the mean: the count is computed.
// CHECK-LABEL: func.func @padded
func.func @padded(%x: tensor<?x5x8xbf16>) -> tensor<?x3x8xbf16> attributes {mpc.entry} {
  // CHECK: linalg.generic
  // CHECK: tensor.extract %arg0
  // CHECK: arith.select
  // CHECK: arith.divf %{{.*}} : f32
  // CHECK: arith.truncf %{{.*}} : f32 to bf16
  // CHECK-NOT: linalg.generic
  %y = mpc.pool mean %x window [3] strides [2] padding [1] x [1] : tensor<?x5x8xbf16> -> tensor<?x3x8xbf16>
  return %y : tensor<?x3x8xbf16>
}

// 100 elements: along rows, in float32, then along columns.
// CHECK-LABEL: func.func @large
func.func @large(%x: tensor<?x20x20x4xf16>) -> tensor<?x2x2x4xf16> attributes {mpc.entry} {
  // CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<?x20x2x4xf32>)
  // CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<?x2x2x4xf16>)
  %y = mpc.pool mean %x window [10, 10] strides [10, 10] padding [0, 0] x [0, 0] : tensor<?x20x20x4xf16> -> tensor<?x2x2x4xf16>
  return %y : tensor<?x2x2x4xf16>
}

// A very long window is a reduction.
// CHECK-LABEL: func.func @long
func.func @long(%x: tensor<?x900x4xf32>) -> tensor<?x3x4xf32> attributes {mpc.entry} {
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "reduction"]}
  %y = mpc.pool max %x window [300] strides [300] padding [0] x [0] : tensor<?x900x4xf32> -> tensor<?x3x4xf32>
  return %y : tensor<?x3x4xf32>
}

// The place of the maximum is found once for each window; elements then gather.
// CHECK-LABEL: func.func @gradient
func.func @gradient(%dy: tensor<?x4x8xf32>, %x: tensor<?x8x8xf32>) -> tensor<?x8x8xf32> attributes {mpc.entry} {
  // CHECK: %[[P:.*]]:2 = linalg.generic {{.*}} outs(%{{.*}}, %{{.*}} : tensor<?x4x8xf32>, tensor<?x4x8xi32>)
  // CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<?x8x8xf32>)
  // CHECK: tensor.extract %arg0
  // CHECK: tensor.extract %[[P]]#1
  %dx = mpc.pool_gradient max %dy of %x window [2] strides [2] padding [0] x [0] : (tensor<?x4x8xf32>, tensor<?x8x8xf32>) -> tensor<?x8x8xf32>
  return %dx : tensor<?x8x8xf32>
}

// CHECK-LABEL: func.func @repeat
func.func @repeat(%x: tensor<?x2x3xi8>) -> tensor<?x4x3xi8> attributes {mpc.entry} {
  // CHECK: arith.constant dense<[0, 0, 1, 1]> : tensor<4xi32>
  // CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<?x4x3xi8>)
  // CHECK-NOT: linalg.generic
  %y = mpc.resample %x axes [1] taps [1] indices [0, 0, 1, 1] : tensor<?x2x3xi8> -> tensor<?x4x3xi8>
  return %y : tensor<?x4x3xi8>
}

// The first axis hands float32 on: what it only selects is widened, too.
// CHECK-LABEL: func.func @narrow
func.func @narrow(%x: tensor<?x2x2xf16>) -> tensor<?x3x2xf16> attributes {mpc.entry} {
  // CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<?x3x2xf32>)
  // CHECK: arith.extf
  // CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<?x3x2xf16>)
  %y = mpc.resample %x axes [1, 2] taps [1, 2] indices [0, -1, 1, 0, 1, 1, 0] : tensor<?x2x2xf16> -> tensor<?x3x2xf16>
  return %y : tensor<?x3x2xf16>
}
