// RUN: mpc-opt %s -split-input-file --mpc-lint -verify-diagnostics -o /dev/null
// lint-unguarded-exp and lint-unguarded-square: what float16 overflows in for numbers of usual sizes.

func.func @forward(%x: tensor<?x4xf16> {mpc.input = "x"}) -> (tensor<?x4xf16>, tensor<?x4xf16>, tensor<?x4xf16>, tensor<?x4xf16>) {
  // expected-warning@+1 {{e^x in f16 of a number that nothing keeps below 11.09; clip its argument, or give the layer the policy float32 or mixed_bfloat16}}
  %e = mpc.exp %x : tensor<?x4xf16>
  %r = mpc.relu %x : tensor<?x4xf16>
  // expected-warning@+1 {{e^x in f16 of a number that nothing keeps below 11.09}}
  %f = mpc.expm1 %r : tensor<?x4xf16>
  // expected-warning@+1 {{a square in f16 of a number that nothing keeps below 255; clip or scale its argument}}
  %s = mpc.multiply %r, %r : tensor<?x4xf16>, tensor<?x4xf16>
  %three = mpc.constant dense<3.0> : tensor<f16>
  // expected-warning@+1 {{a square in f16 of a number that nothing keeps below 255}}
  %p = mpc.power %x, %three : tensor<?x4xf16>, tensor<f16>
  return %e, %f, %s, %p : tensor<?x4xf16>, tensor<?x4xf16>, tensor<?x4xf16>, tensor<?x4xf16>
}

// -----

// Guards: a clip, a bounded function, what is negative by construction, x less its maximum.
func.func @forward(%x: tensor<?x4xf16> {mpc.input = "x"}) -> (tensor<?x4xf16>, tensor<?x4xf16>, tensor<?x4xf16>, tensor<?x4xf16>, tensor<?x4xf16>) {
  %ten = mpc.constant dense<1.0e+01> : tensor<f16>
  %c = mpc.minimum %x, %ten : tensor<?x4xf16>, tensor<f16>
  %a = mpc.exp %c : tensor<?x4xf16>
  %t = mpc.tanh %x : tensor<?x4xf16>
  %b = mpc.exp %t : tensor<?x4xf16>
  %m = mpc.abs %x : tensor<?x4xf16>
  %n = mpc.negate %m : tensor<?x4xf16>
  %d = mpc.exp %n : tensor<?x4xf16>
  %top = mpc.reduce max %x {axes = array<i64: 1>, keep_dims} : tensor<?x4xf16> -> tensor<?x1xf16>
  %l = mpc.subtract %x, %top : tensor<?x4xf16>, tensor<?x1xf16>
  %e = mpc.exp %l : tensor<?x4xf16>
  %s = mpc.multiply %t, %t : tensor<?x4xf16>, tensor<?x4xf16>
  return %a, %b, %d, %e, %s : tensor<?x4xf16>, tensor<?x4xf16>, tensor<?x4xf16>, tensor<?x4xf16>, tensor<?x4xf16>
}

// -----

// A clip that is no guard; then float32 and bfloat16, the cube of gelu, under a tanh, and a square
// under a minimum.
func.func @forward(%x: tensor<?x4xf16> {mpc.input = "x"}, %y: tensor<?x4xbf16> {mpc.input = "y"}) -> (tensor<?x4xf16>, tensor<?x4xbf16>, tensor<?x4xf16>, tensor<?x4xf16>) {
  %large = mpc.constant dense<1.0e+02> : tensor<f16>
  %c = mpc.minimum %x, %large : tensor<?x4xf16>, tensor<f16>
  // expected-warning@+1 {{e^x in f16 of a number that nothing keeps below 11.09}}
  %a = mpc.exp %c : tensor<?x4xf16>
  %b = mpc.exp %y : tensor<?x4xbf16>
  %s = mpc.multiply %x, %x : tensor<?x4xf16>, tensor<?x4xf16>
  %q = mpc.multiply %s, %x : tensor<?x4xf16>, tensor<?x4xf16>
  %t = mpc.tanh %q : tensor<?x4xf16>
  %v = mpc.multiply %x, %x : tensor<?x4xf16>, tensor<?x4xf16>
  %w = mpc.minimum %v, %large : tensor<?x4xf16>, tensor<f16>
  return %a, %b, %t, %w : tensor<?x4xf16>, tensor<?x4xbf16>, tensor<?x4xf16>, tensor<?x4xf16>
}
