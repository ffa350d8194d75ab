// RUN: mpc-opt %s | mpc-opt | FileCheck %s
// Rules, shared scalars, decay inside a step, computed metrics and logits round-trip.

mpc.variable @s : tensor<4xf32> role metric
// CHECK: mpc.metric "f1" states([@s]) {computed}
mpc.metric "f1" states([@s]) {computed}

func.func @steps(%w: tensor<8x4xf32>, %g: tensor<8x4xf32>, %m: tensor<8x4xf32>, %v: tensor<8x4xf32>, %r: tensor<8xf32>, %c: tensor<4xf32>, %lr: tensor<f32>, %it: tensor<f32>, %p: tensor<f32>, %first: tensor<i1>) {
  // CHECK: mpc.optimizer_step %{{.*}}, %{{.*}} slots(%{{.*}}, %{{.*}}) shared(%{{.*}}) rate(%{{.*}}) iteration(%{{.*}}) rule(#mpc.nadam<beta_1 = {{.*}}>) {weight_decay = 4.000000e-03 : f64}
  %n:3 = mpc.optimizer_step %w, %g slots(%m, %v) shared(%p) rate(%lr) iteration(%it) rule(#mpc.nadam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64>) {weight_decay = 0.004 : f64}
    : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
  // Of a gradient that is a sum of parts, the sum of the parts' squares.
  // CHECK: mpc.optimizer_step %{{.*}}, %{{.*}} powers(%{{.*}}) slots(%{{.*}}, %{{.*}}) rate(
  %q:3 = mpc.optimizer_step %w, %g powers(%g) slots(%m, %v) rate(%lr) iteration(%it) rule(#mpc.adam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64, amsgrad = false>)
    : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
  // Slots of a factored rule have the shapes of rows and of columns.
  // CHECK: rule(#mpc.adafactor<beta_2_decay
  %a:4 = mpc.optimizer_step %w, %g slots(%r, %c, %v) rate(%lr) iteration(%it) rule(#mpc.adafactor<beta_2_decay = -0.8 : f64, epsilon_1 = 1.0e-30 : f64, epsilon_2 = 1.0e-3 : f64, clip_threshold = 1.0 : f64>)
    : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<8x4xf32>, tensor<8xf32>, tensor<4xf32>, tensor<8x4xf32>)
  // A slot that starts as the variable.
  // CHECK: iteration(%{{.*}}) start(%{{.*}}) rule(#mpc.schedule_free_adamw<beta_1 = {{.*}}, warmup_steps = 1.000000e+01 : f64>)
  %f:3 = mpc.optimizer_step %w, %g slots(%m, %v) rate(%lr) iteration(%it) start(%first) rule(#mpc.schedule_free_adamw<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-8 : f64, warmup_steps = 10.0 : f64>)
    : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>, tensor<i1>) -> (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>)
  return
}

// CHECK-LABEL: func.func @logits
func.func @logits(%p: tensor<?x10xf32>) -> tensor<?x10xf32> {
  // CHECK: mpc.logits softmax %{{.*}} {axis = 1 : i64} : tensor<?x10xf32>
  %z, %known = mpc.logits softmax %p {axis = 1 : i64} : tensor<?x10xf32>
  // CHECK: mpc.logits sigmoid %{{.*}} : tensor<?x10xf32>
  %y, %also = mpc.logits sigmoid %p : tensor<?x10xf32>
  %r = mpc.select %known, %z, %y : tensor<i1>, tensor<?x10xf32>, tensor<?x10xf32>
  return %r : tensor<?x10xf32>
}
// CHECK: mpc.optimizer "muon" rule(#mpc.muon<momentum = {{.*}}, nesterov = true, ns_steps = 5, {{.*}}adam = {{.*}}rate_scale = {{.*}}excluded = ["embedding/embeddings"]>)
// CHECK-SAME: undecayed = [@s]
mpc.optimizer "muon" rule(#mpc.muon<momentum = 0.95 : f64, nesterov = true, ns_steps = 5, a = 3.4445 : f64, b = -4.775 : f64, c = 2.0315 : f64, rms_rate = 0.2 : f64,
    adam = <beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64, amsgrad = false, rate_scale = 0.5 : f64>, excluded = ["embedding/embeddings"]>)
  {learning_rate = 0.001 : f64, undecayed = [@s], weight_decay = 0.004 : f64}

module {
  // What optimizers of Keras 2 do otherwise.
  // CHECK: mpc.optimizer "nadam" rule(#mpc.nadam<{{.*}}, schedule_decay = {{[^,]*}}, product_per_variable = true>)
  // CHECK-SAME: average_from_variable, decay = 1.000000e-01 : f64
  // CHECK-SAME: rows = #mpc<row_gradients touched>
  mpc.optimizer "nadam" rule(#mpc.nadam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64, schedule_decay = 0.004 : f64, product_per_variable = true>)
    {average_from_variable, decay = 0.1 : f64, ema_momentum = 0.9 : f64, learning_rate = 0.001 : f64, rows = #mpc<row_gradients touched>}
}
module {
  // CHECK: mpc.optimizer "adagrad" rule(#mpc.adagrad<{{.*}}, epsilon_beside_root = true>)
  mpc.optimizer "adagrad" rule(#mpc.adagrad<initial_accumulator_value = 0.1 : f64, epsilon = 1.0e-7 : f64, epsilon_beside_root = true>) {learning_rate = 0.001 : f64}
}
module {
  // CHECK: mpc.optimizer "rmsprop" rule(#mpc.rmsprop<{{.*}}, epsilon_beside_root = true>)
  mpc.optimizer "rmsprop" rule(#mpc.rmsprop<rho = 0.9 : f64, momentum = 0.0 : f64, epsilon = 1.0e-7 : f64, centered = false, epsilon_beside_root = true>) {learning_rate = 0.001 : f64}
}
