// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions without closed form that keras.ops has: the inverse of the error function, and a Bessel
// function. Approximations give the values, in float32 or wider; the derivatives are the functions'
// own, not the approximations'.
#include "lib/Import/Keras/Operations/OperationBuilder.h"

#include <cmath>
#include <limits>

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

/// `value` with the derivative `slope` by x.
Value withSlope(B &b, Value value, Value x, Value slope) {
  return b.make<StraightThroughOp>(value, b.make<MultiplyOp>(x, b.make<StopGradientOp>(slope)));
}

// ---- The inverse of the error function ----------------------------------------------------------

// M. Giles, Approximating the erfinv function (GPU Computing Gems, 2011), in double precision: in
// w = -log(1 - x^2), the lowest power first, up to 6.25 (of w - 3.125), up to 16 (of sqrt(w)
// - 3.25) and beyond (of sqrt(w) - 5); times x.
constexpr double kErfinvCentre[] = {
    1.6536545626831027,      0.24015818242558962,    -0.006033670871430149,
    -0.000740702534166267,   0.00018673420803405714, -1.3882523362786469e-05,
    -1.3654692000834679e-06, 4.2347877827932404e-07, -2.9070369957882005e-08,
    -4.112633980346984e-09,  1.0512122733215323e-09, -5.415412054294628e-11,
    -1.2975133253453532e-11, 2.6335093153082323e-12, -8.151934197605472e-14,
    -4.054566272975207e-14,  6.637638134358324e-15,  2.0972767875968562e-17,
    -1.333171662854621e-16,  1.1157877678025181e-17, 1.28584807152564e-18,
    -1.6850591381820166e-19, -3.64441206401782e-21};
constexpr double kErfinvMiddle[] = {
    3.0838856104922208,     1.0052589676941592,      0.005370914553590064,
    -0.003751208507569241,  0.002491442096107851,    -0.0016882755560235047,
    0.0009532893797373805,  -0.0003550375203628475,  2.4031110387097894e-05,
    6.828485145957318e-05,  -4.7318229009055734e-05, 1.2475304481671779e-05,
    2.9234449089955446e-06, -4.013867526981546e-06,  1.5027403968909828e-06,
    1.823962921422938e-08,  -2.7517406297064545e-07, 9.075656193888539e-08,
    2.2137376921775787e-09};
constexpr double kErfinvTail[] = {
    4.849906401408584,       1.0103004648645344,     -0.00013871931833623122,
    -0.00021503011930044477, 7.599527703001776e-05,  -1.968177810553167e-05,
    4.526062597223154e-06,   -9.9298272942317e-07,   2.2900482228026655e-07,
    -6.771199775845234e-08,  2.914795345090108e-08,  -1.496002662714924e-08,
    7.615701208078341e-09,   -3.789465440126737e-09, 1.5076572693500548e-09,
    -2.555641816996525e-10,  -2.7109920616438573e-11};

Value powerSeries(B &b, Value x, llvm::ArrayRef<double> factors) {
  Value sum = b.makeConstant(factors.back());
  for (double factor : llvm::reverse(factors.drop_back()))
    sum = b.make<AddOp>(b.make<MultiplyOp>(sum, x), b.makeConstant(factor));
  return sum;
}

/// Infinite at -1 and 1, NaN beyond.
Value inverseErrorFunction(B &b) {
  Value given = b.getFloat(0, "x");
  if (!given)
    return {};
  Value x = b.makeCastLike(given, given, /*wide=*/true), one = b.makeConstant(1.0);
  Value rest = b.make<MultiplyOp>(b.make<SubtractOp>(one, x), b.make<AddOp>(one, x));
  Value w = b.make<NegateOp>(b.make<LogOp>(rest)), root = b.make<SqrtOp>(w);
  auto about = [&](Value at, double centre) {
    return b.make<SubtractOp>(at, b.makeConstant(centre));
  };
  Value outer = b.makeSelect(ComparePredicate::LT, w, b.makeConstant(16.0),
                             powerSeries(b, about(root, 3.25), kErfinvMiddle),
                             powerSeries(b, about(root, 5.0), kErfinvTail));
  Value factor = b.makeSelect(ComparePredicate::LT, w, b.makeConstant(6.25),
                              powerSeries(b, about(w, 3.125), kErfinvCentre), outer);
  const double infinity = std::numeric_limits<double>::infinity();
  factor = b.makeSelect(ComparePredicate::EQ, rest, b.makeConstant(0.0), b.makeConstant(infinity),
                        factor);
  Value y = b.make<MultiplyOp>(x, factor);
  Value slope = b.make<MultiplyOp>(b.make<ExpOp>(b.make<MultiplyOp>(y, y)),
                                   b.makeConstant(std::sqrt(M_PI) / 2));
  return b.makeCastLike(withSlope(b, y, x, slope), given);
}

