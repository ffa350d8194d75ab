// RUN: mpc-opt %s --convert-mpc-to-linalg | %run-tensors | FileCheck %s
// The masks are those of an independent Philox4x32-10 (its vector: counter 0, key 0 gives
// 0x6627e8d5 first): seed 0x123456789abcdef0, counter 5, stream 3.

func.func private @printMemrefF32(tensor<*xf32>)
func.func private @printMemrefI64(tensor<*xi64>)

func.func @random(%x: tensor<?x8xbf16>, %st: tensor<2xi64>) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<2xi64>, tensor<2xi64>) attributes {mpc.entry} {
  %d = mpc.dropout %x, %st {rate = 0.3 : f64, stream = 3 : i64} : tensor<?x8xbf16>, tensor<2xi64>
  %df = mpc.cast %d : tensor<?x8xbf16> to tensor<?x8xf32>
  %e = mpc.dropout %x, %st {rate = 0.3 : f64, stream = 3 : i64, noise_shape = array<i64: -1, 1>} : tensor<?x8xbf16>, tensor<2xi64>
  %ef = mpc.cast %e : tensor<?x8xbf16> to tensor<?x8xf32>
  %n = mpc.random_advance %st : tensor<2xi64>
  %t = mpc.random_step %st : tensor<2xi64>
  return %df, %ef, %n, %t : tensor<?x8xf32>, tensor<?x8xf32>, tensor<2xi64>, tensor<2xi64>
}

func.func @main() {
  %x = arith.constant dense<1.0> : tensor<4x8xbf16>
  %xd = tensor.cast %x : tensor<4x8xbf16> to tensor<?x8xbf16>
  %st = arith.constant dense<[1311768467463790320, 5]> : tensor<2xi64>
  %0:4 = func.call @random(%xd, %st) : (tensor<?x8xbf16>, tensor<2xi64>) -> (tensor<?x8xf32>, tensor<?x8xf32>, tensor<2xi64>, tensor<2xi64>)
  // 1 / 0.7 rounds to 1.4296875 in bfloat16.
  // CHECK: [1.42969, 1.42969, 0, 0, 1.42969, 1.42969, 1.42969, 1.42969],
  // CHECK-NEXT: [0, 1.42969, 1.42969, 1.42969, 0, 1.42969, 0, 0],
  // CHECK-NEXT: [1.42969, 0, 1.42969, 1.42969, 1.42969, 1.42969, 1.42969, 1.42969],
  // CHECK-NEXT: [1.42969, 1.42969, 1.42969, 1.42969, 1.42969, 0, 1.42969, 0]
  %u0 = tensor.cast %0#0 : tensor<?x8xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u0) : (tensor<*xf32>) -> ()
  // One decision per row.
  // CHECK: [1.42969, 1.42969, 1.42969, 1.42969, 1.42969, 1.42969, 1.42969, 1.42969],
  // CHECK-NEXT: [1.42969, 1.42969, 1.42969, 1.42969, 1.42969, 1.42969, 1.42969, 1.42969],
  // CHECK-NEXT: [0, 0, 0, 0, 0, 0, 0, 0],
  // CHECK-NEXT: [0, 0, 0, 0, 0, 0, 0, 0]
  %u1 = tensor.cast %0#1 : tensor<?x8xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u1) : (tensor<*xf32>) -> ()
  // CHECK: [1311768467463790320, 6]
  %u2 = tensor.cast %0#2 : tensor<2xi64> to tensor<*xi64>
  func.call @printMemrefI64(%u2) : (tensor<*xi64>) -> ()
  // 0x123456789abcdef0 + 0x9E3779B97F4A7C15, as a signed number.
  // CHECK: [-5734260786922562811, 5]
  %u3 = tensor.cast %0#3 : tensor<2xi64> to tensor<*xi64>
  func.call @printMemrefI64(%u3) : (tensor<*xi64>) -> ()
  return
}
