// RUN: mpc-opt %s --split-input-file --verify-diagnostics | mpc-opt --split-input-file | FileCheck %s
// Gather, scatter_add, moments, noise and the context ops: forms that read back, and what verifiers refuse.

// CHECK-LABEL: func.func @forms
func.func @forms(%table: tensor<100x8xf32>, %ids: tensor<?x5xi32>, %x: tensor<?x6x4xf32>, %places: tensor<?x6x2xui8>, %s: tensor<2xi64>) {
  // CHECK: mpc.gather %{{.*}}, %{{.*}} {axis = 0 : i64} : tensor<100x8xf32>, tensor<?x5xi32> -> tensor<?x5x8xf32>
  %rows = mpc.gather %table, %ids {axis = 0 : i64} : tensor<100x8xf32>, tensor<?x5xi32> -> tensor<?x5x8xf32>
  // CHECK: mpc.gather %{{.*}}, %{{.*}} {axis = 2 : i64, batch_dims = 2 : i64} : tensor<?x6x4xf32>, tensor<?x6x2xui8> -> tensor<?x6x2xf32>
  %along = mpc.gather %x, %places {axis = 2 : i64, batch_dims = 2 : i64} : tensor<?x6x4xf32>, tensor<?x6x2xui8> -> tensor<?x6x2xf32>
  // CHECK: mpc.scatter_add %{{.*}}, %{{.*}} like %{{.*}} {axis = 0 : i64} : tensor<?x5xi32>, tensor<?x5x8xf32>, tensor<100x8xf32>
  %d = mpc.scatter_add %ids, %rows like %table {axis = 0 : i64} : tensor<?x5xi32>, tensor<?x5x8xf32>, tensor<100x8xf32>
  // CHECK: mpc.moments %{{.*}} {axes = array<i64: 0, 1>} : tensor<?x6x4xf32> -> tensor<4xf32>, tensor<4xf32>
  %m, %v = mpc.moments %x {axes = array<i64: 0, 1>} : tensor<?x6x4xf32> -> tensor<4xf32>, tensor<4xf32>
  // CHECK: mpc.moments %{{.*}} {axes = array<i64: 2>, keep_dims} : tensor<?x6x4xf32> -> tensor<?x6x1xf32>, tensor<?x6x1xf32>
  %mk, %vk = mpc.moments %x {axes = array<i64: 2>, keep_dims} : tensor<?x6x4xf32> -> tensor<?x6x1xf32>, tensor<?x6x1xf32>
  // CHECK: mpc.normal_noise like %{{.*}}, %{{.*}} {mean = 0.000000e+00 : f64, stddev = 1.000000e-01 : f64, stream = 3 : i64} : tensor<?x6x4xf32>, tensor<2xi64>
  %n = mpc.normal_noise like %x, %s {mean = 0.0 : f64, stddev = 0.1 : f64, stream = 3 : i64} : tensor<?x6x4xf32>, tensor<2xi64>
  // CHECK: mpc.uniform_noise like %{{.*}}, %{{.*}} {high = 1.000000e-01 : f64, low = -1.000000e-01 : f64, stream = 3 : i64} : tensor<?x6x4xf32>, tensor<2xi64>
  %u = mpc.uniform_noise like %x, %s {low = -0.1 : f64, high = 0.1 : f64, stream = 3 : i64} : tensor<?x6x4xf32>, tensor<2xi64>
  // CHECK: mpc.cast_like %{{.*}} like(%{{.*}}) {wide} : (tensor<?x6x4xf32>, tensor<?x6x4xf32>) -> tensor<?x6x4xf32>
  %w = mpc.cast_like %x like(%x) {wide} : (tensor<?x6x4xf32>, tensor<?x6x4xf32>) -> tensor<?x6x4xf32>
  // CHECK: mpc.cast_like %{{.*}} {to = f16} : (tensor<?x5xi32>) -> tensor<?x5xf32>
  %t = mpc.cast_like %ids {to = f16} : (tensor<?x5xi32>) -> tensor<?x5xf32>
  // CHECK: mpc.in_training %{{.*}} else %{{.*}} : tensor<4xf32>
  %i = mpc.in_training %m else %v : tensor<4xf32>
  // CHECK: mpc.stop_gradient %{{.*}} : tensor<4xf32>
  %c = mpc.stop_gradient %i : tensor<4xf32>
  // CHECK: mpc.add %{{.*}}, %{{.*}} : tensor<?x5xi32>, tensor<?x5xi32>
  %sum = mpc.add %ids, %ids : tensor<?x5xi32>, tensor<?x5xi32>
  return
}

