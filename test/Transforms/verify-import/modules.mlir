// RUN: not mpc-opt %s --split-input-file --mpc-verify-import 2>&1 | FileCheck %s
// What compilation relies on and single ops do not know: the shapes and names of a module's functions.

// CHECK: error: @forward must have a body of one block, which mpc-differentiate copies
func.func private @forward(tensor<2xf32>) -> tensor<2xf32>

// -----

// CHECK: error: @forward must have a body of one block
func.func @forward(%x: tensor<?x2xf32> {mpc.input = "x"}) -> (tensor<?x2xf32> {mpc.output = "out0"}) {
  cf.br ^bb1
^bb1:
  return %x : tensor<?x2xf32>
}

// -----

// CHECK: error: argument #0 is 'tensor<3x?x2xf32>'; only the first dimension, the batch, may be dynamic
func.func @forward(%x: tensor<3x?x2xf32> {mpc.input = "x"}) -> (tensor<3x?x2xf32> {mpc.output = "out0"}) {
  return %x : tensor<3x?x2xf32>
}

// -----

func.func @forward(%x: tensor<?x2xf32> {mpc.input = "x"}) -> (tensor<?x2xf32> {mpc.output = "out0"}) {
  // CHECK: error: result #0 is 'tensor<2x?xf32>'; only the first dimension, the batch, may be dynamic
  %t = mpc.reshape %x : tensor<?x2xf32> -> tensor<2x?xf32>
  return %x : tensor<?x2xf32>
}

// -----

// CHECK: error: argument #0 is 'tensor<?x0xf32>', which has no elements
func.func @forward(%x: tensor<?x0xf32> {mpc.input = "x"}) -> (tensor<?x0xf32> {mpc.output = "out0"}) {
  return %x : tensor<?x0xf32>
}

// -----

// CHECK: error: argument #0 is 'f32'; expected a ranked tensor
func.func @forward(%x: f32) -> f32 {
  return %x : f32
}

// -----

// CHECK: error: @forward has two inputs named "x"; expected different names
func.func @forward(%x: tensor<?x2xf32> {mpc.input = "x"}, %z: tensor<?x3xf32> {mpc.input = "x"}) -> (tensor<?x2xf32> {mpc.output = "out0"}) {
  return %x : tensor<?x2xf32>
}

// -----

// CHECK: error: @forward has two outputs named "out0"; expected different names
func.func @forward(%x: tensor<?x2xf32> {mpc.input = "x"}) -> (tensor<?x2xf32> {mpc.output = "out0"}, tensor<?x2xf32> {mpc.output = "out0"}) {
  return %x, %x : tensor<?x2xf32>, tensor<?x2xf32>
}

// -----

// CHECK: error: is a second 'mpc.loss_scale'; a module has at most one
mpc.loss_scale initial(8.0)
mpc.loss_scale initial(4.0)

// -----

mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0, nesterov = false>) {learning_rate = 0.1 : f64}
// CHECK: error: is a second 'mpc.optimizer'; a module has at most one
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0, nesterov = false>) {learning_rate = 0.2 : f64}
