// RUN: mpc-opt %s --mpc-analyze-ranges="inputs=x:-1000:1000,z:0:1,h:-1:1" -verify-diagnostics -o /dev/null
// Operands that share numbers: it is known what else each of these is part of (decision 0123).

// expected-remark@+3 {{argument 'f32' in [-1000, 1000]}}
// expected-remark@+2 {{argument 'f32' in [0, 1]}}
// expected-remark@+1 {{argument 'f32' in [-1, 1]}}
func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %z: tensor<?x4xf32> {mpc.input = "z"}, %h: tensor<?x4xf32> {mpc.input = "h"}) -> tensor<?x4xf32> {
  // expected-remark@+1 {{constant}}
  %e = mpc.constant dense<1.0e-6> : tensor<f32>
  // expected-remark@+1 {{constant}}
  %1 = mpc.constant dense<1.0> : tensor<f32>
  // A normalised number is at most sqrt(n - 1), but for what rounds the mean; by intervals alone it is 2000 / sqrt(epsilon).
  // expected-remark@+2 {{moments 'f32' in [-1000, 1000]}}
  // expected-remark@+1 {{moments 'f32' in [0, 1e+06]}}
  %m, %v = mpc.moments %x {axes = array<i64: 1>, keep_dims} : tensor<?x4xf32> -> tensor<?x1xf32>, tensor<?x1xf32>
  // expected-remark@+1 {{add 'f32'}}
  %s = mpc.add %v, %e : tensor<?x1xf32>, tensor<f32>
  // expected-remark@+1 {{rsqrt 'f32'}}
  %r = mpc.rsqrt %s : tensor<?x1xf32>
  // expected-remark@+1 {{subtract 'f32' in [-1500, 1500]}}
  %d = mpc.subtract %x, %m : tensor<?x4xf32>, tensor<?x1xf32>
  // expected-remark@+1 {{multiply 'f32' in [-2.30054, 2.30054], cannot overflow in float16}}
  %n = mpc.multiply %d, %r : tensor<?x4xf32>, tensor<?x1xf32>
  // Nothing is larger than the largest.
  // expected-remark@+1 {{reduce 'f32' in [-1000, 1000]}}
  %l = mpc.reduce max %x {axes = array<i64: 1>, keep_dims} : tensor<?x4xf32> -> tensor<?x1xf32>
  // expected-remark@+1 {{subtract 'f32' in [-2000, 0]}}
  %b = mpc.subtract %x, %l : tensor<?x4xf32>, tensor<?x1xf32>
  // expected-remark@+1 {{exp 'f32' in [-1.17549e-38, 1], cannot overflow in float16}}
  %p = mpc.exp %b : tensor<?x4xf32>
  // z takes of one as much as it leaves of the other.
  // expected-remark@+1 {{multiply 'f32' in [-1000, 1000]}}
  %i = mpc.multiply %z, %x : tensor<?x4xf32>, tensor<?x4xf32>
  // expected-remark@+1 {{subtract 'f32' in [0, 1]}}
  %o = mpc.subtract %1, %z : tensor<f32>, tensor<?x4xf32>
  // expected-remark@+1 {{multiply 'f32' in [-1000, 1000]}}
  %j = mpc.multiply %o, %x : tensor<?x4xf32>, tensor<?x4xf32>
  // expected-remark@+1 {{add 'f32' in [-1000, 1000]}}
  %k = mpc.add %i, %j : tensor<?x4xf32>, tensor<?x4xf32>
  // A number is added and taken away again.
  // expected-remark@+1 {{add 'f32' in [-1001, 1001]}}
  %a = mpc.add %x, %h : tensor<?x4xf32>, tensor<?x4xf32>
  // expected-remark@+1 {{subtract 'f32' in [-1.00003, 1.00003]}}
  %t = mpc.subtract %a, %x : tensor<?x4xf32>, tensor<?x4xf32>
  // x sigmoid(x) is never below -0.28: at most twice that is shown, not -1000.
  // expected-remark@+1 {{sigmoid 'f32'}}
  %g = mpc.sigmoid %x : tensor<?x4xf32>
  // expected-remark@+1 {{multiply 'f32' in [-0.403413, 1000], cannot overflow in float16}}
  %w = mpc.multiply %x, %g : tensor<?x4xf32>, tensor<?x4xf32>
  return %n : tensor<?x4xf32>
}
