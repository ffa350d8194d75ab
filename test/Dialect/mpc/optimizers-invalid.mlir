// RUN: mpc-opt %s -split-input-file -verify-diagnostics

mpc.variable @s : tensor<f32> role metric
// expected-error @below {{total and count are two states, got 1; other results are computed}}
mpc.metric "m" states([@s])

// -----

mpc.variable @s : tensor<f32> role metric
// expected-error @below {{a computed result takes no root}}
mpc.metric "m" states([@s]) {computed, root}

// -----

// expected-error @below {{states must be symbols of variables}}
mpc.metric "m" states(["s", "t"])

// -----

func.func @shared(%w: tensor<4xf32>, %m: tensor<4xf32>, %r: tensor<f32>) {
  // expected-error @below {{rule has 1 shared scalars, got 0}}
  %a:3 = mpc.optimizer_step %w, %w slots(%m, %m) rate(%r) iteration(%r) rule(#mpc.nadam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64>)
    : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @slot(%w: tensor<8x4xf32>, %c: tensor<4xf32>, %r: tensor<f32>) {
  // expected-error @below {{slot 'r' must have the shape of 'tensor<8xf32>'}}
  %a:4 = mpc.optimizer_step %w, %w slots(%c, %c, %w) rate(%r) iteration(%r) rule(#mpc.adafactor<beta_2_decay = -0.8 : f64, epsilon_1 = 1.0e-30 : f64, epsilon_2 = 1.0e-3 : f64, clip_threshold = 1.0 : f64>)
    : (tensor<8x4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<f32>, tensor<f32>) -> (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32>)
  return
}

// -----

func.func @powers_shape(%w: tensor<4xf32>, %c: tensor<2xf32>, %r: tensor<f32>) {
  // expected-error @below {{powers must have the variable's shape}}
  %a:3 = mpc.optimizer_step %w, %w powers(%c) slots(%w, %w) rate(%r) iteration(%r) rule(#mpc.adam<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-7 : f64, amsgrad = false>)
    : (tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @no_powers(%w: tensor<4xf32>, %r: tensor<f32>) {
  // expected-error @below {{rule takes no powers of a gradient's parts}}
  %a = mpc.optimizer_step %w, %w powers(%w) rate(%r) iteration(%r) rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>)
    : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> tensor<4xf32>
  return
}

// -----

// expected-error @below {{learning_rate must be finite in float32}}
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {learning_rate = 1.0e+39 : f64}

// -----

// expected-error @below {{initial must be positive and finite in float32}}
mpc.loss_scale initial(0.0)

// -----

// expected-error @below {{initial must be positive and finite in float32}}
mpc.loss_scale initial(1.0e-50)

// -----

// expected-error @below {{initial must be positive and finite in float32}}
mpc.loss_scale initial(0x7FF8000000000000)

// -----

// expected-error @below {{limits must be finite in float32}}
mpc.loss_scale initial(8.0) {growth_steps = 2 : i64, maximum = 0x7FF0000000000000 : f64}

// -----

// expected-error @below {{minimum must not exceed maximum}}
mpc.loss_scale initial(8.0) {growth_steps = 2 : i64, minimum = 4.0 : f64, maximum = 2.0 : f64}

// -----

func.func @no_start(%w: tensor<4xf32>, %r: tensor<f32>) {
  // expected-error @below {{start and slots that start as the variable belong together}}
  %a:3 = mpc.optimizer_step %w, %w slots(%w, %w) rate(%r) iteration(%r) rule(#mpc.schedule_free_adamw<beta_1 = 0.9 : f64, beta_2 = 0.999 : f64, epsilon = 1.0e-8 : f64, warmup_steps = 0.0 : f64>)
    : (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}

// -----

func.func @start(%w: tensor<4xf32>, %r: tensor<f32>, %first: tensor<i1>) {
  // expected-error @below {{start and slots that start as the variable belong together}}
  %a = mpc.optimizer_step %w, %w rate(%r) iteration(%r) start(%first) rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>)
    : (tensor<4xf32>, tensor<4xf32>, tensor<f32>, tensor<f32>, tensor<i1>) -> tensor<4xf32>
  return
}

// -----

// expected-error @below {{accumulation_steps must be at least 1, got 0}}
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0, nesterov = false>) {learning_rate = 0.1 : f64, accumulation_steps = 0 : i64}

// -----

// expected-error @below {{ema_overwrite_frequency must be at least 1, got -3}}
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0, nesterov = false>) {learning_rate = 0.1 : f64, ema_momentum = 0.9 : f64, ema_overwrite_frequency = -3 : i64}

// -----

// expected-error @below {{undecayed names @nope, which no mpc.variable declares}}
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0, nesterov = false>) {learning_rate = 0.1 : f64, undecayed = [@nope]}

// -----

// expected-error @below {{states names @nope, which no mpc.variable declares}}
mpc.metric "loss" states([@nope, @nada])

// -----

// expected-error @+1 {{decay must be finite in float32 and not negative}}
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0, nesterov = false>) {decay = -0.5 : f64, learning_rate = 0.1 : f64}

// -----

// expected-error @+1 {{average_from_variable needs ema_momentum}}
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0, nesterov = false>) {average_from_variable, learning_rate = 0.1 : f64}
