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

// [-128, 3] with 5 outside: 5 * 2 - 128 * -3, -128 * 2 + 3 * -3 and 3 * 2 + 5 * -3.
// CHECK-LABEL: func.func @convolution_of_integers
func.func @convolution_of_integers() -> tensor<1x3x1xi32> {
  // CHECK: mpc.constant dense<{{\[\[}}[394], [-265], [-9]]]> : tensor<1x3x1xi32>
  %x = mpc.constant dense<[[[-128], [3]]]> : tensor<1x2x1xi8>
  %w = mpc.constant dense<[[[2]], [[-3]]]> : tensor<2x1x1xi8>
  %y = mpc.convolution %x, %w strides [1] padding [1] x [1] dilations [1] border 5 : (tensor<1x2x1xi8>, tensor<2x1x1xi8>) -> tensor<1x3x1xi32>
  return %y : tensor<1x3x1xi32>
}

// CHECK-LABEL: func.func @padded_integers
func.func @padded_integers() -> tensor<1x4xi8> {
  // CHECK: mpc.constant dense<{{\[\[}}0, 5, -6, 0]]> : tensor<1x4xi8>
  %x = mpc.constant dense<[[5, -6]]> : tensor<1x2xi8>
  %y = mpc.pad %x {axis = 1 : i64, low = 1 : i64, high = 1 : i64, value = 0.0 : f64} : tensor<1x2xi8> -> tensor<1x4xi8>
  return %y : tensor<1x4xi8>
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

// Integers wrap at their width in each op, whatever reads them next.
// CHECK-LABEL: func.func @integers_wrap
func.func @integers_wrap() -> (tensor<1xi32>, tensor<1xf32>, tensor<1xi32>, tensor<1xi1>) {
  // CHECK-DAG: mpc.constant dense<44> : tensor<1xi32>
  // CHECK-DAG: mpc.constant dense<-5.600000e+01> : tensor<1xf32>
  // CHECK-DAG: mpc.constant dense<156> : tensor<1xi32>
  // CHECK-DAG: mpc.constant dense<false> : tensor<1xi1>
  %a = mpc.constant dense<200> : tensor<1xui8>
  %b = mpc.constant dense<100> : tensor<1xui8>
  %sum = mpc.add %a, %b : tensor<1xui8>, tensor<1xui8>
  %wide = mpc.cast %sum : tensor<1xui8> to tensor<1xi32>
  %c = mpc.constant dense<100> : tensor<1xi8>
  %twice = mpc.add %c, %c : tensor<1xi8>, tensor<1xi8>
  %float = mpc.cast %twice : tensor<1xi8> to tensor<1xf32>
  %d = mpc.constant dense<-100> : tensor<1xi8>
  %bits = mpc.cast %d : tensor<1xi8> to tensor<1xui8>
  %positive = mpc.cast %bits : tensor<1xui8> to tensor<1xi32>
  %difference = mpc.subtract %b, %a : tensor<1xui8>, tensor<1xui8>
  %less = mpc.compare lt %difference, %b : tensor<1xui8>, tensor<1xui8>
  return %wide, %float, %positive, %less : tensor<1xi32>, tensor<1xf32>, tensor<1xi32>, tensor<1xi1>
}

// What a double does not hold: 2^53 + 1, and unsigned numbers from 2^63 on.
// CHECK-LABEL: func.func @all_bits_count
func.func @all_bits_count() -> (tensor<1xi64>, tensor<1xi1>, tensor<1xi64>, tensor<1xf32>, tensor<1xi64>, tensor<i64>, tensor<1xi64>, tensor<1xi64>) {
  // CHECK-DAG: %[[ONE:.*]] = mpc.constant dense<1> : tensor<1xi64>
  // CHECK-DAG: %[[TRUE:.*]] = mpc.constant dense<true> : tensor<1xi1>
  // CHECK-DAG: %[[LARGE:.*]] = mpc.constant dense<-9223372036854775803> : tensor<1xi64>
  // CHECK-DAG: %[[FLOAT:.*]] = mpc.constant dense<1.84467441E+19> : tensor<1xf32>
  // CHECK-DAG: %[[WRAPPED:.*]] = mpc.constant dense<9223372036854775807> : tensor<1xi64>
  // CHECK-DAG: %[[SUM:.*]] = mpc.constant dense<18014398509481985> : tensor<i64>
  // CHECK-DAG: %[[QUOTIENT:.*]] = mpc.constant dense<-4503599627370497> : tensor<1xi64>
  // CHECK: return %[[ONE]], %[[TRUE]], %[[LARGE]], %[[FLOAT]], %[[WRAPPED]], %[[SUM]], %[[QUOTIENT]], %{{.*}} :
  %a = mpc.constant dense<9007199254740993> : tensor<1xi64>
  %b = mpc.constant dense<9007199254740992> : tensor<1xi64>
  %difference = mpc.subtract %a, %b : tensor<1xi64>, tensor<1xi64>
  %greater = mpc.compare gt %a, %b : tensor<1xi64>, tensor<1xi64>
  %c = mpc.constant dense<9223372036854775813> : tensor<1xui64>
  %d = mpc.constant dense<7> : tensor<1xui64>
  %larger = mpc.maximum %c, %d : tensor<1xui64>, tensor<1xui64>
  %bits = mpc.cast %larger : tensor<1xui64> to tensor<1xi64>
  %e = mpc.constant dense<18446744073709551615> : tensor<1xui64>
  %float = mpc.cast %e : tensor<1xui64> to tensor<1xf32>
  %least = mpc.constant dense<-9223372036854775808> : tensor<1xi64>
  %minus = mpc.constant dense<-1> : tensor<1xi64>
  %wrapped = mpc.add %least, %minus : tensor<1xi64>, tensor<1xi64>
  %both = mpc.constant dense<[9007199254740993, 9007199254740992]> : tensor<2xi64>
  %sum = mpc.reduce sum %both {axes = array<i64: 0>} : tensor<2xi64> -> tensor<i64>
  %two = mpc.constant dense<-2> : tensor<1xi64>
  %quotient = mpc.integer floor_divide %a, %two : tensor<1xi64>, tensor<1xi64>
  %three = mpc.constant dense<2> : tensor<1xi64>
  %rest = mpc.integer modulo %a, %three : tensor<1xi64>, tensor<1xi64>
  return %difference, %greater, %bits, %float, %wrapped, %sum, %quotient, %rest : tensor<1xi64>, tensor<1xi1>, tensor<1xi64>, tensor<1xf32>, tensor<1xi64>, tensor<i64>, tensor<1xi64>, tensor<1xi64>
}

// NaN counts as the largest.
// CHECK-LABEL: func.func @argmax_of_nan
func.func @argmax_of_nan() -> tensor<i32> {
  // CHECK: mpc.constant dense<1> : tensor<i32>
  %x = mpc.constant dense<[1.0, 0x7FC00000, 3.0]> : tensor<3xf32>
  %i = mpc.argmax %x {axis = 0 : i64} : tensor<3xf32> -> tensor<i32>
  return %i : tensor<i32>
}
