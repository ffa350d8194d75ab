// RUN: mpc-opt %s --split-input-file --verify-diagnostics
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  // expected-error @+1 {{unknown attribute "mpc.refuses"}}
  %r = mpc.relu %x {mpc.refuses = {bf16 = "which it does not take"}} : tensor<?x8xf32>
  return %r : tensor<?x8xf32>
}
// -----
func.func @forward(%x: tensor<?x8xf32> {mpc.input = "x"}) -> (tensor<?x8xf32> {mpc.output = "out0"}) {
  // expected-error @+1 {{attribute 'refuses' failed to satisfy constraint: dictionary of named attribute values of strings}}
  %y = mpc.layer "same" kind "Identity" inputs(%x) {refuses = {bf16}} : (tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^bb0(%a: tensor<?x8xf32>):
    mpc.yield %a : tensor<?x8xf32>
  }
  return %y : tensor<?x8xf32>
}
