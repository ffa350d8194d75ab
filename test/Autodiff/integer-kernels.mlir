// RUN: mpc-opt %s --mpc-differentiate 2>%t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=WARN --input-file=%t.err
// Training leaves kernels of integers alone, as Keras does, and says so of layers that have no factors of LoRA.
// WARN: warning: training leaves the integer kernels of 1 quantized layers as they are (plain); to train them, use a floating policy, float8 or LoRA
// WARN-NOT: warning
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {learning_rate = 0.01 : f64}
mpc.variable @"plain/kernel" : tensor<8x8xi8> role non_trainable layer("plain")
mpc.variable @"plain/bias" : tensor<8xf32> role trainable layer("plain")
mpc.variable @"tuned/kernel" : tensor<8x8xi8> role non_trainable layer("tuned")
mpc.variable @"tuned/lora_kernel_a" : tensor<8x1xf32> role trainable layer("tuned")
// CHECK-LABEL: func.func @train_step
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %b: tensor<8xf32> {mpc.variable = @"plain/bias"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  %y = mpc.add %x, %b : tensor<?x8xf32>, tensor<8xf32>
  return %y : tensor<?x8xf32>
}
func.func @loss(%p: tensor<?x8xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %r = mpc.reduce mean %p {axes = array<i64: 0, 1>} : tensor<?x8xf32> -> tensor<f32>
  return %r : tensor<f32>
}
