// RUN: not mpc-opt %s --mpc-differentiate 2>&1 | FileCheck %s
mpc.variable @w : tensor<8xf32> role trainable
// CHECK: error: {{.*}}no trainable variable influences the loss; there is nothing to train
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {learning_rate = 0.01 : f64}
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  return %x : tensor<?x8xf32>
}
func.func @loss(%p: tensor<?x8xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %r = mpc.reduce mean %p {axes = array<i64: 0, 1>} : tensor<?x8xf32> -> tensor<f32>
  return %r : tensor<f32>
}
