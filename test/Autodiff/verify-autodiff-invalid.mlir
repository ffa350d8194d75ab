// RUN: not mpc-opt %s --split-input-file --mpc-verify-autodiff 2>&1 | FileCheck %s

// CHECK: error: @forward must not be left after mpc-differentiate
// CHECK: error: has no entry @predict
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  return %x : tensor<?x8xf32>
}

// -----

mpc.variable @w : tensor<f32> role trainable
// CHECK: error: argument 1 is out of order: "x"
// CHECK: error: result 1 repeats "out0"
func.func @predict(%w: tensor<f32> {mpc.variable = @w}, %x: tensor<f32> {mpc.input = "x"})
    -> (tensor<f32> {mpc.output = "out0"}, tensor<f32> {mpc.output = "out0"}) attributes {mpc.entry = #mpc.entry_role<predict>} {
  return %w, %x : tensor<f32>, tensor<f32>
}
