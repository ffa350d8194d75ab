// RUN: mpc-opt %s --mpc-differentiate --mpc-scale-loss --mpc-verify-scaling | FileCheck %s
// RUN: mpc-opt %s --mpc-differentiate --mpc-verify-autodiff -o /dev/null
// RUN: mpc-opt %s --mpc-differentiate=custom-loop=false | FileCheck %s --check-prefix=FUSED
// FUSED: func.func @train_step
// FUSED-NOT: func.func @train_

// The training step in three entries: what a later stage reads of an earlier one goes along.
mpc.variable @w : tensor<8xf32> role trainable
mpc.variable @mean : tensor<8xf32> role non_trainable
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {learning_rate = 0.01 : f64}
mpc.loss_scale initial(32768.0) {growth_steps = 2000 : i64}

// The fused step has no predictions, and is not cut.
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: -> (tensor<f32> {mpc.output = "loss"}, tensor<f32> {mpc.output = "learning_rate"}, tensor<i1> {mpc.output = "finite"}, tensor<8xf32> {mpc.updates

// Forward updates what depends on no gradient, and keeps what the derivative reads.
// CHECK-LABEL: func.func @train_forward
// CHECK-SAME: %[[X:[^ ]*]]: tensor<?x8xf32> {mpc.input = "x"}
// CHECK-SAME: %[[MEAN:[^ ]*]]: tensor<8xf32> {mpc.variable = @mean}
// CHECK-SAME: -> (tensor<f32> {mpc.output = "loss"}, tensor<?x8xf32> {mpc.output = "out0"}, {{.*}}{mpc.output = "kept:0"}{{.*}}, tensor<8xf32> {mpc.updates = @mean})
// CHECK-NOT: dynamic_scale

// The seed is the loss scale; nothing is divided, nothing is updated.
// CHECK-LABEL: func.func @train_backward
// CHECK-SAME: {mpc.input = "kept:
// CHECK-SAME: %[[SCALE:[^ ]*]]: tensor<f32> {mpc.variable = @"optimizer/loss_scale_optimizer/dynamic_scale"}
// CHECK-SAME: -> (tensor<f32> {mpc.output = "loss_scale"}, tensor<8xf32> {mpc.output = "grad:w"})
// CHECK-NOT: mpc.gradient_seed
// CHECK-NOT: mpc.variable_gradient
// CHECK: return %[[SCALE]],

// The gradient comes unscaled, and whether the step counts from the caller.
// CHECK-LABEL: func.func @train_apply
// CHECK-SAME: %[[G:[^ ]*]]: tensor<8xf32> {mpc.input = "grad:w"}
// CHECK-SAME: %[[FINITE:[^ ]*]]: tensor<i1> {mpc.input = "finite"}
// CHECK-NOT: unscale
// CHECK: mpc.optimizer_step %{{.*}}, %[[G]] rate(%{{.*}}) iteration(%{{.*}}) if(%[[FINITE]])
// CHECK: mpc.loss_scale_update %{{.*}}, %{{.*}} if %[[FINITE]]
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %w: tensor<8xf32> {mpc.variable = @w}, %m: tensor<8xf32> {mpc.variable = @mean}) -> (tensor<?x8xf32> {mpc.output = "out0"}, tensor<8xf32> {mpc.updates = @mean}) {
  %a = mpc.multiply %x, %m : tensor<?x8xf32>, tensor<8xf32>
  %y = mpc.multiply %a, %w : tensor<?x8xf32>, tensor<8xf32>
  %n = mpc.add %m, %m : tensor<8xf32>, tensor<8xf32>
  return %y, %n : tensor<?x8xf32>, tensor<8xf32>
}
func.func @loss(%p: tensor<?x8xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %r = mpc.reduce mean %p {axes = array<i64: 0, 1>} : tensor<?x8xf32> -> tensor<f32>
  return %r : tensor<f32>
}
