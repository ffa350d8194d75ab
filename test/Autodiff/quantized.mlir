// RUN: mpc-opt %s --mpc-differentiate --mpc-scale-loss --canonicalize --cse | FileCheck %s
// A quantized product: its value is the integers', its derivative the dequantized kernel's. Next to it
// float8, whose scale and history the training step stores: inside of the finite test, not unscaled.

mpc.variable @"q/kernel" : tensor<4x3xi8> role non_trainable
mpc.variable @"q/kernel_scale" : tensor<3xf32> role non_trainable
mpc.variable @"q/bias" : tensor<3xf32> role trainable
mpc.variable @"f/scale" : tensor<f32> role trainable {autocast = false, overwrite_with_gradient}
mpc.variable @"f/history" : tensor<6xf32> role trainable {autocast = false, overwrite_with_gradient}
mpc.variable @"f/gradient_scale" : tensor<f32> role trainable {autocast = false, overwrite_with_gradient}
mpc.variable @"f/gradient_history" : tensor<6xf32> role trainable {autocast = false, overwrite_with_gradient}
mpc.variable @"f/kernel" : tensor<4x4xf32> role trainable
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {learning_rate = 0.1 : f64}
mpc.loss_scale initial(256.0) {growth_steps = 3 : i64}

// No slot and no trace of a rule.
// CHECK-NOT: mpc.variable @"optimizer/sgd/f_scale

// Inference knows neither the surrogate nor what happens to gradients.
// CHECK-LABEL: func.func @predict
// CHECK: mpc.float8_quantize
// CHECK-NOT: mpc.float8_quantize_gradient
// CHECK: mpc.contract %{{.*}} : (tensor<?x4xi8>, tensor<4x3xi8>) -> tensor<?x3xi32>
// CHECK-NOT: mpc.contract
// CHECK: return

// CHECK-LABEL: func.func @train_step
// CHECK-DAG: %[[F:.*]] = mpc.float8_quantize %{{.*}} {format = f8E4M3FN}
// CHECK-DAG: %[[INTEGERS:.*]] = mpc.contract %{{.*}} : (tensor<?x4xi8>, tensor<4x3xi8>) -> tensor<?x3xi32>
// CHECK-NOT: mpc.straight_through
// CHECK: %[[WIDE:.*]] = mpc.cast %{{.*}} : tensor<4x3xi8> to tensor<4x3xf32>
// CHECK: %[[KERNEL:.*]] = mpc.divide %[[WIDE]]
// CHECK: mpc.contract %{{.*}}, %[[KERNEL]]
// CHECK: mpc.round_float8 %{{.*}} {format = f8E5M2}
// CHECK: mpc.concatenate
// CHECK: mpc.all_finite
func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %w: tensor<4x3xi8> {mpc.variable = @"q/kernel"},
    %s: tensor<3xf32> {mpc.variable = @"q/kernel_scale"}, %b: tensor<3xf32> {mpc.variable = @"q/bias"},
    %fs: tensor<f32> {mpc.variable = @"f/scale"}, %fh: tensor<6xf32> {mpc.variable = @"f/history"},
    %gs: tensor<f32> {mpc.variable = @"f/gradient_scale"}, %gh: tensor<6xf32> {mpc.variable = @"f/gradient_history"},
    %k: tensor<4x4xf32> {mpc.variable = @"f/kernel"}) -> (tensor<?x3xf32> {mpc.output = "out0"}) {
  %fx = mpc.float8_quantize %x scale %fs history %fh {format = f8E4M3FN} : tensor<?x4xf32>, tensor<6xf32>
  %f0 = mpc.contract %fx, %k contracting [1] x [0] : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %f = mpc.float8_quantize_gradient %f0 scale %gs history %gh {format = f8E5M2} : tensor<?x4xf32>, tensor<6xf32>
  %r = mpc.round %f : tensor<?x4xf32>
  %q = mpc.cast %r : tensor<?x4xf32> to tensor<?x4xi8>
  %i = mpc.contract %q, %w contracting [1] x [0] : (tensor<?x4xi8>, tensor<4x3xi8>) -> tensor<?x3xi32>
  %y0 = mpc.cast %i : tensor<?x3xi32> to tensor<?x3xf32>
  %y1 = mpc.divide %y0, %s : tensor<?x3xf32>, tensor<3xf32>
  %wide = mpc.cast %w : tensor<4x3xi8> to tensor<4x3xf32>
  %dequantized = mpc.divide %wide, %s : tensor<4x3xf32>, tensor<3xf32>
  %surrogate = mpc.contract %f, %dequantized contracting [1] x [0] : (tensor<?x4xf32>, tensor<4x3xf32>) -> tensor<?x3xf32>
  %y2 = mpc.straight_through %y1, %surrogate : tensor<?x3xf32>
  %y = mpc.add %y2, %b : tensor<?x3xf32>, tensor<3xf32>
  return %y : tensor<?x3xf32>
}

func.func @loss(%p: tensor<?x3xf32> {mpc.input = "out0"}, %t: tensor<?x3xf32> {mpc.target = "y0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %d = mpc.multiply %p, %t : tensor<?x3xf32>, tensor<?x3xf32>
  %l = mpc.reduce mean %d {axes = array<i64: 0, 1>} : tensor<?x3xf32> -> tensor<f32>
  return %l : tensor<f32>
}
