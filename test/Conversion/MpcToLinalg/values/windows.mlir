// RUN: mpc-opt %s --convert-mpc-to-linalg | %run-tensors | FileCheck %s
// Values of pools, their gradients and resampling, with NaN, infinities, ties and padding.

func.func private @printMemrefF32(tensor<*xf32>)

func.func @pools(%x: tensor<?x5x2xf32>) -> (tensor<?x3x2xf32>, tensor<?x3x2xf32>, tensor<?x2x2xf32>, tensor<?x2x2xf32>) attributes {mpc.entry} {
  %0 = mpc.pool max %x window [3] strides [2] padding [1] x [1] : tensor<?x5x2xf32> -> tensor<?x3x2xf32>
  %1 = mpc.pool mean %x window [3] strides [2] padding [1] x [1] : tensor<?x5x2xf32> -> tensor<?x3x2xf32>
  %2 = mpc.pool max %x : tensor<?x5x2xf32> -> tensor<?x2x2xf32>
  %3 = mpc.pool mean %x window [2] strides [3] padding [0] x [0] : tensor<?x5x2xf32> -> tensor<?x2x2xf32>
  return %0, %1, %2, %3 : tensor<?x3x2xf32>, tensor<?x3x2xf32>, tensor<?x2x2xf32>, tensor<?x2x2xf32>
}

func.func @window_gradients(%x: tensor<?x5x2xf32>, %dy: tensor<?x3x2xf32>) -> (tensor<?x5x2xf32>, tensor<?x5x2xf32>) attributes {mpc.entry} {
  %0 = mpc.pool_gradient max %dy of %x window [3] strides [2] padding [1] x [1] : (tensor<?x3x2xf32>, tensor<?x5x2xf32>) -> tensor<?x5x2xf32>
  %1 = mpc.pool_gradient mean %dy window [3] strides [2] padding [1] x [1] : (tensor<?x3x2xf32>) -> tensor<?x5x2xf32>
  return %0, %1 : tensor<?x5x2xf32>, tensor<?x5x2xf32>
}

func.func @resampled(%x: tensor<?x5x2xf32>) -> tensor<?x3x3xf32> attributes {mpc.entry} {
  %0 = mpc.resample %x axes [1, 2] taps [2, 1] indices [0, 1, 2, -1, -1, -1, 1, 1, 0] weights dense<[0.5, 0.25, 2.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0]> : tensor<9xf64> : tensor<?x5x2xf32> -> tensor<?x3x3xf32>
  return %0 : tensor<?x3x3xf32>
}

func.func @main() {
  // Ties in the first channel, a NaN and infinities in the second.
  %x = arith.constant dense<[[[4.0, 1.0], [4.0, 0x7F800000], [-1.0, 2.0], [7.0, 0x7FC00000], [7.0, 0xFF800000]]]> : tensor<1x5x2xf32>
  %xd = tensor.cast %x : tensor<1x5x2xf32> to tensor<?x5x2xf32>
  %0:4 = func.call @pools(%xd) : (tensor<?x5x2xf32>) -> (tensor<?x3x2xf32>, tensor<?x3x2xf32>, tensor<?x2x2xf32>, tensor<?x2x2xf32>)
  // CHECK: [4, inf],
  // CHECK-NEXT: [7, nan],
  // CHECK-NEXT: [7, nan]
  %u0 = tensor.cast %0#0 : tensor<?x3x2xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u0) : (tensor<*xf32>) -> ()
  // CHECK: [4, inf],
  // CHECK-NEXT: [3.33333, {{-?}}nan],
  // CHECK-NEXT: [7, {{-?}}nan]
  %u1 = tensor.cast %0#1 : tensor<?x3x2xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u1) : (tensor<*xf32>) -> ()
  // Adaptive: elements 0 to 2 and 2 to 4.
  // CHECK: [4, inf],
  // CHECK-NEXT: [7, nan]
  %u2 = tensor.cast %0#2 : tensor<?x2x2xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u2) : (tensor<*xf32>) -> ()
  // CHECK: [4, inf],
  // CHECK-NEXT: [7, {{-?}}nan]
  %u3 = tensor.cast %0#3 : tensor<?x2x2xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u3) : (tensor<*xf32>) -> ()

  %dy = arith.constant dense<[[[1.0, 1.0], [10.0, 10.0], [100.0, 100.0]]]> : tensor<1x3x2xf32>
  %dyd = tensor.cast %dy : tensor<1x3x2xf32> to tensor<?x3x2xf32>
  %1:2 = func.call @window_gradients(%xd, %dyd) : (tensor<?x5x2xf32>, tensor<?x3x2xf32>) -> (tensor<?x5x2xf32>, tensor<?x5x2xf32>)
  // The first of equals; the NaN.
  // CHECK: [1, 0],
  // CHECK-NEXT: [0, 1],
  // CHECK-NEXT: [0, 0],
  // CHECK-NEXT: [110, 110],
  // CHECK-NEXT: [0, 0]
  %u4 = tensor.cast %1#0 : tensor<?x5x2xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u4) : (tensor<*xf32>) -> ()
  // CHECK: [0.5, 0.5],
  // CHECK-NEXT: [3.83333, 3.83333],
  // CHECK-NEXT: [3.33333, 3.33333],
  // CHECK-NEXT: [53.3333, 53.3333],
  // CHECK-NEXT: [50, 50]
  %u5 = tensor.cast %1#1 : tensor<?x5x2xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u5) : (tensor<*xf32>) -> ()

  %2 = func.call @resampled(%xd) : (tensor<?x5x2xf32>) -> tensor<?x3x3xf32>
  // CHECK: [inf, inf, 3],
  // CHECK-NEXT: [4, 4, -2],
  // CHECK-NEXT: [0, 0, 0]
  %u6 = tensor.cast %2 : tensor<?x3x3xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u6) : (tensor<*xf32>) -> ()
  return
}
