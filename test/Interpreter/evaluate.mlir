// RUN: mpc-opt %s --mpc-evaluate | FileCheck %s
// RUN: mpc-opt %s --mpc-form-attention=fewest-scores=1 --mpc-evaluate | FileCheck %s
// RUN: mpc-opt %s --mpc-form-attention=fewest-scores=1 | FileCheck %s --check-prefix=FORMED
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

// Negative indices count from the end; places outside are NaN, and dropped on the way back.
// CHECK-LABEL: func.func @gather
func.func @gather() -> (tensor<4xf32>, tensor<3xf32>) {
  // CHECK-DAG: mpc.constant dense<[3.000000e+00, 1.000000e+00, 0x7FC00000, 3.000000e+00]> : tensor<4xf32>
  // CHECK-DAG: mpc.constant dense<[2.000000e+00, 0.000000e+00, 5.000000e+00]> : tensor<3xf32>
  %table = mpc.constant dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
  %i = mpc.constant dense<[-1, 0, 3, 2]> : tensor<4xi32>
  %u = mpc.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %g = mpc.gather %table, %i {axis = 0 : i64} : tensor<3xf32>, tensor<4xi32> -> tensor<4xf32>
  %s = mpc.scatter_add %i, %u like %table {axis = 0 : i64} : tensor<4xi32>, tensor<4xf32>, tensor<3xf32>
  return %g, %s : tensor<4xf32>, tensor<3xf32>
}

// Biased variance, rounded once: the squares of 300 would overflow float16.
// CHECK-LABEL: func.func @moments
func.func @moments() -> (tensor<f16>, tensor<f16>) {
  // CHECK-DAG: mpc.constant dense<3.000000e+02> : tensor<f16>
  // CHECK-DAG: mpc.constant dense<1.000000e+00> : tensor<f16>
  %x = mpc.constant dense<[299.0, 301.0]> : tensor<2xf16>
  %m, %v = mpc.moments %x {axes = array<i64: 0>} : tensor<2xf16> -> tensor<f16>, tensor<f16>
  return %m, %v : tensor<f16>, tensor<f16>
}

// Quotients round down, remainders have the divisor's sign; a divisor of 0 gives 0, a shift ends at the width.
// CHECK-LABEL: func.func @integers
func.func @integers() -> (tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>) {
  // CHECK-DAG: mpc.constant dense<[-4, -4, 3, 0]> : tensor<4xi32>
  // CHECK-DAG: mpc.constant dense<[1, -1, -1, 0]> : tensor<4xi32>
  // CHECK-DAG: mpc.constant dense<[-5, -7, 7, 5]> : tensor<4xi32>
  // CHECK-DAG: mpc.constant dense<[-28, 7, -28, 5]> : tensor<4xi32>
  // CHECK-DAG: mpc.constant dense<[-2, 7, -1, 5]> : tensor<4xi32>
  %x = mpc.constant dense<[-7, 7, -7, 5]> : tensor<4xi32>
  %y = mpc.constant dense<[2, -2, -2, 0]> : tensor<4xi32>
  %n = mpc.constant dense<[2, -2, 99, 0]> : tensor<4xi32>
  %q = mpc.integer floor_divide %x, %y : tensor<4xi32>, tensor<4xi32>
  %r = mpc.integer modulo %x, %y : tensor<4xi32>, tensor<4xi32>
  %e = mpc.integer xor %x, %y : tensor<4xi32>, tensor<4xi32>
  %two = mpc.constant dense<[2, -2, 2, 0]> : tensor<4xi32>
  %l = mpc.integer shift_left %x, %two : tensor<4xi32>, tensor<4xi32>
  %s = mpc.integer shift_right %x, %n : tensor<4xi32>, tensor<4xi32>
  return %q, %r, %e, %l, %s : tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>, tensor<4xi32>
}

// Attention drops what mpc.dropout of its probabilities drops: 1/4 becomes 0 or 1/2, of each sample and target others.
// CHECK-LABEL: func.func @dropped_attention
// FORMED-LABEL: func.func @dropped_attention
// FORMED: mpc.attention {{.*}} dropout(
func.func @dropped_attention() -> tensor<2x4x4xf32> {
  // CHECK: mpc.constant dense<{{\[\[\[}}0.000000e+00, 5.000000e-01, 0.000000e+00, 0.000000e+00], [0.000000e+00, 5.000000e-01, 0.000000e+00, 0.000000e+00], [0.000000e+00, 0.000000e+00, 5.000000e-01, 5.000000e-01], [5.000000e-01, 5.000000e-01, 5.000000e-01, 0.000000e+00]], {{\[\[}}5.000000e-01, 5.000000e-01, 5.000000e-01, 0.000000e+00], [5.000000e-01, 5.000000e-01, 5.000000e-01, 0.000000e+00], [0.000000e+00, 0.000000e+00, 5.000000e-01, 0.000000e+00], [5.000000e-01, 0.000000e+00, 5.000000e-01, 5.000000e-01]]]> : tensor<2x4x4xf32>
  %q = mpc.constant dense<0.0> : tensor<2x4x1xf32>
  %v = mpc.constant dense<[[[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]], [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]]> : tensor<2x4x4xf32>
  %s = mpc.constant dense<[5, 2]> : tensor<2xi64>
  %0 = mpc.contract %q, %q batch [0] x [0] contracting [2] x [2] : (tensor<2x4x1xf32>, tensor<2x4x1xf32>) -> tensor<2x4x4xf32>
  %1 = mpc.softmax %0 {axis = 2 : i64} : tensor<2x4x4xf32>
  %2 = mpc.dropout %1, %s {rate = 0.5 : f64, stream = 3 : i64} : tensor<2x4x4xf32>, tensor<2xi64>
  %3 = mpc.contract %2, %v batch [0] x [0] contracting [2] x [1] : (tensor<2x4x4xf32>, tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %3 : tensor<2x4x4xf32>
}
