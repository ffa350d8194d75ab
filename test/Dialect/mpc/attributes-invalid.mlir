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

// expected-error @below {{mpc.form bounds dimension 1 of 'tensor<8xi64>', which has no extent that could be the largest}}
func.func @bounds_nothing(%n: tensor<i64>, %x: tensor<8xi64>) -> (tensor<8xi64> {mpc.form = [#mpc.bounded<axis = 1, extent = "n">], mpc.output = "out0"}, tensor<i64> {mpc.output = "n"}) {
  return %x, %n : tensor<8xi64>, tensor<i64>
}

// -----

// expected-error @below {{mpc.form names "out2" as an extent, which no result of i64 is that has no dimensions}}
func.func @bound_by_nothing(%n: tensor<i64>, %x: tensor<8xi64>) -> (tensor<8xi64> {mpc.form = [#mpc.bounded<axis = 0, extent = "out2">], mpc.output = "out0"}, tensor<i64> {mpc.output = "out1"}) {
  return %x, %n : tensor<8xi64>, tensor<i64>
}

// -----

// expected-error @below {{mpc.form names "out1" as an extent, which no result of i64 is that has no dimensions}}
func.func @bound_by_another_type(%n: tensor<i32>, %x: tensor<8xi64>) -> (tensor<8xi64> {mpc.form = [#mpc.bounded<axis = 0, extent = "out1">], mpc.output = "out0"}, tensor<i32> {mpc.output = "out1"}) {
  return %x, %n : tensor<8xi64>, tensor<i32>
}

// -----

// expected-error @below {{mpc.form bounds dimension 0 of 'tensor<?x8xf32>', which has no extent that could be the largest}}
func.func @bounds_the_batch(%n: tensor<i64>, %x: tensor<?x8xf32>) -> (tensor<?x8xf32> {mpc.form = [#mpc.bounded<axis = 0, extent = "out1">], mpc.output = "out0"}, tensor<i64> {mpc.output = "out1"}) {
  return %x, %n : tensor<?x8xf32>, tensor<i64>
}

// -----

// expected-error @below {{mpc.form says that 'tensor<?x8xf32>' is text; expected code points of i32 in a last dimension that is known}}
func.func @text_of_floats(%x: tensor<?x8xf32> {mpc.form = [#mpc.text], mpc.input = "x"}) {
  return
}

// -----

// expected-error @below {{mpc.form has a form twice}}
func.func @text_twice(%x: tensor<?x8xi32> {mpc.form = [#mpc.text, #mpc.text], mpc.input = "x"}) {
  return
}

// -----

// expected-error @below {{mpc.form has "text"; expected #mpc.bounded and #mpc.text}}
func.func @no_form(%x: tensor<?x8xi32> {mpc.form = ["text"], mpc.input = "x"}) {
  return
}

// -----

// expected-error @below {{mpc.form must be an array of forms, of a tensor or a buffer}}
func.func @no_array(%x: tensor<?x8xi32> {mpc.form = #mpc.text, mpc.input = "x"}) {
  return
}

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
