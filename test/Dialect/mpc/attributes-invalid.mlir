// RUN: mpc-opt %s -split-input-file -verify-diagnostics
// Attributes with a meaning for passes stand where passes read them, and hold what these expect.

// expected-error @below {{mpc.entry must be a unit or an #mpc.entry_role, on a function with a body}}
func.func private @declared() attributes {mpc.entry}

// -----

// expected-error @below {{mpc.entry must be a unit}}
func.func @named() attributes {mpc.entry = "predict"} {
  return
}

// -----

// expected-error @below {{mpc.phase must be the name of a phase, on the module}}
module attributes {mpc.phase = "buffer"} {
}

// -----

// expected-error @below {{mpc.phase must be the name of a phase, on the module}}
func.func @phase() attributes {mpc.phase = "buffers"} {
  return
}

// -----

// expected-error @below {{attribute 'own_type' failed to satisfy constraint}}
mpc.variable @w : tensor<f32> role trainable {own_type = i32}

// -----

// expected-error @below {{unknown attribute "mpc.overwrite_with_gradient"; mpc.variable has it as overwrite_with_gradient}}
mpc.variable @w : tensor<f32> role trainable {mpc.overwrite_with_gradient}

// -----

// expected-error @below {{unlisted_when_scaled is for variables of the role optimizer}}
mpc.variable @w : tensor<f32> role trainable {unlisted_when_scaled}

// -----

func.func @quantized(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error @below {{quantized_policy is for layers with a precision}}
  %0 = mpc.layer "a" kind "Dense" inputs(%x) {quantized_policy = "int8_from_float32"} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    mpc.yield %a : tensor<?x8xf32>
  }
  return %0 : tensor<?x8xf32>
}

// -----

func.func @every_step(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error @below {{unknown attribute "mpc.every_step"; mpc.add has it as every_step}}
  %0 = mpc.add %x, %x {mpc.every_step} : tensor<?x8xf32>, tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

func.func @updates(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error @below {{updates has 2 entries for 1 results}}
  %0 = mpc.layer "a" kind "Dense" inputs(%x) {updates = [unit, unit]} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    mpc.yield %a : tensor<?x8xf32>
  }
  return %0 : tensor<?x8xf32>
}

// -----

// expected-error @below {{mpc.layers must be an array of dictionaries, on the module}}
module attributes {mpc.layers = ["dense"]} {
}

// -----

// expected-error @below {{mpc.seed must be an integer of 64 bits, on the module}}
module attributes {mpc.seed = 1 : i8} {
}

// -----

// expected-error @below {{unknown attribute "mpc.everystep"}}
module attributes {mpc.everystep} {
}

// -----

// expected-error @below {{"mpc.stateful" must be a unit}}
func.func @result() -> (tensor<f32> {mpc.stateful = 1}) {
  %c = mpc.constant dense<0.0> : tensor<f32>
  return %c : tensor<f32>
}

// -----

// expected-error @below {{@predict has no role; expected mpc.entry = #mpc.entry_role<predict>}}
func.func @predict() attributes {mpc.entry} {
  return
}

// -----

// expected-error @below {{@predict has the role evaluate; expected a function of that name}}
func.func @predict() attributes {mpc.entry = #mpc.entry_role<evaluate>} {
  return
}

// -----

// expected-error @below {{@step has the role train_step; expected a function of that name}}
func.func @step() attributes {mpc.entry = #mpc.entry_role<train_step>} {
  return
}

// -----

func.func @rounds_to(%c: i1, %x: f32) -> f32 {
  // expected-error @below {{mpc.rounds_to must be a type of float8, on the op that rounds to it}}
  %0 = arith.select %c, %x, %x {mpc.rounds_to = f16} : f32
  return %0 : f32
}

// -----

func.func @adds(%x: f32) -> f32 {
  // expected-error @below {{mpc.rounds_to must be a type of float8, on the op that rounds to it}}
  %0 = arith.addf %x, %x {mpc.rounds_to = f8E5M2} : f32
  return %0 : f32
}
