// RUN: mpc-opt %s -split-input-file --mpc-lint -verify-diagnostics -o /dev/null
// lint-narrow-softmax and lint-narrow-output: what leaves the model below float32.

func.func @forward(%x: tensor<?x10xf16> {mpc.input = "x"}) -> (tensor<?x10xf16> {mpc.output = "out0"}) {
  // expected-warning@+1 {{the output "out0" is a softmax in f16; give the layer the policy float32, or leave the output guard on}}
  %p = mpc.softmax %x {axis = 1 : i64} : tensor<?x10xf16>
  return %p : tensor<?x10xf16>
}

// -----

// Behind a change of shape, too; the other output is told by the other rule.
func.func @forward(%x: tensor<?x10xbf16> {mpc.input = "x"}) -> (tensor<?x5x2xbf16> {mpc.output = "out0"}, tensor<?x10xbf16> {mpc.output = "out1"}) {
  // expected-warning@+1 {{the output "out0" is a softmax in bf16}}
  %p = mpc.softmax %x {axis = 1 : i64} : tensor<?x10xbf16>
  %r = mpc.reshape %p : tensor<?x10xbf16> -> tensor<?x5x2xbf16>
  // expected-warning@+1 {{the output "out1" is bf16; give the last layer the policy float32, or leave the output guard on}}
  %y = mpc.relu %x : tensor<?x10xbf16>
  return %r, %y : tensor<?x5x2xbf16>, tensor<?x10xbf16>
}

// -----

// A softmax in 16 bits inside of the model, masks, states and outputs of float32 are none of this.
func.func @forward(%x: tensor<?x10xf16> {mpc.input = "x"}) -> (tensor<?x10xf32> {mpc.output = "out0"}, tensor<?x10xf16>) {
  %p = mpc.softmax %x {axis = 1 : i64} : tensor<?x10xf16>
  %y = mpc.cast %p : tensor<?x10xf16> to tensor<?x10xf32>
  return %y, %p : tensor<?x10xf32>, tensor<?x10xf16>
}
