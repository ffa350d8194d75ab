// RUN: mpc-opt %s --mpc-differentiate --mpc-scale-loss --mpc-verify-scaling | FileCheck %s
// A skipped step keeps what the forward pass assigned to a variable, as SpectralNormalization does: Keras skips the
// optimizer alone.
mpc.variable @w : tensor<8xf32> role trainable
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.9 : f64, nesterov = false>) {learning_rate = 0.01 : f64}
mpc.loss_scale initial(32768.0) {growth_steps = 2000 : i64}

// CHECK-LABEL: func.func @train_step
// CHECK: %[[ASSIGNED:.*]] = mpc.multiply %{{.*}}, %{{.*}} : tensor<8xf32>, tensor<f32>
// CHECK: %[[FINITE:.*]] = mpc.all_finite
// CHECK: %[[STEP:.*]]:2 = mpc.optimizer_step %[[ASSIGNED]],
// CHECK: %[[NEW:.*]] = mpc.select %[[FINITE]], %[[STEP]]#0, %[[ASSIGNED]] :
// CHECK: return %{{.*}} %[[NEW]],
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %w: tensor<8xf32> {mpc.variable = @w}) -> (tensor<?x8xf32> {mpc.output = "out0"}, tensor<8xf32> {mpc.updates = @w}) {
  %half = mpc.constant dense<0.5> : tensor<f32>
  %assigned = mpc.multiply %w, %half : tensor<8xf32>, tensor<f32>
  %y = mpc.multiply %x, %assigned : tensor<?x8xf32>, tensor<8xf32>
  return %y, %assigned : tensor<?x8xf32>, tensor<8xf32>
}
func.func @loss(%p: tensor<?x8xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %r = mpc.reduce mean %p {axes = array<i64: 0, 1>} : tensor<?x8xf32> -> tensor<f32>
  return %r : tensor<f32>
}
