// RUN: mpc-opt %s -split-input-file --mpc-lint -verify-diagnostics -o /dev/null
// lint-small-epsilon: what keeps a divisor from 0 is below float16's normal numbers.

func.func @forward(%x: tensor<?x4xf16> {mpc.input = "x"}) -> tensor<?x4xf16> {
  %e = mpc.constant dense<1.0e-5> : tensor<f16>
  // expected-warning@+1 {{its epsilon 1.00136e-05 is below the smallest normal number of f16 (6.1e-05); give the layer the policy float32, or an epsilon of 1e-3}}
  %a = mpc.add %x, %e : tensor<?x4xf16>, tensor<f16>
  %r = mpc.rsqrt %a : tensor<?x4xf16>
  // expected-warning@+1 {{its epsilon 1.00136e-05 is below}}
  %m = mpc.maximum %x, %e : tensor<?x4xf16>, tensor<f16>
  %q = mpc.divide %r, %m : tensor<?x4xf16>, tensor<?x4xf16>
  return %q : tensor<?x4xf16>
}

// -----

// A normal epsilon, bfloat16, and small numbers that guard nothing.
func.func @forward(%x: tensor<?x4xf16> {mpc.input = "x"}, %b: tensor<?x4xbf16> {mpc.input = "b"}) -> (tensor<?x4xf16>, tensor<?x4xf16>, tensor<?x4xbf16>) {
  %e = mpc.constant dense<1.0e-3> : tensor<f16>
  %a = mpc.add %x, %e : tensor<?x4xf16>, tensor<f16>
  %r = mpc.rsqrt %a : tensor<?x4xf16>
  %s = mpc.constant dense<1.0e-5> : tensor<f16>
  %p = mpc.add %x, %s : tensor<?x4xf16>, tensor<f16>
  %f = mpc.constant dense<1.0e-7> : tensor<bf16>
  %c = mpc.add %b, %f : tensor<?x4xbf16>, tensor<bf16>
  %q = mpc.rsqrt %c : tensor<?x4xbf16>
  return %r, %p, %q : tensor<?x4xf16>, tensor<?x4xf16>, tensor<?x4xbf16>
}
