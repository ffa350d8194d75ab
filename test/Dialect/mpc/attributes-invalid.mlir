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

// expected-error @below {{mpc.own_type must be a floating type, on mpc.variable}}
mpc.variable @w : tensor<f32> role trainable {mpc.own_type = i32}

// -----

// expected-error @below {{mpc.overwrite_with_gradient must be a unit, on mpc.variable}}
mpc.variable @w : tensor<f32> role trainable {mpc.overwrite_with_gradient = false}

// -----

// expected-error @below {{mpc.unlisted_when_scaled must be a unit, on mpc.variable of the role optimizer}}
mpc.variable @w : tensor<f32> role trainable {mpc.unlisted_when_scaled}

// -----

func.func @quantized(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error @below {{mpc.quantized_policy must be a string, on mpc.layer with a precision}}
  %0 = mpc.layer "a" kind "Dense" inputs(%x) {mpc.quantized_policy = "int8_from_float32"} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    mpc.yield %a : tensor<?x8xf32>
  }
  return %0 : tensor<?x8xf32>
}

// -----

func.func @every_step(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error @below {{mpc.every_step must be a unit, on mpc.add, mpc.contract or mpc.multiply}}
  %0 = mpc.relu %x {mpc.every_step} : tensor<?x8xf32>
  return %0 : tensor<?x8xf32>
}

// -----

func.func @updates(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // expected-error @below {{mpc.updates must be an array with a symbol or a unit for each result, on mpc.layer}}
  %0 = mpc.relu %x {mpc.updates = [unit]} : tensor<?x8xf32>
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