// ---- The modified Bessel function of order 0 ----------------------------------------------------

// Beyond 8: e^-x sqrt(x) I0(x) and e^-x sqrt(x) I1(x) as powers of 16 / x - 1, from their Chebyshev
// series over that interval, which ends where float64 does.
constexpr double kBessel0Far[] = {
    0.402176509445008077,     0.00336055198366786155,   0.000136216074391930508,
    0.0000111430337909320378, 1.48384756582792484e-6,   2.9735985885673924e-7,
    8.8722197379040538e-8,    3.93258433455295182e-8,   2.15483779747915967e-8,
    7.55469188124880833e-9,   -6.74765795610752398e-9,  -1.34089175400897399e-8,
    -5.40477156757995796e-9,  7.55258306212338477e-9,   7.43046465032542594e-9,
    -3.50596653087933177e-9,  -5.95356943826489077e-9,  1.52008169539242315e-9,
    3.63795463590111448e-9,   -5.71584386420270857e-10, -1.61898068362468186e-9,
    1.52792026949815683e-10,  4.57708763164362292e-10,  -2.02606042874136266e-11,
    -6.0676315706030064e-11};
constexpr double kBessel1Far[] = {
    0.389398459025872328,      -0.0097495771932357362,   -0.000219235763833889284,
    -0.0000150385472005672167, -1.83491013269809471e-6,  -3.48385576104429472e-7,
    -1.00012882948648835e-7,   -4.3129177291783492e-8,   -2.3373928208142639e-8,
    -8.42776609373518412e-9,   6.73446481530159203e-9,   1.40342387820671835e-8,
    5.9744376080402639e-9,     -7.64239413436356124e-9,  -7.88835150786207716e-9,
    3.42623414900779591e-9,    6.24274121978644519e-9,   -1.4387250533041014e-9,
    -3.79467089620833939e-9,   5.29562544116126106e-10,  1.68489844797051464e-9,
    -1.40116251797706268e-10,  -4.75881883870385351e-10, 1.85151188288529569e-11,
    6.30596519715005671e-11};

/// Up to 8: sum over k of q^k / (k! (k + order)!) with q = (x / 2)^2, terms that are all positive.
Value besselSeries(B &b, Value q, int order) {
  double term = 1;
  llvm::SmallVector<double> factors{term};
  for (int k = 1; k <= 26; ++k)
    factors.push_back(term /= double(k) * double(k + order));
  return powerSeries(b, q, factors);
}

Value besselFunction(B &b) {
  Operand operand = b.getOperand(0, "x");
  if (!operand)
    return {};
  if (elementTypeOf(operand.value).isInteger(64))
    return b.error("'I0' of int64, which is float64 in Keras, is not supported; cast it first");
  Value given = operand.isFloat() ? operand.value : b.makeCastToFloat(operand.value);
  Value x = b.makeCastLike(given, given, /*wide=*/true), size = b.make<AbsOp>(x);
  Value isNear = b.makeCompare(ComparePredicate::LE, size, b.makeConstant(8.0));
  // Operands stay in the interval of their formula where its result is not selected.
  Value inside = b.makeSelect(isNear, x, b.makeConstant(0.0)),
        outside = b.makeSelect(isNear, b.makeConstant(8.0), size);
  Value half = b.make<MultiplyOp>(inside, b.makeConstant(0.5)), q = b.make<MultiplyOp>(half, half);
  Value place =
      b.make<SubtractOp>(b.make<DivideOp>(b.makeConstant(16.0), outside), b.makeConstant(1.0));
  Value growth = b.make<DivideOp>(b.make<ExpOp>(outside), b.make<SqrtOp>(outside));
  auto beyond = [&](llvm::ArrayRef<double> factors) {
    return b.make<MultiplyOp>(growth, powerSeries(b, place, factors));
  };
  Value value = b.makeSelect(isNear, besselSeries(b, q, 0), beyond(kBessel0Far));
  Value slope = b.makeSelect(isNear, b.make<MultiplyOp>(half, besselSeries(b, q, 1)),
                             b.make<MultiplyOp>(b.make<SignOp>(x), beyond(kBessel1Far)));
  return b.makeCastLike(withSlope(b, value, x, slope), given);
}

constexpr OperationEntry kSpecialFunctions[] = {
    {"Erfinv", inverseErrorFunction},
    {"I0", besselFunction},
};

} // namespace

llvm::ArrayRef<OperationEntry> specialFunctions() { return kSpecialFunctions; }

} // namespace mpc::keras
