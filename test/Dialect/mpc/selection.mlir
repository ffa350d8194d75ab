// RUN: mpc-opt %s --split-input-file --verify-diagnostics | mpc-opt --split-input-file | FileCheck %s
// Results that are as long as values say: forms that read back, and what verifiers refuse.

// CHECK-LABEL: func.func @ops
func.func @ops(%mask: tensor<8xi1>, %boxes: tensor<?x99x4xf32>, %scores: tensor<?x3x99xf16>, %number: tensor<f32>) {
  // CHECK: mpc.compact %{{.*}} : tensor<8xi1> -> tensor<8xi64>, tensor<i64>
  %places, %count = mpc.compact %mask : tensor<8xi1> -> tensor<8xi64>, tensor<i64>
  // CHECK: mpc.select_boxes %{{.*}}, %{{.*}} overlap %{{.*}} least %{{.*}} {centered, limit = 10 : i64} : tensor<?x99x4xf32>, tensor<?x3x99xf16>, tensor<f32>, tensor<f32> -> tensor<?x3x10xi32>
  %some = mpc.select_boxes %boxes, %scores overlap %number least %number {centered, limit = 10 : i64} : tensor<?x99x4xf32>, tensor<?x3x99xf16>, tensor<f32>, tensor<f32> -> tensor<?x3x10xi32>
  // CHECK: mpc.select_boxes %{{.*}}, %{{.*}} overlap %{{.*}} {limit = 99 : i64} : tensor<?x99x4xf32>, tensor<?x3x99xf16>, tensor<f32> -> tensor<?x3x99xi32>
  %all = mpc.select_boxes %boxes, %scores overlap %number {limit = 99 : i64} : tensor<?x99x4xf32>, tensor<?x3x99xf16>, tensor<f32> -> tensor<?x3x99xi32>
  return
}

// CHECK: func.func @forms(%{{.*}}: tensor<?x4xi32> {mpc.form = [#mpc.text], mpc.input = "x"}, %{{.*}}: tensor<8xi1> {mpc.input = "m"}) -> (tensor<8xi64> {mpc.form = [#mpc.bounded<axis = 0, extent = "out1">], mpc.output = "out0"}, tensor<i64> {mpc.output = "out1"})
func.func @forms(%text: tensor<?x4xi32> {mpc.form = [#mpc.text], mpc.input = "x"}, %mask: tensor<8xi1> {mpc.input = "m"})
    -> (tensor<8xi64> {mpc.form = [#mpc.bounded<axis = 0, extent = "out1">], mpc.output = "out0"}, tensor<i64> {mpc.output = "out1"}) {
  %places, %count = mpc.compact %mask : tensor<8xi1> -> tensor<8xi64>, tensor<i64>
  return %places, %count : tensor<8xi64>, tensor<i64>
}

// -----

func.func @compact_of_a_matrix(%mask: tensor<2x4xi1>) {
  // expected-error@+2 {{counts along the one dimension of a mask of known extent}}
  // expected-error@+1 {{failed to infer returned types}}
  %p, %n = "mpc.compact"(%mask) : (tensor<2x4xi1>) -> (tensor<8xi64>, tensor<i64>)
  return
}

// -----

func.func @compact_of_the_batch(%mask: tensor<?xi1>) {
  // expected-error@+2 {{counts along the one dimension of a mask of known extent}}
  // expected-error@+1 {{failed to infer returned types}}
  %p, %n = "mpc.compact"(%mask) : (tensor<?xi1>) -> (tensor<?xi64>, tensor<i64>)
  return
}

// -----

func.func @other_boxes(%boxes: tensor<2x9x4xf32>, %scores: tensor<2x3x8xf32>, %o: tensor<f32>) {
  // expected-error@+2 {{takes boxes [batch, boxes, 4] and scores [batch, classes, boxes]}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "mpc.select_boxes"(%boxes, %scores, %o) {limit = 1 : i64} : (tensor<2x9x4xf32>, tensor<2x3x8xf32>, tensor<f32>) -> tensor<2x3x1xi32>
  return
}

// -----

func.func @no_limit(%boxes: tensor<2x9x4xf32>, %scores: tensor<2x3x9xf32>, %o: tensor<f32>) {
  // expected-error@+2 {{limit 0 is outside of 1 to the 9 boxes}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "mpc.select_boxes"(%boxes, %scores, %o) {limit = 0 : i64} : (tensor<2x9x4xf32>, tensor<2x3x9xf32>, tensor<f32>) -> tensor<2x3x0xi32>
  return
}

// -----

func.func @more_than_there_are(%boxes: tensor<2x9x4xf32>, %scores: tensor<2x3x9xf32>, %o: tensor<f32>) {
  // expected-error@+2 {{limit 10 is outside of 1 to the 9 boxes}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "mpc.select_boxes"(%boxes, %scores, %o) {limit = 10 : i64} : (tensor<2x9x4xf32>, tensor<2x3x9xf32>, tensor<f32>) -> tensor<2x3x10xi32>
  return
}
