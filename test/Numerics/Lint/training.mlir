// RUN: mpc-opt %s -split-input-file --mpc-lint -verify-diagnostics -o /dev/null
// lint-narrow-regularizer and lint-rounded-labels.

module {
  mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {learning_rate = 1.0e-2 : f64}
  // expected-warning@+1 {{the regularizer of k acts on a variable of f16; use mixed_float16 or mixed_bfloat16, which keep the variable in float32}}
  mpc.variable @k : tensor<4xf16> role trainable {regularizer = #mpc.regularizer<l1 = 0.0 : f64, l2 = 1.0e-3 : f64>}
  mpc.variable @l : tensor<4xf16> role trainable
  mpc.variable @m : tensor<4xf32> role trainable {regularizer = #mpc.regularizer<l1 = 0.0 : f64, l2 = 1.0e-3 : f64>}
  func.func @forward(%x: tensor<?x4xf16> {mpc.input = "x"}) -> (tensor<?x4xf32> {mpc.output = "out0"}) {
    %y = mpc.cast %x : tensor<?x4xf16> to tensor<?x4xf32>
    return %y : tensor<?x4xf32>
  }
  func.func @loss(%p: tensor<?x4xf32> {mpc.input = "out0"}, %t: tensor<?x4xf32> {mpc.target = "y0"}, %i: tensor<?xi32> {mpc.index_limit = 3000 : i64, mpc.target = "y1"}, %j: tensor<?xi32> {mpc.index_limit = 10 : i64, mpc.target = "y2"}, %u: tensor<?xui8> {mpc.target = "y3"}) -> tensor<f32> {
    // expected-warning@+1 {{the loss rounds "y0" from f32 to f16; compute the loss in float32}}
    %a = mpc.cast %t : tensor<?x4xf32> to tensor<?x4xf16>
    // expected-warning@+1 {{the loss rounds "y1" from i32 to f16}}
    %b = mpc.cast %i : tensor<?xi32> to tensor<?xf16>
    %c = mpc.cast %j : tensor<?xi32> to tensor<?xf16>
    %d = mpc.cast %i : tensor<?xi32> to tensor<?xf32>
    %e = mpc.cast %u : tensor<?xui8> to tensor<?xf16>
    %l = mpc.reduce mean %p {axes = array<i64: 0, 1>} : tensor<?x4xf32> -> tensor<f32>
    return %l : tensor<f32>
  }
}

// -----

// Without training a regularizer does nothing.
module {
  mpc.variable @k : tensor<4xf16> role trainable {regularizer = #mpc.regularizer<l1 = 0.0 : f64, l2 = 1.0e-3 : f64>}
  func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}) -> (tensor<?x4xf32> {mpc.output = "out0"}) {
    return %x : tensor<?x4xf32>
  }
}
