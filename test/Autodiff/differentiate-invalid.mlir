// RUN: not mpc-opt %s --split-input-file --mpc-differentiate 2>&1 | FileCheck %s

// CHECK: error: has no function @forward to differentiate
module {}

// -----

// A layer that is still there.
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  // CHECK: error: layer 'act' is not inlined; mpc-differentiate needs mpc-insert-casts before it
  %y = mpc.layer "act" kind "Activation" inputs(%x) : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    %0 = mpc.relu %a : tensor<?x8xf32>
    mpc.yield %0 : tensor<?x8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  return %x : tensor<?x8xf32>
}
// CHECK: error: argument 0 takes "out1" of type 'tensor<?x8xf32>', which @forward does not return
func.func @loss(%p: tensor<?x8xf32> {mpc.input = "out1"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %r = mpc.reduce mean %p {axes = array<i64: 0, 1>} : tensor<?x8xf32> -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// The loss passes through an op without derivative.
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  %0 = mpc.reshape %x : tensor<?x8xf32> -> tensor<?x4x2xf32>
  // CHECK: error: 'mpc.pool_gradient' has no derivative, but the loss depends on it
  %1 = mpc.pool_gradient mean %0 : (tensor<?x4x2xf32>) -> tensor<?x4x2xf32>
  %y = mpc.reshape %1 : tensor<?x4x2xf32> -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
func.func @loss(%p: tensor<?x8xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %r = mpc.reduce mean %p {axes = array<i64: 0, 1>} : tensor<?x8xf32> -> tensor<f32>
  return %r : tensor<f32>
}

// -----

mpc.variable @w : tensor<8xf32> role trainable
mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {learning_rate = 0.01 : f64, schedule = {class_name = "Sawtooth"}}
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}, %w: tensor<8xf32> {mpc.variable = @w}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  %y = mpc.multiply %x, %w : tensor<?x8xf32>, tensor<8xf32>
  return %y : tensor<?x8xf32>
}
// CHECK: error: {{.*}}learning-rate schedule {class_name = "Sawtooth"} is not known or incomplete
func.func @loss(%p: tensor<?x8xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %r = mpc.reduce mean %p {axes = array<i64: 0, 1>} : tensor<?x8xf32> -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// What a scan carries without a dimension cannot be stacked for its derivative.
mpc.variable @c : tensor<f32> role trainable
func.func @forward(%x: tensor<?x3x2xf32> {mpc.input = "x"}, %c0: tensor<f32> {mpc.variable = @c}) -> (tensor<?x3x2xf32> {mpc.output = "out0"}) {
  // CHECK: error: has no derivative, because it carries value 0 of rank 0, which cannot be stacked; give it a dimension of 1
  %last, %y = mpc.scan inits(%c0) scanned(%x) {steps = 3 : i64} : (tensor<f32>, tensor<?x3x2xf32>) -> (tensor<f32>, tensor<?x3x2xf32>) {
  ^bb0(%c: tensor<f32>, %s: tensor<?x2xf32>):
    %p = mpc.multiply %s, %c : tensor<?x2xf32>, tensor<f32>
    %n = mpc.add %c, %c : tensor<f32>, tensor<f32>
    mpc.yield %n, %p : tensor<f32>, tensor<?x2xf32>
  }
  return %y : tensor<?x3x2xf32>
}
func.func @loss(%y: tensor<?x3x2xf32> {mpc.input = "out0"}) -> (tensor<f32> {mpc.output = "loss"}) {
  %s = mpc.reduce sum %y {axes = array<i64: 0, 1, 2>} : tensor<?x3x2xf32> -> tensor<f32>
  return %s : tensor<f32>
}
