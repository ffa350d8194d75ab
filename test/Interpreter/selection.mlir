// RUN: mpc-opt %s --mpc-evaluate | FileCheck %s
// Results that are as long as values say: places and a count; boxes that overlap no better one.

// CHECK-LABEL: func.func @compact
func.func @compact() -> (tensor<5xi64>, tensor<i64>) {
  // CHECK-DAG: mpc.constant dense<[1, 3, 4, 0, 0]> : tensor<5xi64>
  // CHECK-DAG: mpc.constant dense<3> : tensor<i64>
  %m = mpc.constant dense<[false, true, false, true, true]> : tensor<5xi1>
  %p, %n = mpc.compact %m : tensor<5xi1> -> tensor<5xi64>, tensor<i64>
  return %p, %n : tensor<5xi64>, tensor<i64>
}

// CHECK-LABEL: func.func @nothing
func.func @nothing() -> (tensor<2xi64>, tensor<i64>) {
  // CHECK-DAG: mpc.constant dense<0> : tensor<2xi64>
  // CHECK-DAG: mpc.constant dense<0> : tensor<i64>
  %m = mpc.constant dense<false> : tensor<2xi1>
  %p, %n = mpc.compact %m : tensor<2xi1> -> tensor<2xi64>, tensor<i64>
  return %p, %n : tensor<2xi64>, tensor<i64>
}

// Boxes 0 and 1 share 2/3 of their united area, 3 is 2 with its corners swapped, 4 has no area. Of equal scores the first
// comes first, NaN is the worst.
// CHECK-LABEL: func.func @boxes
func.func @boxes() -> (tensor<1x2x5xi32>, tensor<1x2x2xi32>, tensor<1x2x5xi32>) {
  // CHECK-DAG: mpc.constant dense<{{\[\[\[}}0, 2, 4, -1, -1], [4, 1, 2, -1, -1]]]> : tensor<1x2x5xi32>
  // CHECK-DAG: mpc.constant dense<{{\[\[\[}}0, 2], [4, 1]]]> : tensor<1x2x2xi32>
  // CHECK-DAG: mpc.constant dense<{{\[\[\[}}0, 1, -1, -1, -1], [4, -1, -1, -1, -1]]]> : tensor<1x2x5xi32>
  %b = mpc.constant dense<[[[0.0, 0.0, 1.0, 1.0], [0.0, 0.2, 1.0, 1.2], [5.0, 5.0, 6.0, 7.0], [6.0, 7.0, 5.0, 5.0], [0.0, 0.0, 0.0, 1.0]]]> : tensor<1x5x4xf32>
  %s = mpc.constant dense<[[[0.9, 0.8, 0.5, 0.5, 0.1], [0x7FC00000, 0.2, 0.1, 0.05, 0.9]]]> : tensor<1x2x5xf32>
  %o = mpc.constant dense<0.5> : tensor<f32>
  %high = mpc.constant dense<1.0> : tensor<f32>
  %l = mpc.constant dense<0.6> : tensor<f32>
  %all = mpc.select_boxes %b, %s overlap %o {limit = 5 : i64} : tensor<1x5x4xf32>, tensor<1x2x5xf32>, tensor<f32> -> tensor<1x2x5xi32>
  %two = mpc.select_boxes %b, %s overlap %o {limit = 2 : i64} : tensor<1x5x4xf32>, tensor<1x2x5xf32>, tensor<f32> -> tensor<1x2x2xi32>
  %good = mpc.select_boxes %b, %s overlap %high least %l {limit = 5 : i64} : tensor<1x5x4xf32>, tensor<1x2x5xf32>, tensor<f32>, tensor<f32> -> tensor<1x2x5xi32>
  return %all, %two, %good : tensor<1x2x5xi32>, tensor<1x2x2xi32>, tensor<1x2x5xi32>
}
