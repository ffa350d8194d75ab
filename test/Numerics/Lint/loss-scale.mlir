// RUN: mpc-opt %s -split-input-file --mpc-lint -verify-diagnostics -o /dev/null
// lint-no-loss-scale: gradients that pass through float16 unscaled.

#half = #mpc.precision<compute = f16, variable = f16, accumulate = f32, rule = "option">
// expected-warning@+2 {{pure float16 trains without loss scaling, as in Keras: small gradients become 0; use mixed_float16, or --loss-scale=dynamic:32768:2000}}
// expected-warning@+1 {{float16 variables are trained without a float32 copy, as in Keras: updates below 1/4096 of a weight are lost; use mixed_float16}}
module {
  mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {learning_rate = 1.0e-2 : f64}
  mpc.variable @k : tensor<4xf32> role trainable
  func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %w: tensor<4xf32> {mpc.variable = @k}) -> (tensor<?x4xf32> {mpc.output = "out0"}) {
    %y = mpc.layer "pure" kind "Scale" inputs(%x) variables(%w) {precision = #half} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32> {
    ^bb0(%a: tensor<?x4xf32>, %k: tensor<4xf32>):
      %0 = mpc.multiply %a, %k : tensor<?x4xf32>, tensor<4xf32>
      mpc.yield %0 : tensor<?x4xf32>
    }
    return %y : tensor<?x4xf32>
  }
}

// -----

#mixed = #mpc.precision<compute = f16, variable = f32, accumulate = f32, rule = "option">
// expected-warning@+1 {{layers of float16 train without loss scaling: small gradients become 0}}
module {
  mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {learning_rate = 1.0e-2 : f64}
  mpc.variable @k : tensor<4xf32> role trainable
  func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %w: tensor<4xf32> {mpc.variable = @k}) -> (tensor<?x4xf32> {mpc.output = "out0"}) {
    %y = mpc.layer "mixed" kind "Scale" inputs(%x) variables(%w) {precision = #mixed} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32> {
    ^bb0(%a: tensor<?x4xf32>, %k: tensor<4xf32>):
      %0 = mpc.multiply %a, %k : tensor<?x4xf32>, tensor<4xf32>
      mpc.yield %0 : tensor<?x4xf32>
    }
    return %y : tensor<?x4xf32>
  }
}

// -----

// With a scale, with the optimizer's own, or without training nothing is told.
#mixed = #mpc.precision<compute = f16, variable = f32, accumulate = f32, rule = "option">
module {
  mpc.loss_scale initial(3.276800e+04) {growth_steps = 2000 : i64}
  mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {learning_rate = 1.0e-2 : f64}
  mpc.variable @k : tensor<4xf32> role trainable
  func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %w: tensor<4xf32> {mpc.variable = @k}) -> (tensor<?x4xf32> {mpc.output = "out0"}) {
    %y = mpc.layer "mixed" kind "Scale" inputs(%x) variables(%w) {precision = #mixed} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32> {
    ^bb0(%a: tensor<?x4xf32>, %k: tensor<4xf32>):
      %0 = mpc.multiply %a, %k : tensor<?x4xf32>, tensor<4xf32>
      mpc.yield %0 : tensor<?x4xf32>
    }
    return %y : tensor<?x4xf32>
  }
}

// -----

#mixed = #mpc.precision<compute = f16, variable = f32, accumulate = f32, rule = "option">
module {
  mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {learning_rate = 1.0e-2 : f64, static_scale = 128.0 : f64}
  mpc.variable @k : tensor<4xf32> role trainable
  func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %w: tensor<4xf32> {mpc.variable = @k}) -> (tensor<?x4xf32> {mpc.output = "out0"}) {
    %y = mpc.layer "mixed" kind "Scale" inputs(%x) variables(%w) {precision = #mixed} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32> {
    ^bb0(%a: tensor<?x4xf32>, %k: tensor<4xf32>):
      %0 = mpc.multiply %a, %k : tensor<?x4xf32>, tensor<4xf32>
      mpc.yield %0 : tensor<?x4xf32>
    }
    return %y : tensor<?x4xf32>
  }
}

// -----

#half = #mpc.precision<compute = f16, variable = f16, accumulate = f32, rule = "option">
func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %w: tensor<4xf32>) -> (tensor<?x4xf32> {mpc.output = "out0"}) {
  %y = mpc.layer "pure" kind "Scale" inputs(%x) variables(%w) {precision = #half} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32> {
  ^bb0(%a: tensor<?x4xf32>, %k: tensor<4xf32>):
    %0 = mpc.multiply %a, %k : tensor<?x4xf32>, tensor<4xf32>
    mpc.yield %0 : tensor<?x4xf32>
  }
  return %y : tensor<?x4xf32>
}
