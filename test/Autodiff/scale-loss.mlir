// RUN: mpc-opt %s --mpc-differentiate --mpc-scale-loss --mpc-verify-scaling | FileCheck %s
// RUN: mpc-opt %s --mpc-differentiate --mpc-scale-loss --mpc-scale-loss -o %t.twice && mpc-opt %s --mpc-differentiate --mpc-scale-loss -o %t.once && diff %t.once %t.twice
// RUN: mpc-opt %s --mpc-differentiate --mpc-scale-loss --remarks-filter-passed=mpc-scaling --remark-format=emitRemark -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// REMARK: loss-scaling{{.*}}dynamic scale, initial=32768.00, gradients=1
mpc.variable @w : tensor<8xf32> role trainable
mpc.variable @total : tensor<f32> role metric
// Keras's four variables come before those of the optimizer inside.
// CHECK: mpc.variable @"optimizer/loss_scale_optimizer/iteration" : tensor<i64> role optimizer
// CHECK-NEXT: mpc.variable @"optimizer/loss_scale_optimizer/learning_rate" : tensor<f32> role optimizer
// CHECK-NEXT: mpc.variable @"optimizer/loss_scale_optimizer/step_counter" : tensor<i64> role optimizer
// CHECK-NEXT: mpc.variable @"optimizer/loss_scale_optimizer/dynamic_scale" : tensor<f32> role optimizer {autocast = false, initializer = #mpc.initializer<constant, a = 3.276800e+04 : f64
// CHECK-NEXT: mpc.variable @"optimizer/sgd/iteration"
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.9 : f64, nesterov = false>) {learning_rate = 0.01 : f64}
mpc.loss_scale initial(32768.0) {growth_steps = 2000 : i64}

// Gradients for the user are not scaled.
// CHECK-LABEL: func.func @gradients
// CHECK: mpc.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NOT: dynamic_scale
// CHECK: return

// CHECK-LABEL: func.func @train_step
// CHECK-SAME: %[[ITERATION:[^ ]*]]: tensor<i64> {mpc.variable = @"optimizer/sgd/iteration"}
// CHECK-SAME: %[[SCALE:[^ ]*]]: tensor<f32> {mpc.variable = @"optimizer/loss_scale_optimizer/dynamic_scale"}
// CHECK-SAME: tensor<f32> {mpc.output = "learning_rate"}, tensor<i1> {mpc.output = "finite"}, tensor<8xf32> {mpc.updates
// CHECK-NOT: mpc.gradient_seed
// CHECK: %[[FINITE:.*]] = mpc.all_finite %[[G:.*]] : tensor<8xf32>
// CHECK: mpc.optimizer_step %{{.*}}, %[[G]] slots(%{{.*}}) rate(%{{.*}}) iteration(%{{.*}}) unscale(%[[SCALE]]) if(%[[FINITE]]) rule(
// CHECK: mpc.select %[[FINITE]], %{{.*}}, %[[ITERATION]] : tensor<i1>, tensor<i64>, tensor<i64>
// CHECK: mpc.loss_scale_update %[[SCALE]], %{{.*}} if %[[FINITE]] {growth_steps = 2000 : i64}
// The metric follows the forward pass whatever the gradients are.
// CHECK-NOT: mpc.select %[[FINITE]]
// CHECK: return
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %w: tensor<8xf32> {mpc.variable = @w}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  %y = mpc.multiply %x, %w : tensor<?x8xf32>, tensor<8xf32>
  return %y : tensor<?x8xf32>
}
func.func @loss(%p: tensor<?x8xf32> {mpc.input = "out0"}, %t: tensor<f32> {mpc.variable = @total}) -> (tensor<f32> {mpc.output = "loss"}, tensor<f32> {mpc.updates = @total}) {
  %r = mpc.reduce mean %p {axes = array<i64: 0, 1>} : tensor<?x8xf32> -> tensor<f32>
  %n = mpc.add %t, %r : tensor<f32>, tensor<f32>
  return %r, %n : tensor<f32>, tensor<f32>
}
