// RUN: mpc-opt %s --mpc-differentiate --mpc-verify-autodiff --mpc-scale-loss --mpc-verify-scaling 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=WARN --input-file=%t.err
// As Keras: a model without trainable variables runs through training with a warning; the optimizer is not called, nor is
// anything clipped.
// WARN: warning: the model has no trainable variables; training only updates metrics
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {global_clipnorm = 1.0 : f64, learning_rate = 0.01 : f64}
mpc.loss_scale initial(8.0) {growth_steps = 2 : i64}
// CHECK-LABEL: func.func @train_step
// CHECK-SAME: -> (tensor<f32> {mpc.output = "loss"}, tensor<f32> {mpc.output = "learning_rate"})
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  %y = mpc.relu %x : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func @loss(%p: tensor<?x8xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %r = mpc.reduce mean %p {axes = array<i64: 0, 1>} : tensor<?x8xf32> -> tensor<f32>
  return %r : tensor<f32>
}
