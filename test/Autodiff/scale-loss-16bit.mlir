// RUN: mpc-opt %s --mpc-differentiate --mpc-scale-loss --mpc-verify-scaling | FileCheck %s
// A float16 gradient that is clipped: widened, divided in float32, then clipped; it never rounds to float16 again.
mpc.variable @w : tensor<8xf16> role trainable
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {learning_rate = 0.01 : f64, clipvalue = 1.0 : f64}
mpc.loss_scale initial(1024.0)

// CHECK-LABEL: func.func @train_step
// CHECK: %[[SCALE:.*]] = mpc.constant dense<1.024000e+03> : tensor<f32>
// CHECK: %[[WIDE:.*]] = mpc.cast %{{.*}} : tensor<8xf16> to tensor<8xf32>
// CHECK: %[[G:.*]] = mpc.divide %[[WIDE]], %[[SCALE]] : tensor<8xf32>, tensor<f32>
// CHECK-NOT: to tensor<8xf16>
// CHECK: mpc.maximum %[[G]]
// CHECK: mpc.optimizer_step %{{.*}}, %{{.*}} rate(%{{.*}}) iteration(%{{.*}}) rule({{.*}} : (tensor<8xf16>, tensor<8xf32>, tensor<f32>, tensor<f32>) -> tensor<8xf16>
func.func @forward(%x: tensor<?x8xf16> {mpc.input = "x"}, %w: tensor<8xf16> {mpc.variable = @w}) -> (tensor<?x8xf16> {mpc.output = "out0"}) {
  %y = mpc.multiply %x, %w : tensor<?x8xf16>, tensor<8xf16>
  return %y : tensor<?x8xf16>
}
func.func @loss(%p: tensor<?x8xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %r = mpc.reduce mean %p {axes = array<i64: 0, 1>} : tensor<?x8xf32> -> tensor<f32>
  return %r : tensor<f32>
}