// -----

func.func @axis_out_of_range(%table: tensor<100x8xf32>, %ids: tensor<?xi32>) {
  // expected-error@+2 {{axis 2 is out of range for rank 2}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "mpc.gather"(%table, %ids) {axis = 2 : i64} : (tensor<100x8xf32>, tensor<?xi32>) -> tensor<?xf32>
  return
}

// -----

func.func @batch_twice(%x: tensor<?x8xf32>, %ids: tensor<?xi32>) {
  // expected-error@+2 {{the batch would be in the result twice}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "mpc.gather"(%x, %ids) {axis = 1 : i64} : (tensor<?x8xf32>, tensor<?xi32>) -> tensor<?x?xf32>
  return
}

// -----

func.func @along_the_batch(%x: tensor<?x8xf32>, %ids: tensor<3xi32>) {
  // expected-error@+2 {{the axis must not be the batch}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "mpc.gather"(%x, %ids) {axis = 0 : i64} : (tensor<?x8xf32>, tensor<3xi32>) -> tensor<3x8xf32>
  return
}

// -----

func.func @shared_dimensions(%x: tensor<?x6x4xf32>, %ids: tensor<?x5x2xi32>) {
  // expected-error@+2 {{table and indices differ in the batch_dims}}
  // expected-error@+1 {{failed to infer returned types}}
  %0 = "mpc.gather"(%x, %ids) {axis = 2 : i64, batch_dims = 2 : i64} : (tensor<?x6x4xf32>, tensor<?x5x2xi32>) -> tensor<?x6x2xf32>
  return
}

// -----

func.func @truth_values(%table: tensor<100x8xf32>, %ids: tensor<?xi1>) {
  // expected-error@+1 {{indices must be integers, got i1}}
  %0 = mpc.gather %table, %ids {axis = 0 : i64} : tensor<100x8xf32>, tensor<?xi1> -> tensor<?x8xf32>
  return
}

// -----

func.func @updates(%table: tensor<100x8xf32>, %ids: tensor<?xi32>, %dy: tensor<?x7xf32>) {
  // expected-error@+1 {{updates must have the shape of what the indices gather}}
  %0 = mpc.scatter_add %ids, %dy like %table {axis = 0 : i64} : tensor<?xi32>, tensor<?x7xf32>, tensor<100x8xf32>
  return
}

// -----

func.func @no_axes(%x: tensor<?x4xf32>) {
  // expected-error@+1 {{needs an axis to take the statistics over}}
  %m, %v = mpc.moments %x {axes = array<i64>} : tensor<?x4xf32> -> tensor<?x4xf32>, tensor<?x4xf32>
  return
}

// -----

func.func @like_nothing(%x: tensor<?x4xf32>) {
  // expected-error@+1 {{needs either tensors whose type it takes, or 'to'}}
  %0 = mpc.cast_like %x {wide} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @to_integer(%x: tensor<?x4xf32>) {
  // expected-error@+1 {{'to' must be a floating type, got 'i32'}}
  %0 = mpc.cast_like %x {to = i32} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @wrong_type(%x: tensor<?x4xf32>, %y: tensor<?x4xf16>) {
  // expected-error@+1 {{result must have element type 'f32'}}
  %0 = mpc.cast_like %y like(%x, %y) : (tensor<?x4xf16>, tensor<?x4xf32>, tensor<?x4xf16>) -> tensor<?x4xf16>
  return
}

// -----

func.func @mean_of_integers(%x: tensor<?x4xi32>) {
  // expected-error@+1 {{mean reduces floating tensors; cast integers first}}
  %0 = mpc.reduce mean %x {axes = array<i64: 1>} : tensor<?x4xi32> -> tensor<?xi32>
  return
}
