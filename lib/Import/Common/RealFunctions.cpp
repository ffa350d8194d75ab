// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Common/RealFunctions.h"

#include <cmath>

namespace mpc {

using mlir::Value;

/// (e^x ± e^-x) / 2 in float32 or wider, rounded once; without cancellation where x is small.
template <bool sine> static Value hyperbolic(ValueBuilder &b, Value x) {
  Value wide = b.makeCastLike(x, x, /*wide=*/true), minus = b.make<NegateOp>(wide);
  Value sum = sine ? b.make<SubtractOp>(b.make<Expm1Op>(wide), b.make<Expm1Op>(minus))
                   : b.make<AddOp>(b.make<ExpOp>(wide), b.make<ExpOp>(minus));
  return b.makeCastLike(b.make<MultiplyOp>(sum, b.makeConstant(0.5)), x);
}

/// sign(x) log(|x| + sqrt(x^2 + 1)), without cancellation where x is small and without overflow.
Value applyInverseHyperbolicSine(ValueBuilder &b, Value x) {
  Value wide = b.makeCastLike(x, x, /*wide=*/true), one = b.makeConstant(1.0);
  Value negative = b.makeCompare(ComparePredicate::LT, wide, b.makeConstant(0.0));
  Value size = b.makeSelect(negative, b.make<NegateOp>(wide), wide);
  // Above, the 1 below the root has no part even in a double.
  const double bound = 1e9;
  Value isLarge = b.makeCompare(ComparePredicate::GT, size, b.makeConstant(bound));
  Value small = b.makeSelect(isLarge, b.makeCastLike(one, wide), size);
  Value square = b.make<MultiplyOp>(small, small);
  Value excess =
      b.make<DivideOp>(square, b.make<AddOp>(one, b.make<SqrtOp>(b.make<AddOp>(square, one))));
  Value large = b.makeSelect(isLarge, size, b.makeCastLike(one, wide));
  Value y =
      b.makeSelect(isLarge, b.make<AddOp>(b.make<LogOp>(large), b.makeConstant(std::log(2.0))),
                   b.make<Log1pOp>(b.make<AddOp>(small, excess)));
  return b.makeCastLike(b.makeSelect(negative, b.make<NegateOp>(y), y), x);
}

/// log(x + sqrt(x^2 - 1)) of t = x - 1: log1p(t + sqrt(t) sqrt(t + 2)).
Value applyInverseHyperbolicCosine(ValueBuilder &b, Value x) {
  Value t = b.make<SubtractOp>(b.makeCastLike(x, x, /*wide=*/true), b.makeConstant(1.0));
  Value root =
      b.make<MultiplyOp>(b.make<SqrtOp>(t), b.make<SqrtOp>(b.make<AddOp>(t, b.makeConstant(2.0))));
  return b.makeCastLike(b.make<Log1pOp>(b.make<AddOp>(t, root)), x);
}

/// (log(1 + x) - log(1 - x)) / 2
Value applyInverseHyperbolicTangent(ValueBuilder &b, Value x) {
  Value wide = b.makeCastLike(x, x, /*wide=*/true);
  Value difference =
      b.make<SubtractOp>(b.make<Log1pOp>(wide), b.make<Log1pOp>(b.make<NegateOp>(wide)));
  return b.makeCastLike(b.make<MultiplyOp>(difference, b.makeConstant(0.5)), x);
}

/// The angle of the point (sqrt(1 - x^2), x), or of its mirror image, in float32 or wider; NaN
/// outside of [-1, 1].
template <bool cosine> static Value arcSine(ValueBuilder &b, Value x) {
  Value wide = b.makeCastLike(x, x, /*wide=*/true), one = b.makeConstant(1.0);
  Value other =
      b.make<SqrtOp>(b.make<MultiplyOp>(b.make<SubtractOp>(one, wide), b.make<AddOp>(one, wide)));
  return b.makeCastLike(cosine ? b.make<Arctan2Op>(other, wide) : b.make<Arctan2Op>(wide, other),
                        x);
}

Value applyHyperbolicSine(ValueBuilder &b, Value x) { return hyperbolic<true>(b, x); }
Value applyHyperbolicCosine(ValueBuilder &b, Value x) { return hyperbolic<false>(b, x); }
Value applyArcSine(ValueBuilder &b, Value x) { return arcSine<false>(b, x); }
Value applyArcCosine(ValueBuilder &b, Value x) { return arcSine<true>(b, x); }

Value applyArcTangent(ValueBuilder &b, Value x) {
  return b.make<Arctan2Op>(x, b.makeConstant(1.0));
}

Value applyTruncation(ValueBuilder &b, Value x) {
  Value up = b.make<NegateOp>(b.make<FloorOp>(b.make<NegateOp>(x)));
  Value negative = b.makeCompare(ComparePredicate::LT, x, b.makeConstant(0.0));
  return b.makeSelect(negative, up, b.make<FloorOp>(x));
}

} // namespace mpc
