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

func.func @uniform(%x: tensor<?x8xf32>, %st: tensor<2xi64>) -> tensor<?x8xf32> attributes {mpc.entry} {
  %u = mpc.uniform_noise like %x, %st {low = -1.0 : f64, high = -0.5 : f64, stream = 3 : i64} : tensor<?x8xf32>, tensor<2xi64>
  return %u : tensor<?x8xf32>
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
  // From -1 to -0.5, whatever the elements are.
  // CHECK: [-0.814007, -0.848039, -0.861733, -0.95026, -0.540748, -0.843881, -0.505363, -0.656564],
  // CHECK-NEXT: [-0.882719, -0.831376, -0.789857, -0.730317, -0.999019, -0.510606, -0.8618, -0.928464],
  // CHECK-NEXT: [-0.588216, -0.984903, -0.620455, -0.81969, -0.718108, -0.832092, -0.811345, -0.620378],
  // CHECK-NEXT: [-0.834131, -0.534782, -0.662584, -0.538519, -0.565228, -0.959281, -0.792064, -0.893889]
  %xf = arith.constant dense<0x7FC00000> : tensor<4x8xf32>
  %xfd = tensor.cast %xf : tensor<4x8xf32> to tensor<?x8xf32>
  %4 = func.call @uniform(%xfd, %st) : (tensor<?x8xf32>, tensor<2xi64>) -> tensor<?x8xf32>
  %u4 = tensor.cast %4 : tensor<?x8xf32> to tensor<*xf32>
  func.call @printMemrefF32(%u4) : (tensor<*xf32>) -> ()
  return
}
