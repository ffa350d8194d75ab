// RUN: mpc-opt %s --mpc-evaluate | FileCheck %s
// Functions without arguments become constants: sums are exact and round once.

// CHECK-LABEL: func.func @mean_rounds_once
func.func @mean_rounds_once() -> tensor<f16> {
  // CHECK: mpc.constant dense<6.550400e+04> : tensor<f16>
  %x = mpc.constant dense<65504.0> : tensor<4xf16>
  %m = mpc.reduce mean %x {axes = array<i64: 0>} : tensor<4xf16> -> tensor<f16>
  return %m : tensor<f16>
}

// CHECK-LABEL: func.func @large_ids_stay_exact
func.func @large_ids_stay_exact() -> tensor<2xi64> {
  // CHECK: mpc.constant dense<[9007199254740993, -1]> : tensor<2xi64>
  %x = mpc.constant dense<[[9007199254740993], [-1]]> : tensor<2x1xi64>
  %r = mpc.reshape %x : tensor<2x1xi64> -> tensor<2xi64>
  return %r : tensor<2xi64>
}

// Philox4x32-10 of counter (0, 0, 0, 0) and key 0 starts with 0x6627e8d5: 0.399 is kept at rate 0.25.
// CHECK-LABEL: func.func @dropout
func.func @dropout() -> (tensor<1xf32>, tensor<1xf32>) {
  // CHECK-DAG: mpc.constant dense<1.33333337> : tensor<1xf32>
  // CHECK-DAG: mpc.constant dense<0.000000e+00> : tensor<1xf32>
  %x = mpc.constant dense<1.0> : tensor<1xf32>
  %s = mpc.constant dense<0> : tensor<2xi64>
  %y = mpc.dropout %x, %s {rate = 0.25 : f64, stream = 0 : i64} : tensor<1xf32>, tensor<2xi64>
  %z = mpc.dropout %x, %s {rate = 0.4 : f64, stream = 0 : i64} : tensor<1xf32>, tensor<2xi64>
  return %y, %z : tensor<1xf32>, tensor<1xf32>
}

// CHECK-LABEL: func.func @nan_propagates
func.func @nan_propagates() -> tensor<f32> {
  // CHECK: mpc.constant dense<0x7FC00000> : tensor<f32>
  %x = mpc.constant dense<[1.0, 0x7FC00000, 2.0]> : tensor<3xf32>
  %m = mpc.reduce max %x {axes = array<i64: 0>} : tensor<3xf32> -> tensor<f32>
  return %m : tensor<f32>
}
