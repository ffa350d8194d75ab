// RUN: mpc-opt %s --mpc-differentiate --mpc-verify-autodiff | FileCheck %s
// RUN: mpc-opt %s --mpc-differentiate --mpc-differentiate -o %t.twice && mpc-opt %s --mpc-differentiate -o %t.once && diff %t.once %t.twice

mpc.variable @"dense/kernel" : tensor<8x4xf32> role trainable layer("dense")
mpc.variable @"dense/bias" : tensor<4xf32> role trainable layer("dense")
mpc.variable @"seed/state" : tensor<2xi64> role random
mpc.variable @"metric/loss/total" : tensor<f32> role metric
// CHECK: mpc.variable @"optimizer/sgd/iteration" : tensor<i64> role optimizer {autocast = false, initializer = #mpc.initializer<zeros>}
// CHECK-NEXT: mpc.variable @"optimizer/sgd/learning_rate" : tensor<f32> role optimizer {autocast = false, initializer = #mpc.initializer<constant, a = 1.000000e-02 : f64
// CHECK-NEXT: mpc.variable @"optimizer/sgd/dense_kernel_momentum" : tensor<8x4xf32> role optimizer
// CHECK-NEXT: mpc.variable @"optimizer/sgd/dense_bias_momentum" : tensor<4xf32> role optimizer
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.9 : f64, nesterov = false>) {learning_rate = 0.01 : f64}

// CHECK-NOT: @forward
// CHECK-NOT: @loss

// Inference has no dropout and does not see the random state.
// CHECK-LABEL: func.func @predict
// CHECK-SAME: (%[[X:.*]]: tensor<?x8xf32> {mpc.input = "x"}, %{{.*}}: tensor<8x4xf32> {mpc.variable = @"dense/kernel"}, %{{.*}}: tensor<4xf32> {mpc.variable = @"dense/bias"})
// CHECK-SAME: -> (tensor<?x4xf32> {mpc.output = "out0"}) attributes {mpc.entry = #mpc.entry_role<predict>}
// CHECK-NOT: mpc.dropout
// CHECK: return

// CHECK-LABEL: func.func @evaluate
// CHECK-SAME: tensor<?x4xf32> {mpc.target = "y0"}
// CHECK-SAME: -> (tensor<f32> {mpc.output = "loss"}, tensor<f32> {mpc.updates = @"metric/loss/total"})
// CHECK-NOT: mpc.dropout
// CHECK: return

// CHECK-LABEL: func.func @gradients
// CHECK-SAME: -> (tensor<f32> {mpc.output = "loss"}, tensor<8x4xf32> {mpc.output = "grad:dense/kernel"}, tensor<4xf32> {mpc.output = "grad:dense/bias"}, tensor<?x8xf32> {mpc.output = "gradx:x"}, tensor<?x4xf32> {mpc.output = "out0"})
// CHECK: mpc.gradient_seed
// The cotangent of a cast is the reverse cast; the weight gradient contracts in bfloat16.
// CHECK: %[[DW:.*]] = mpc.contract %{{.*}}, %{{.*}} contracting [0] x [0] : (tensor<?x8xbf16>, tensor<?x4xbf16>) -> tensor<8x4xbf16>
// CHECK: mpc.cast %[[DW]] : tensor<8x4xbf16> to tensor<8x4xf32>
// CHECK: return

// CHECK-LABEL: func.func @train_step
// CHECK-SAME: %[[STATE:[^ ]*]]: tensor<2xi64> {mpc.variable = @"seed/state"}
// CHECK-SAME: tensor<f32> {mpc.output = "loss"}, tensor<f32> {mpc.output = "learning_rate"},
// CHECK-SAME: tensor<2xi64> {mpc.updates = @"seed/state"}
// CHECK: mpc.variable_gradient %{{.*}} of @"dense/kernel" : tensor<8x4xf32>
// CHECK: mpc.optimizer_step %{{.*}}, %{{.*}} slots(%{{.*}}) rate(%{{.*}}) iteration(%{{.*}}) rule(#mpc.sgd<
// CHECK: mpc.random_advance %[[STATE]]
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %w: tensor<8x4xf32> {mpc.variable = @"dense/kernel"},
                   %b: tensor<4xf32> {mpc.variable = @"dense/bias"}, %s: tensor<2xi64> {mpc.variable = @"seed/state"})
    -> (tensor<?x4xf32> {mpc.output = "out0"}) {
  %d = mpc.dropout %x, %s {rate = 0.5 : f64, stream = 0 : i64} : tensor<?x8xf32>, tensor<2xi64>
  %h = mpc.cast %d : tensor<?x8xf32> to tensor<?x8xbf16>
  %k = mpc.cast %w : tensor<8x4xf32> to tensor<8x4xbf16>
  %c = mpc.cast %b : tensor<4xf32> to tensor<4xbf16>
  %y = mpc.contract %h, %k contracting [1] x [0] : (tensor<?x8xbf16>, tensor<8x4xbf16>) -> tensor<?x4xbf16>
  %z = mpc.add %y, %c : tensor<?x4xbf16>, tensor<4xbf16>
  %o = mpc.cast %z : tensor<?x4xbf16> to tensor<?x4xf32>
  return %o : tensor<?x4xf32>
}

func.func @loss(%p: tensor<?x4xf32> {mpc.input = "out0"}, %t: tensor<?x4xf32> {mpc.target = "y0"},
                %m: tensor<f32> {mpc.variable = @"metric/loss/total"})
    -> (tensor<f32> {mpc.output = "loss"}, tensor<f32> {mpc.updates = @"metric/loss/total"}) {
  %l = mpc.softmax_cross_entropy %p, %t : tensor<?x4xf32>, tensor<?x4xf32> -> tensor<?xf32>
  %r = mpc.reduce mean %l {axes = array<i64: 0>} : tensor<?xf32> -> tensor<f32>
  %n = mpc.add %m, %r : tensor<f32>, tensor<f32>
  return %r, %n : tensor<f32>, tensor<f32>
}
