// RUN: mpc-opt %s --canonicalize --split-input-file | FileCheck %s
// RUN: mpc-opt %s --mpc-evaluate --split-input-file > %t.before
// RUN: mpc-opt %s --canonicalize --mpc-evaluate --split-input-file > %t.after
// RUN: diff %t.before %t.after
// An op of constants alone is a constant, of the same type and by the values that the reference has
// (mpc-evaluate).

// CHECK-LABEL: func.func @moved
func.func @moved() -> (tensor<3x2xf32>, tensor<2x2xi32>, tensor<5xbf16>, tensor<2x4xui8>) {
  %c = mpc.constant dense<[[1.0, 2.0, 3.0], [-0.0, 5.0, 0x7F800000]]> : tensor<2x3xf32>
  // CHECK-DAG: %[[T:.*]] = mpc.constant dense<{{\[\[}}1.000000e+00, -0.000000e+00], [2.000000e+00, 5.000000e+00], [3.000000e+00, 0x7F800000]]> : tensor<3x2xf32>
  %t = mpc.transpose %c {permutation = array<i64: 1, 0>} : tensor<2x3xf32> -> tensor<3x2xf32>
  %i = mpc.constant dense<[[1, 2, 3], [4, 5, -6]]> : tensor<2x3xi32>
  // CHECK-DAG: %[[S:.*]] = mpc.constant dense<{{\[\[}}2, 3], [5, -6]]> : tensor<2x2xi32>
  %s = mpc.slice %i {axis = 1 : i64, offset = 1 : i64, size = 2 : i64} : tensor<2x3xi32> -> tensor<2x2xi32>
  %h = mpc.constant dense<[1.0, 2.0]> : tensor<2xbf16>
  // CHECK-DAG: %[[P:.*]] = mpc.constant dense<[5.000000e-01, 1.000000e+00, 2.000000e+00, 5.000000e-01, 5.000000e-01]> : tensor<5xbf16>
  %p = mpc.pad %h {axis = 0 : i64, low = 1 : i64, high = 2 : i64, value = 0.5 : f64} : tensor<2xbf16> -> tensor<5xbf16>
  %u = mpc.constant dense<[[200, 1], [2, 255]]> : tensor<2x2xui8>
  // CHECK-DAG: %[[C:.*]] = mpc.constant dense<{{\[\[}}200, 1, 200, 1], [2, 255, 2, 255]]> : tensor<2x4xui8>
  %b = mpc.concatenate %u, %u {axis = 1 : i64} : (tensor<2x2xui8>, tensor<2x2xui8>) -> tensor<2x4xui8>
  // CHECK: return %[[T]], %[[S]], %[[P]], %[[C]]
  return %t, %s, %p, %b : tensor<3x2xf32>, tensor<2x2xi32>, tensor<5xbf16>, tensor<2x4xui8>
}

// -----

// CHECK-LABEL: func.func @chosen_and_rounded
func.func @chosen_and_rounded() -> (tensor<2xf32>, tensor<3xbf16>, tensor<2xf32>) {
  %m = mpc.constant dense<[true, false]> : tensor<2xi1>
  %a = mpc.constant dense<1.0> : tensor<2xf32>
  %b = mpc.constant dense<2.0> : tensor<f32>
  // CHECK-DAG: %[[S:.*]] = mpc.constant dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %s = mpc.select %m, %a, %b : tensor<2xi1>, tensor<2xf32>, tensor<f32>
  // Ties go to even, what is too large is infinite.
  %f = mpc.constant dense<[1.00390625, 1.01171875, 3.4028234e38]> : tensor<3xf32>
  // CHECK-DAG: %[[R:.*]] = mpc.constant dense<[1.000000e+00, 1.015630e+00, 0x7F80]> : tensor<3xbf16>
  %r = mpc.cast %f : tensor<3xf32> to tensor<3xbf16>
  %i = mpc.constant dense<[3, -4]> : tensor<2xi64>
  // CHECK-DAG: %[[F:.*]] = mpc.constant dense<[3.000000e+00, -4.000000e+00]> : tensor<2xf32>
  %g = mpc.cast %i : tensor<2xi64> to tensor<2xf32>
  // CHECK: return %[[S]], %[[R]], %[[F]]
  return %s, %r, %g : tensor<2xf32>, tensor<3xbf16>, tensor<2xf32>
}

// -----

// Ops stay that compiled code might compute otherwise in the last bit, and those of integers out of
// range, of NaNs and of large tensors.
// CHECK-LABEL: func.func @computed
func.func @computed() -> (tensor<f32>, tensor<i32>, tensor<f32>, tensor<bf16>, tensor<64x65xf32>) {
  %c = mpc.constant dense<1.5> : tensor<f32>
  // CHECK-DAG: mpc.exp
  %e = mpc.exp %c : tensor<f32>
  // CHECK-DAG: mpc.cast %{{.*}} : tensor<f32> to tensor<i32>
  %i = mpc.cast %c : tensor<f32> to tensor<i32>
  %l = mpc.constant dense<16777217> : tensor<i64>
  // CHECK-DAG: mpc.cast %{{.*}} : tensor<i64> to tensor<f32>
  %f = mpc.cast %l : tensor<i64> to tensor<f32>
  %n = mpc.constant dense<0x7FC00001> : tensor<f32>
  // CHECK-DAG: mpc.cast %{{.*}} : tensor<f32> to tensor<bf16>
  %b = mpc.cast %n : tensor<f32> to tensor<bf16>
  %z = mpc.constant dense<0.0> : tensor<65x64xf32>
  // CHECK-DAG: mpc.transpose
  %t = mpc.transpose %z {permutation = array<i64: 1, 0>} : tensor<65x64xf32> -> tensor<64x65xf32>
  return %e, %i, %f, %b, %t : tensor<f32>, tensor<i32>, tensor<f32>, tensor<bf16>, tensor<64x65xf32>
}
