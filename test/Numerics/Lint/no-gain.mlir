// RUN: mpc-opt %s -split-input-file --mpc-lint -verify-diagnostics -o /dev/null
// lint-no-gain: a policy that adds roundings and casts alone.

#half = #mpc.precision<compute = f16, variable = f32, accumulate = f32, rule = "option">
#single = #mpc.precision<compute = f32, variable = f32, accumulate = f32, rule = "option">
func.func @forward(%x: tensor<?x4xf32> {mpc.input = "x"}, %w: tensor<4x4xf32>) -> (tensor<?x4xf32> {mpc.output = "out0"}) {
  // Between float32 layers, without products.
  // expected-warning@+1 {{computes in f16 between float32 layers and multiplies no matrices: its policy adds roundings and casts alone; give it the policy float32}}
  %a = mpc.layer "bad" kind "Activation" inputs(%x) {precision = #half} : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%v: tensor<?x4xf32>):
    %0 = mpc.relu %v : tensor<?x4xf32>
    mpc.yield %0 : tensor<?x4xf32>
  }
  // With a product.
  %b = mpc.layer "product" kind "Dense" inputs(%a) variables(%w) {precision = #single} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%v: tensor<?x4xf32>, %k: tensor<4x4xf32>):
    %0 = mpc.contract %v, %k contracting [1] x [0] : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    mpc.yield %0 : tensor<?x4xf32>
  }
  %c = mpc.layer "gains" kind "Dense" inputs(%b) variables(%w) {precision = #half} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%v: tensor<?x4xf32>, %k: tensor<4x4xf32>):
    %0 = mpc.contract %v, %k contracting [1] x [0] : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    mpc.yield %0 : tensor<?x4xf32>
  }
  // Behind a layer of float16, and the last one.
  %d = mpc.layer "follows" kind "Activation" inputs(%c) {precision = #half} : (tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^bb0(%v: tensor<?x4xf32>):
    %0 = mpc.relu %v : tensor<?x4xf32>
    mpc.yield %0 : tensor<?x4xf32>
  }
  return %d : tensor<?x4xf32>
}
