// RUN: mpc-opt %s | mpc-opt | FileCheck %s
// RUN: mpc-opt %s --mlir-print-op-generic | mpc-opt | FileCheck %s
// Every op prints in a form that reads back as the same op.

// CHECK: mpc.variable @"dense/kernel" : tensor<8x4xf32> role trainable layer("dense") {initializer = #mpc.initializer<uniform, a = -5.000000e-01 : f64, b = 5.000000e-01 : f64>}
mpc.variable @"dense/kernel" : tensor<8x4xf32> role trainable layer("dense") {initializer = #mpc.initializer<uniform, a = -0.5 : f64, b = 0.5 : f64>}
mpc.variable @"dense/bias" : tensor<4xf32> role trainable layer("dense") {initializer = #mpc.initializer<zeros>}
// CHECK: mpc.variable @regular : tensor<8x4xf32> role trainable {regularizer = #mpc.regularizer<l1 = 1.000000e+00 : f64, l2 = 0.000000e+00 : f64, orthogonal_rows = 2.000000e+00 : f64, orthogonal_columns = 5.000000e-01 : f64>}
mpc.variable @regular : tensor<8x4xf32> role trainable {regularizer = #mpc.regularizer<l1 = 1.0 : f64, l2 = 0.0 : f64, orthogonal_rows = 2.0 : f64, orthogonal_columns = 0.5 : f64>}
// CHECK: mpc.variable @crossed : tensor<8x4xf32> role trainable {regularizer = #mpc.regularizer<l1 = 0.000000e+00 : f64, l2 = 0.000000e+00 : f64, orthogonal_columns = 5.000000e-01 : f64>}
mpc.variable @crossed : tensor<8x4xf32> role trainable {regularizer = #mpc.regularizer<l1 = 0.0 : f64, l2 = 0.0 : f64, orthogonal_columns = 0.5 : f64>}
// CHECK: mpc.variable @limited : tensor<8x4xf32> role trainable {constraint = #mpc.constraint<max_norm axes = [0] max = 2.000000e+00 : f64>}
mpc.variable @limited : tensor<8x4xf32> role trainable {constraint = #mpc.constraint<max_norm axes = [0] max = 2.0 : f64>}
// CHECK: mpc.variable @between : tensor<8x4xf32> role trainable {constraint = #mpc.constraint<min_max_norm axes = [0, 1] min = 0.000000e+00 : f64 max = 1.000000e+00 : f64 rate = 5.000000e-01 : f64>}
mpc.variable @between : tensor<8x4xf32> role trainable {constraint = #mpc.constraint<min_max_norm axes = [0, 1] min = 0.0 : f64 max = 1.0 : f64 rate = 0.5 : f64>}
// CHECK: mpc.variable @positive : tensor<4xf32> role trainable {constraint = #mpc.constraint<non_negative>}
mpc.variable @positive : tensor<4xf32> role trainable {constraint = #mpc.constraint<non_negative>}
// CHECK: mpc.variable @seed : tensor<2xi64> role random
mpc.variable @seed : tensor<2xi64> role random
// CHECK: mpc.optimizer "rmsprop" rule(#mpc.rmsprop<rho = 9.000000e-01 : f64, momentum = 0.000000e+00 : f64, epsilon = {{.*}} : f64, centered = false>) {learning_rate = 1.000000e-03 : f64}
mpc.optimizer "rmsprop" rule(#mpc.rmsprop<rho = 0.9 : f64, momentum = 0.0 : f64, epsilon = 1.0e-7 : f64, centered = false>) {learning_rate = 1.0e-3 : f64}
// CHECK: mpc.loss_scale initial(3.276800e+04) {growth_steps = 2000 : i64}
mpc.loss_scale initial(32768.0) {growth_steps = 2000 : i64}
mpc.variable @a : tensor<f32> role metric
mpc.variable @b : tensor<f32> role metric
// CHECK: mpc.metric "loss" states([@a, @b])
mpc.metric "loss" states([@a, @b])

// CHECK-LABEL: func.func @forward
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %w: tensor<8x4xf32> {mpc.variable = @"dense/kernel"},
                   %b: tensor<4xf32> {mpc.variable = @"dense/bias"}) -> (tensor<?x4xf32> {mpc.output = "out0"}) {
  // CHECK: mpc.layer "dense" kind "Dense" inputs(%{{.*}}) variables(%{{.*}}, %{{.*}}) {policy = "mixed_bfloat16"} : (tensor<?x8xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<?x4xf32> {
  %y = mpc.layer "dense" kind "Dense" inputs(%x) variables(%w, %b) {policy = "mixed_bfloat16"} : (tensor<?x8xf32>, tensor<8x4xf32>, tensor<4xf32>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<?x8xf32>, %k: tensor<8x4xf32>, %c: tensor<4xf32>):
    // CHECK: mpc.contract %{{.*}}, %{{.*}} contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
    %0 = mpc.contract %a, %k contracting [1] x [0] : (tensor<?x8xf32>, tensor<8x4xf32>) -> tensor<?x4xf32>
    // CHECK: mpc.add %{{.*}}, %{{.*}} : tensor<?x4xf32>, tensor<4xf32>
    %1 = mpc.add %0, %c : tensor<?x4xf32>, tensor<4xf32>
    // CHECK: mpc.relu %{{.*}} : tensor<?x4xf32>
    %2 = mpc.relu %1 : tensor<?x4xf32>
    // CHECK: mpc.yield
    mpc.yield %2 : tensor<?x4xf32>
  }
  return %y : tensor<?x4xf32>
}

// CHECK-LABEL: func.func @elementwise
func.func @elementwise(%x: tensor<?x8xf32>, %s: tensor<f32>) -> tensor<?x8xf32> {
  // CHECK: mpc.compare gt %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<f32>
  %m = mpc.compare gt %x, %s : tensor<?x8xf32>, tensor<f32>
  // CHECK: mpc.select %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x8xi1>, tensor<?x8xf32>, tensor<f32>
  %r = mpc.select %m, %x, %s : tensor<?x8xi1>, tensor<?x8xf32>, tensor<f32>
  // CHECK: mpc.cast %{{.*}} : tensor<?x8xf32> to tensor<?x8xbf16>
  %h = mpc.cast %r : tensor<?x8xf32> to tensor<?x8xbf16>
  %f = mpc.cast %h : tensor<?x8xbf16> to tensor<?x8xf32>
  // CHECK: mpc.constant dense<1.000000e+00> : tensor<f32>
  %c = mpc.constant dense<1.0> : tensor<f32>
  // CHECK: mpc.cos %{{.*}} : tensor<?x8xf32>
  %cos = mpc.cos %f : tensor<?x8xf32>
  // CHECK: mpc.sin %{{.*}} : tensor<?x8xf32>
  %sin = mpc.sin %f : tensor<?x8xf32>
  %t = mpc.tanh %f : tensor<?x8xf32>
  // CHECK: mpc.erfc %{{.*}} : tensor<?x8xf32>
  %tail = mpc.erfc %f : tensor<?x8xf32>
  // CHECK: mpc.remainder %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<f32>
  %rest = mpc.remainder %f, %s : tensor<?x8xf32>, tensor<f32>
  // CHECK: mpc.arctan2 %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<f32>
  %angle = mpc.arctan2 %f, %s : tensor<?x8xf32>, tensor<f32>
  %q = mpc.divide %t, %c : tensor<?x8xf32>, tensor<f32>
  return %q : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @tensors
func.func @tensors(%x: tensor<?x8xf32>, %l: tensor<?xi32>, %seed: tensor<2xi64>) -> tensor<f32> {
  // CHECK: mpc.one_hot %{{.*}} : tensor<?xi32> -> tensor<?x8xf32>
  %t = mpc.one_hot %l : tensor<?xi32> -> tensor<?x8xf32>
  // CHECK: mpc.dropout %{{.*}}, %{{.*}} {rate = 5.000000e-01 : f64, stream = 3 : i64} : tensor<?x8xf32>, tensor<2xi64>
  %d = mpc.dropout %x, %seed {rate = 0.5 : f64, stream = 3 : i64} : tensor<?x8xf32>, tensor<2xi64>
  // CHECK: mpc.softmax_cross_entropy %{{.*}}, %{{.*}} : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?xf32>
  %e = mpc.softmax_cross_entropy %d, %t : tensor<?x8xf32>, tensor<?x8xf32> -> tensor<?xf32>
  // CHECK: mpc.reduce mean %{{.*}} {axes = array<i64: 0>} : tensor<?xf32> -> tensor<f32>
  %r = mpc.reduce mean %e {axes = array<i64: 0>} : tensor<?xf32> -> tensor<f32>
  // CHECK: mpc.argmax %{{.*}} {axis = 1 : i64} : tensor<?x8xf32> -> tensor<?xi32>
  %i = mpc.argmax %x {axis = 1 : i64} : tensor<?x8xf32> -> tensor<?xi32>
  // CHECK: mpc.concatenate %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
  %c = mpc.concatenate %x, %t {axis = 1 : i64} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x16xf32>
  %p = mpc.reshape %c : tensor<?x16xf32> -> tensor<?x2x8xf32>
  %tr = mpc.transpose %p {permutation = array<i64: 0, 2, 1>} : tensor<?x2x8xf32> -> tensor<?x8x2xf32>
  %b = mpc.broadcast_like %r, %x : tensor<f32>, tensor<?x8xf32>
  return %r : tensor<f32>
}

// CHECK-LABEL: func.func @integers
func.func @integers(%x: tensor<?x8xi32>, %s: tensor<i32>) -> tensor<?x8xi32> {
  // CHECK: mpc.integer xor %{{.*}}, %{{.*}} : tensor<?x8xi32>, tensor<i32>
  %0 = mpc.integer xor %x, %s : tensor<?x8xi32>, tensor<i32>
  // CHECK: mpc.integer floor_divide %{{.*}}, %{{.*}} : tensor<?x8xi32>, tensor<?x8xi32>
  %1 = mpc.integer floor_divide %0, %x : tensor<?x8xi32>, tensor<?x8xi32>
  return %1 : tensor<?x8xi32>
}

// CHECK-LABEL: func.func @training
func.func @training(%w: tensor<8x4xf32>, %g: tensor<8x4xf32>, %m: tensor<8x4xf32>, %lr: tensor<f32>, %it: tensor<f32>,
                    %scale: tensor<f32>, %count: tensor<i64>) -> tensor<8x4xf32> {
  // CHECK: mpc.gradient_seed : tensor<f32>
  %one = mpc.gradient_seed : tensor<f32>
  // CHECK: mpc.variable_gradient %{{.*}} of @"dense/kernel" : tensor<8x4xf32>
  %vg = mpc.variable_gradient %g of @"dense/kernel" : tensor<8x4xf32>
  // CHECK: mpc.all_finite %{{.*}} : tensor<8x4xf32>
  %f = mpc.all_finite %g : tensor<8x4xf32>
  // CHECK: mpc.optimizer_step %{{.*}}, %{{.*}} slots(%{{.*}}) rate(%{{.*}}) iteration(%{{.*}}) unscale(%{{.*}}) if(%{{.*}}) rule(#mpc.sgd<momentum
  %w1, %m1 = mpc.optimizer_step %w, %g slots(%m) rate(%lr) iteration(%it) unscale(%scale) if(%f) rule(#mpc.sgd<momentum = 0.9 : f64, nesterov = false>)
    : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<i1>) -> (tensor<8x4xf32>, tensor<8x4xf32>)
  // CHECK: mpc.loss_scale_update %{{.*}}, %{{.*}} if %{{.*}} {growth_steps = 2000 : i64}
  %s1, %c1 = mpc.loss_scale_update %scale, %count if %f {growth_steps = 2000 : i64}
  return %w1 : tensor<8x4xf32>
}

// CHECK-LABEL: func.func @gelu
func.func @gelu(%x: tensor<?x8xbf16>, %dy: tensor<?x8xbf16>) -> (tensor<?x8xbf16>, tensor<?x8xbf16>) {
  // CHECK: mpc.gelu %{{.*}} : tensor<?x8xbf16>
  %y = mpc.gelu %x : tensor<?x8xbf16>
  // CHECK: mpc.gelu_gradient %{{.*}}, %{{.*}} : tensor<?x8xbf16>
  %d = mpc.gelu_gradient %dy, %x : tensor<?x8xbf16>
  return %y, %d : tensor<?x8xbf16>, tensor<?x8xbf16>
}
