// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --split-input-file --mpc-differentiate --mpc-scale-loss | FileCheck %s
// Optimizers of Keras 2 add the rows of an id before they square them; clipping still sees each row.
mpc.variable @e : tensor<9x3xf32> role trainable
mpc.optimizer "adam" rule(#mpc.adam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64, amsgrad = false>) {clipvalue = 0.5 : f64, learning_rate = 0.01 : f64, rows = #mpc<row_gradients summed>}

// CHECK-LABEL: func.func @train_step
// CHECK: %[[CLIPPED:.*]] = mpc.minimum %{{.*}} : tensor<?x4x3xf32>
// CHECK: %[[SUM:.*]] = mpc.scatter_add %{{.*}}, %[[CLIPPED]] like
// CHECK: mpc.optimizer_step %{{.*}}, %[[SUM]] slots(
func.func @forward(%x: tensor<?x4xi32> {mpc.input = "x"}, %e: tensor<9x3xf32> {mpc.variable = @e}) -> (tensor<?x4x3xf32> {mpc.output = "out0"}) {
  %y = mpc.gather %e, %x {axis = 0 : i64} : tensor<9x3xf32>, tensor<?x4xi32> -> tensor<?x4x3xf32>
  return %y : tensor<?x4x3xf32>
}
func.func @loss(%p: tensor<?x4x3xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %s = mpc.multiply %p, %p : tensor<?x4x3xf32>, tensor<?x4x3xf32>
  %r = mpc.reduce mean %s {axes = array<i64: 0, 1, 2>} : tensor<?x4x3xf32> -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// Those of TensorFlow's OptimizerV2 leave rows and slots of other ids alone.
mpc.variable @e : tensor<9x3xf32> role trainable
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.5 : f64, nesterov = false>) {learning_rate = 0.01 : f64, rows = #mpc<row_gradients touched>}

// CHECK-LABEL: func.func @train_step
// CHECK-SAME: %[[E:[a-z0-9]+]]: tensor<9x3xf32> {mpc.variable = @e}
// CHECK-SAME: %[[M:[a-z0-9]+]]: tensor<9x3xf32> {mpc.variable = @"optimizer/sgd/e_momentum"}
// CHECK: %[[ONES:.*]] = mpc.broadcast_like %{{.*}}, %{{.*}} : tensor<f32>, tensor<?x4x3xf32>
// CHECK: %[[COUNT:.*]] = mpc.scatter_add %{{.*}}, %[[ONES]] like %[[E]]
// CHECK: %[[TOUCHED:.*]] = mpc.compare {{ *}}gt %[[COUNT]]
// CHECK: %[[STEP:.*]]:2 = mpc.optimizer_step %[[E]]
// CHECK-DAG: mpc.select %[[TOUCHED]], %[[STEP]]#0, %[[E]]
// CHECK-DAG: mpc.select %[[TOUCHED]], %[[STEP]]#1, %[[M]]
func.func @forward(%x: tensor<?x4xi32> {mpc.input = "x"}, %e: tensor<9x3xf32> {mpc.variable = @e}) -> (tensor<?x4x3xf32> {mpc.output = "out0"}) {
  %y = mpc.gather %e, %x {axis = 0 : i64} : tensor<9x3xf32>, tensor<?x4xi32> -> tensor<?x4x3xf32>
  return %y : tensor<?x4x3xf32>
}
func.func @loss(%p: tensor<?x4x3xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %s = mpc.multiply %p, %p : tensor<?x4x3xf32>, tensor<?x4x3xf32>
  %r = mpc.reduce mean %s {axes = array<i64: 0, 1, 2>} : tensor<?x4x3xf32> -> tensor<f32>
  return %r : tensor<f32>
}
