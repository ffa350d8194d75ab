// RUN: mpc-opt %s -split-input-file --mpc-lint -verify-diagnostics -o /dev/null
// lint-long-reduction: more elements than float16 can count.

module {
  mpc.optimizer "sgd" rule(#mpc.sgd<momentum = 0.0 : f64, nesterov = false>) {learning_rate = 1.0e-2 : f64}
  func.func @forward(%x: tensor<?x300x300xf16> {mpc.input = "x"}) -> (tensor<?xf16>, tensor<?xf16>, tensor<?xf16>, tensor<?x300xf16>) {
    // expected-warning@+1 {{a sum of 90000 elements in f16 is infinite where their mean is above 1; give the layer the policy float32}}
    %s = mpc.reduce sum %x {axes = array<i64: 1, 2>} : tensor<?x300x300xf16> -> tensor<?xf16>
    // expected-warning@+1 {{a mean of 90000 elements in f16 divides its gradient by more than f16 holds}}
    %m = mpc.reduce mean %x {axes = array<i64: 1, 2>} : tensor<?x300x300xf16> -> tensor<?xf16>
    %t = mpc.reduce max %x {axes = array<i64: 1, 2>} : tensor<?x300x300xf16> -> tensor<?xf16>
    %f = mpc.reduce sum %x {axes = array<i64: 1>} : tensor<?x300x300xf16> -> tensor<?x300xf16>
    return %s, %m, %t, %f : tensor<?xf16>, tensor<?xf16>, tensor<?xf16>, tensor<?x300xf16>
  }
}

// -----

// Prediction has no gradient; bfloat16 and float32 have the range.
func.func @forward(%x: tensor<?x300x300xf16> {mpc.input = "x"}, %b: tensor<?x300x300xbf16> {mpc.input = "b"}) -> (tensor<?xf16>, tensor<?xbf16>) {
  %m = mpc.reduce mean %x {axes = array<i64: 1, 2>} : tensor<?x300x300xf16> -> tensor<?xf16>
  %s = mpc.reduce sum %b {axes = array<i64: 1, 2>} : tensor<?x300x300xbf16> -> tensor<?xbf16>
  return %m, %s : tensor<?xf16>, tensor<?xbf16>
}
