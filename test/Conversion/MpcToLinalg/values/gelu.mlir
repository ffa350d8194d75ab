// RUN: mpc-opt %s --convert-mpc-to-linalg | %run-tensors | FileCheck %s
// gelu and its derivative, with what is not a number: as Keras's steps, -inf gives NaN, and so do both
// infinities in the derivative.

func.func private @printMemrefF32(tensor<*xf32>)
func.func private @printMemrefF64(tensor<*xf64>)

func.func @wide(%x: tensor<8xf64>, %dy: tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>) attributes {mpc.entry} {
  %y = mpc.gelu %x : tensor<8xf64>
  %d = mpc.gelu_gradient %dy, %x : tensor<8xf64>
  return %y, %d : tensor<8xf64>, tensor<8xf64>
}
func.func @single(%x: tensor<8xf32>, %dy: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) attributes {mpc.entry} {
  %y = mpc.gelu %x : tensor<8xf32>
  %d = mpc.gelu_gradient %dy, %x : tensor<8xf32>
  return %y, %d : tensor<8xf32>, tensor<8xf32>
}
func.func @narrow(%x: tensor<8xf32>, %dy: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) attributes {mpc.entry} {
  %xb = mpc.cast %x : tensor<8xf32> to tensor<8xbf16>
  %db = mpc.cast %dy : tensor<8xf32> to tensor<8xbf16>
  %yb = mpc.gelu %xb : tensor<8xbf16>
  %gb = mpc.gelu_gradient %db, %xb : tensor<8xbf16>
  %xh = mpc.cast %x : tensor<8xf32> to tensor<8xf16>
  %dh = mpc.cast %dy : tensor<8xf32> to tensor<8xf16>
  %yh = mpc.gelu %xh : tensor<8xf16>
  %gh = mpc.gelu_gradient %dh, %xh : tensor<8xf16>
  %0 = mpc.cast %yb : tensor<8xbf16> to tensor<8xf32>
  %1 = mpc.cast %gb : tensor<8xbf16> to tensor<8xf32>
  %2 = mpc.cast %yh : tensor<8xf16> to tensor<8xf32>
  %3 = mpc.cast %gh : tensor<8xf16> to tensor<8xf32>
  return %0, %1, %2, %3 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

func.func @main() {
  %x = arith.constant dense<[0.0, 1.0, -1.0, 3.0, -3.0, 0x7F800000, 0xFF800000, 0x7FC00000]> : tensor<8xf32>
  %dy = arith.constant dense<2.0> : tensor<8xf32>
  %xw = arith.constant dense<[0.0, 1.0, -1.0, 3.0, -3.0, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000]> : tensor<8xf64>
  %dw = arith.constant dense<2.0> : tensor<8xf64>
  %0:2 = func.call @wide(%xw, %dw) : (tensor<8xf64>, tensor<8xf64>) -> (tensor<8xf64>, tensor<8xf64>)
  // CHECK: [0, 0.841192, -0.158808, 2.99636, -0.00363739, inf, {{-?}}nan, nan]
  %u0 = tensor.cast %0#0 : tensor<8xf64> to tensor<*xf64>
  func.call @printMemrefF64(%u0) : (tensor<*xf64>) -> ()
  // CHECK: [1, 2.16593, -0.165928, 2.02317, -0.0231683, {{-?}}nan, {{-?}}nan, nan]
  %u1 = tensor.cast %0#1 : tensor<8xf64> to tensor<*xf64>
  func.call @printMemrefF64(%u1) : (tensor<*xf64>) -> ()
  %1:2 = func.call @single(%x, %dy) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>)
  // CHECK: [0, 0.841192, -0.158808, 2.99636, -0.00363739, inf, {{-?}}nan, nan]
  %u2 = tensor.cast %1#0 : tensor<8xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u2) : (tensor<*xf32>) -> ()
  // CHECK: [1, 2.16593, -0.165928, 2.02317, -0.0231683, {{-?}}nan, {{-?}}nan, nan]
  %u3 = tensor.cast %1#1 : tensor<8xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u3) : (tensor<*xf32>) -> ()
  // One rounding: 0.841192 is 0.839844 in bfloat16 and 0.841309 in float16.
  %2:4 = func.call @narrow(%x, %dy) : (tensor<8xf32>, tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>)
  // CHECK: [0, 0.839844, -0.15918, 3, -0.00363159, inf, {{-?}}nan, nan]
  %u4 = tensor.cast %2#0 : tensor<8xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u4) : (tensor<*xf32>) -> ()
  // CHECK: [1, 2.17188, -0.166016, 2.01562, -0.0231934, {{-?}}nan, {{-?}}nan, nan]
  %u5 = tensor.cast %2#1 : tensor<8xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u5) : (tensor<*xf32>) -> ()
  // CHECK: [0, 0.841309, -0.158813, 2.99609, -0.00363731, inf, {{-?}}nan, nan]
  %u6 = tensor.cast %2#2 : tensor<8xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u6) : (tensor<*xf32>) -> ()
  // CHECK: [1, 2.16602, -0.165894, 2.02344, -0.0231628, {{-?}}nan, {{-?}}nan, nan]
  %u7 = tensor.cast %2#3 : tensor<8xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u7) : (tensor<*xf32>) -> ()
  return
}
