// RUN: mpc-opt %s --mpc-analyze-ranges="inputs=x:-1000:1000 training" -o /dev/null 2>&1 | FileCheck %s --check-prefix=TRAINING
// RUN: mpc-opt %s --mpc-analyze-ranges="inputs=x:-1000:1000" -o /dev/null 2>&1 | FileCheck %s --check-prefix=INFERENCE
// RUN: mpc-opt %s --mpc-analyze-ranges="inputs=x:-1000:1000 training certificate=%t.json" -o /dev/null && mpc-check-certificate %t.json %s | FileCheck %s --check-prefix=VALID
// VALID: valid: 14 values, 10 of which cannot overflow in float16
// RUN: not mpc-check-certificate %t.json %S/rows.mlir
// In training a batch of 4 images has its own statistics (decision 0145): at most sqrt(4 * 9 - 1) = 5.92, but for what rounds the mean; by
// intervals 2000 / sqrt(0.001).
func.func @forward(%x: tensor<4x3x3x2xf32> {mpc.input = "x"}) -> tensor<4x3x3x2xf32> {
  %e = mpc.constant dense<1.0e-3> : tensor<f32>
  %m = mpc.constant dense<[1.0, -2.0]> : tensor<2xf32>
  %v = mpc.constant dense<[1.0e6, 4.0e6]> : tensor<2xf32>
  %m1, %v1 = mpc.moments %x {axes = array<i64: 0, 1, 2>} : tensor<4x3x3x2xf32> -> tensor<2xf32>, tensor<2xf32>
  %m2 = mpc.in_training %m1 else %m : tensor<2xf32>
  %v2 = mpc.in_training %v1 else %v : tensor<2xf32>
  %s = mpc.add %v2, %e : tensor<2xf32>, tensor<f32>
  %r = mpc.rsqrt %s : tensor<2xf32>
  %n = mpc.negate %m2 : tensor<2xf32>
  %h = mpc.multiply %n, %r : tensor<2xf32>, tensor<2xf32>
  %k = mpc.multiply %x, %r : tensor<4x3x3x2xf32>, tensor<2xf32>
  // TRAINING: add 'f32' in [-5.99442, 5.99442], cannot overflow in float16
  // INFERENCE: add 'f32' in [-1.001, 1.002], cannot overflow in float16
  %y = mpc.add %k, %h : tensor<4x3x3x2xf32>, tensor<2xf32>
  return %y : tensor<4x3x3x2xf32>
}
