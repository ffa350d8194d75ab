// RUN: mpc-opt %s --mpc-analyze-ranges="inputs=x:-3:2,y:1:4" -verify-diagnostics -o /dev/null
// Bounds, verdicts and errors, as remarks; each function of ops is searched by RangesTest.

// expected-remark@+3 {{argument 'f16' in [-3, 2], cannot overflow in float16, error at most 0}}
// expected-remark@+2 {{argument 'f16' in [1, 4], cannot overflow in float16, error at most 0}}
// expected-remark@+1 {{argument 'f16' in [-65504, 65504], cannot overflow in float16, error at most 0}}
func.func @forward(%x: tensor<?x4xf16> {mpc.input = "x"}, %y: tensor<?x4xf16> {mpc.input = "y"}, %w: tensor<4xf16>) -> tensor<?x4xf16> {
  // expected-remark@+1 {{add 'f16' in [-2, 6], cannot overflow in float16, error at most 0.00195503}}
  %0 = mpc.add %x, %y : tensor<?x4xf16>, tensor<?x4xf16>
  // expected-remark@+1 {{multiply 'f16' in [-12, 8], cannot overflow in float16}}
  %1 = mpc.multiply %x, %y : tensor<?x4xf16>, tensor<?x4xf16>
  // A square is not negative.
  // expected-remark@+1 {{multiply 'f16' in [0, 9], cannot overflow in float16}}
  %2 = mpc.multiply %x, %x : tensor<?x4xf16>, tensor<?x4xf16>
  // expected-remark@+1 {{divide 'f16' in [-3, 2], cannot overflow in float16}}
  %3 = mpc.divide %x, %y : tensor<?x4xf16>, tensor<?x4xf16>
  // expected-remark@+1 {{divide 'f16' in [-inf, inf] or NaN, cannot be shown to fit float16}}
  %4 = mpc.divide %y, %x : tensor<?x4xf16>, tensor<?x4xf16>
  // expected-remark@+1 {{exp 'f16' in [0.0497742, 7.39062], cannot overflow in float16}}
  %5 = mpc.exp %x : tensor<?x4xf16>
  // Nothing is known of a weight that is not given: e^x of it overflows.
  // expected-remark@+1 {{exp 'f16' in [0, inf], cannot be shown to fit float16}}
  %6 = mpc.exp %w : tensor<4xf16>
  // What saturates bounds it again.
  // expected-remark@+1 {{tanh 'f16' in [0, 1], cannot overflow in float16}}
  %7 = mpc.tanh %6 : tensor<4xf16>
  // expected-remark@+1 {{softmax 'f16' in [0, 1], cannot overflow in float16}}
  %8 = mpc.softmax %1 {axis = 1 : i64} : tensor<?x4xf16>
  // A sum over the batch has any number of terms.
  // expected-remark@+1 {{reduce 'f16' in [-inf, inf] or NaN, cannot be shown to fit float16}}
  %9 = mpc.reduce sum %x {axes = array<i64: 0>} : tensor<?x4xf16> -> tensor<4xf16>
  // An op without a transfer function: nothing is known, and that is no error.
  // expected-remark@+1 {{round_float8 'f16' in [-inf, inf] or NaN, cannot be shown to fit float16}}
  %10 = mpc.round_float8 %x {format = f8E5M2} : tensor<?x4xf16>
  // At most log(4) and the range of the logits, for each of four targets of at most 4.
  // expected-remark@+1 {{softmax_cross_entropy 'f16' in [-0.000126958, 102.188], cannot overflow in float16}}
  %11 = mpc.softmax_cross_entropy %x, %y : tensor<?x4xf16>, tensor<?x4xf16> -> tensor<?xf16>
  return %8 : tensor<?x4xf16>
}
