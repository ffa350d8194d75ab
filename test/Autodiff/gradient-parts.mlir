// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: mpc-opt %s --split-input-file --mpc-differentiate --mpc-scale-loss | FileCheck %s
// The rows of an embedding's gradient are squared before rows of one place are added, as Keras's
// optimizers do with a sparse gradient; unscaled before that.
mpc.variable @e : tensor<9x3xf32> role trainable
mpc.optimizer "adam" rule(#mpc.adam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64, amsgrad = false>) {learning_rate = 0.01 : f64}
mpc.loss_scale initial(1024.0)

// CHECK-LABEL: func.func @train_step
// CHECK: %[[SUM:.*]] = mpc.scatter_add %[[IDS:.*]], %[[ROWS:.*]] like
// CHECK: %[[UNSCALED:.*]] = mpc.divide %[[ROWS]], %{{.*}} : tensor<?x4x3xf32>
// CHECK: %[[SQUARES:.*]] = mpc.multiply %[[UNSCALED]], %[[UNSCALED]]
// CHECK: %[[POWERS:.*]] = mpc.scatter_add %[[IDS]], %[[SQUARES]] like
// CHECK: mpc.optimizer_step %{{.*}}, %[[SUM]] powers(%[[POWERS]]) slots(
// CHECK-NOT: mpc.variable_gradient
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

// A regulariser makes the gradient dense.
mpc.variable @e : tensor<9x3xf32> role trainable
mpc.optimizer "adam" rule(#mpc.adam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64, amsgrad = false>) {learning_rate = 0.01 : f64}

// CHECK-LABEL: func.func @train_step
// CHECK-NOT: powers
func.func @forward(%x: tensor<?x4xi32> {mpc.input = "x"}, %e: tensor<9x3xf32> {mpc.variable = @e}) -> (tensor<?x4x3xf32> {mpc.output = "out0"}) {
  %y = mpc.gather %e, %x {axis = 0 : i64} : tensor<9x3xf32>, tensor<?x4xi32> -> tensor<?x4x3xf32>
  return %y : tensor<?x4x3xf32>
}
func.func @loss(%p: tensor<?x4x3xf32> {mpc.input = "out0"}, %e: tensor<9x3xf32> {mpc.variable = @e}) -> (tensor<f32> {mpc.output = "loss"}) {
  %s = mpc.multiply %p, %p : tensor<?x4x3xf32>, tensor<?x4x3xf32>
  %r = mpc.reduce mean %s {axes = array<i64: 0, 1, 2>} : tensor<?x4x3xf32> -> tensor<f32>
  %w = mpc.multiply %e, %e : tensor<9x3xf32>, tensor<9x3xf32>
  %t = mpc.reduce sum %w {axes = array<i64: 0, 1>} : tensor<9x3xf32> -> tensor<f32>
  %l = mpc.add %r, %t : tensor<f32>, tensor<f32>
  return %l : tensor<f32>
}

// -----

// Plain descent is linear: nothing to square. Clipping by value clips the rows.
mpc.variable @e : tensor<9x3xf32> role trainable
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {learning_rate = 0.01 : f64, clipvalue = 0.5 : f64}

// CHECK-LABEL: func.func @train_step
// CHECK: %[[CLIPPED:.*]] = mpc.minimum %{{.*}} : tensor<?x4x3xf32>
// CHECK: %[[SUM:.*]] = mpc.scatter_add %{{.*}}, %[[CLIPPED]] like
// CHECK: mpc.optimizer_step %{{.*}}, %[[SUM]] rate(
func.func @forward(%x: tensor<?x4xi32> {mpc.input = "x"}, %e: tensor<9x3xf32> {mpc.variable = @e}) -> (tensor<?x4x3xf32> {mpc.output = "out0"}) {
  %y = mpc.gather %e, %x {axis = 0 : i64} : tensor<9x3xf32>, tensor<?x4xi32> -> tensor<?x4x3xf32>
  return %y : tensor<?x4x3xf32>
}
func.func @loss(%p: tensor<?x4x3xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %s = mpc.multiply %p, %p : tensor<?x4x3xf32>, tensor<?x4x3xf32>
  %r = mpc.reduce mean %s {axes = array<i64: 0, 1, 2>} : tensor<?x4x3xf32> -> tensor<f32>
  return %r : tensor<f32>
}
