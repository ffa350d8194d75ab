// RUN: mpc-opt %s --convert-mpc-to-linalg | %run-tensors | FileCheck %s
// Values of softmax, cross-entropy, argmax and reductions over rows, with NaN and infinities.

func.func private @printMemrefF32(tensor<*xf32>)
func.func private @printMemrefI32(tensor<*xi32>)

func.func @rows(%x: tensor<?x4xf32>, %l: tensor<?xi32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xf32>, tensor<?xi32>, tensor<4xf32>, tensor<?xf32>, tensor<?x4xf32>, tensor<?xf32>) attributes {mpc.entry} {
  %s = mpc.softmax %x {axis = 1 : i64} : tensor<?x4xf32>
  %ls = mpc.log_softmax %x {axis = 1 : i64} : tensor<?x4xf32>
  %t = mpc.one_hot %l : tensor<?xi32> -> tensor<?x4xf32>
  %ce = mpc.softmax_cross_entropy %x, %t : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?xf32>
  %a = mpc.argmax %x {axis = 1 : i64} : tensor<?x4xf32> -> tensor<?xi32>
  %c = mpc.reduce sum %x {axes = array<i64: 0>} : tensor<?x4xf32> -> tensor<4xf32>
  %mx = mpc.reduce max %x {axes = array<i64: 1>} : tensor<?x4xf32> -> tensor<?xf32>
  %r = mpc.relu %x : tensor<?x4xf32>
  %m = mpc.reduce mean %x {axes = array<i64: 1>} : tensor<?x4xf32> -> tensor<?xf32>
  return %s, %ls, %ce, %a, %c, %mx, %r, %m : tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xf32>, tensor<?xi32>, tensor<4xf32>, tensor<?xf32>, tensor<?x4xf32>, tensor<?xf32>
}

func.func @main() {
  %x = arith.constant dense<[[1.0, 2.0, 3.0, 4.0], [0x7FC00000, 1.0, 5.0, -1.0], [1000.0, 1000.0, -1000.0, 0.0], [-1.0, 0x7F800000, 0xFF800000, 0.0]]> : tensor<4x4xf32>
  %xd = tensor.cast %x : tensor<4x4xf32> to tensor<?x4xf32>
  %l = arith.constant dense<[1, 2, 0, 9]> : tensor<4xi32>
  %ld = tensor.cast %l : tensor<4xi32> to tensor<?xi32>
  %0:8 = func.call @rows(%xd, %ld) : (tensor<?x4xf32>, tensor<?xi32>) -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<?xf32>, tensor<?xi32>, tensor<4xf32>, tensor<?xf32>, tensor<?x4xf32>, tensor<?xf32>)
  // softmax
  // CHECK: [0.0320586, 0.0871443, 0.236883, 0.643914],
  // CHECK-NEXT: [nan, nan, nan, nan],
  // CHECK-NEXT: [0.5, 0.5, 0, 0],
  // CHECK-NEXT: [{{-?}}nan, {{-?}}nan, {{-?}}nan, {{-?}}nan]
  %u0 = tensor.cast %0#0 : tensor<?x4xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u0) : (tensor<*xf32>) -> ()
  // log_softmax
  // CHECK: [-3.44019, -2.44019, -1.44019, -0.44019],
  // CHECK: [-0.693147, -0.693147, -2000.69, -1000.69],
  %u1 = tensor.cast %0#1 : tensor<?x4xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u1) : (tensor<*xf32>) -> ()
  // softmax_cross_entropy; the last label is outside the classes
  // CHECK: [2.44019, nan, 0.693147, {{-?}}nan]
  %u2 = tensor.cast %0#2 : tensor<?xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u2) : (tensor<*xf32>) -> ()
  // argmax: the first of equals, the first NaN
  // CHECK: [3, 0, 0, 1]
  %u3 = tensor.cast %0#3 : tensor<?xi32> to tensor<*xi32>
  func.call @printMemrefI32(%u3) : (tensor<*xi32>) -> ()
  // sums of columns
  // CHECK: [nan, inf, -inf, 3]
  %u4 = tensor.cast %0#4 : tensor<4xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u4) : (tensor<*xf32>) -> ()
  // largest of rows
  // CHECK: [4, nan, 1000, inf]
  %u5 = tensor.cast %0#5 : tensor<?xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u5) : (tensor<*xf32>) -> ()
  // relu
  // CHECK: [1, 2, 3, 4],
  // CHECK-NEXT: [nan, 1, 5, 0],
  // CHECK-NEXT: [1000, 1000, 0, 0],
  // CHECK-NEXT: [0, inf, 0, 0]
  %u6 = tensor.cast %0#6 : tensor<?x4xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u6) : (tensor<*xf32>) -> ()
  // means of rows
  // CHECK: [2.5, nan, 250, {{-?}}nan]
  %u7 = tensor.cast %0#7 : tensor<?xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u7) : (tensor<*xf32>) -> ()
  return
}
