// RUN: mpc-opt %s -split-input-file --mpc-decide-loss-scale --mpc-lint -o /dev/null 2>&1 | FileCheck %s --check-prefix=PURE
// RUN: mpc-opt %s -split-input-file --mpc-decide-loss-scale="option=none" --mpc-lint -o /dev/null 2>&1 | FileCheck %s --check-prefix=PURE
// Variables of bfloat16 lose updates, whatever the scale: told with every option.
// PURE: warning: pure bfloat16 trains variables of 8 binary digits, as in Keras: updates below 1/512 of a weight are lost; use mixed_bfloat16
// PURE-NOT: pure bfloat16
module {
  mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {learning_rate = 1.0e-2 : f64}
  mpc.variable @k : tensor<4xf32> role trainable
  func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %w: tensor<4xf32> {mpc.variable = @k}) -> (tensor<?x4xf32> {mpc.output = "out0"}) {
    %y = mpc.layer "pure" kind "Scale" inputs(%x) variables(%w) {precision = #mpc.precision<compute = bf16, variable = bf16, accumulate = f32, rule = "option">} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32> {
    ^bb0(%a: tensor<?x4xf32>, %k: tensor<4xf32>):
      %0 = mpc.multiply %a, %k : tensor<?x4xf32>, tensor<4xf32>
      mpc.yield %0 : tensor<?x4xf32>
    }
    return %y : tensor<?x4xf32>
  }
}

// -----

// Mixed: nothing is told.
module {
  mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {learning_rate = 1.0e-2 : f64}
  mpc.variable @k : tensor<4xf32> role trainable
  func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %w: tensor<4xf32> {mpc.variable = @k}) -> (tensor<?x4xf32> {mpc.output = "out0"}) {
    %y = mpc.layer "mixed" kind "Scale" inputs(%x) variables(%w) {precision = #mpc.precision<compute = bf16, variable = f32, accumulate = f32, rule = "option">} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32> {
    ^bb0(%a: tensor<?x4xf32>, %k: tensor<4xf32>):
      %0 = mpc.multiply %a, %k : tensor<?x4xf32>, tensor<4xf32>
      mpc.yield %0 : tensor<?x4xf32>
    }
    return %y : tensor<?x4xf32>
  }
}
