// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker's derivations of elementwise ops.
#include "tools/mpc-check-certificate/Fact.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::check;

namespace {

Real times(Real a, Real b) { return a == 0 || b == 0 ? 0 : a * b; }

struct Ends {
  Real low, high;
};
Ends endsOf(std::initializer_list<Real> corners) { return {std::min(corners), std::max(corners)}; }

bool allExact(ArrayRef<Fact> in) {
  return llvm::all_of(in, [](const Fact &fact) { return fact.error == 0; });
}

Fact plus(const Fact &a, const Fact &b) {
  const bool cancels =
      (a.high == kInfinite && b.low == -kInfinite) || (b.high == kInfinite && a.low == -kInfinite);
  return {a.low + b.low, a.high + b.high, a.nan || b.nan || cancels, a.error + b.error, nullptr};
}
Fact minus(const Fact &a) { return {-a.high, -a.low, a.nan, a.error, nullptr}; }

Fact multiply(const Fact &a, const Fact &b) {
  const Ends ends = endsOf(
      {times(a.low, b.low), times(a.low, b.high), times(a.high, b.low), times(a.high, b.high)});
  const bool isUndefined =
      (std::isinf(a.size()) && b.hasZero()) || (std::isinf(b.size()) && a.hasZero());
  return {ends.low, ends.high, a.nan || b.nan || isUndefined,
          times(a.size(), b.error) + times(b.size() + b.error, a.error), nullptr};
}

Fact squared(const Fact &a) {
  Fact fact = multiply(a, a);
  const Real least = a.hasZero() ? 0 : std::min(std::fabs(a.low), std::fabs(a.high));
  fact.low = least * least;
  fact.nan = a.nan;
  return fact;
}

Fact divide(const Fact &a, const Fact &b) {
  if (b.hasZero() || std::isinf(b.size()))
    return {};
  const Ends ends = endsOf({a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
  const Real least = std::min(std::fabs(b.low), std::fabs(b.high));
  const Real error =
      least > b.error ? (a.error + times((a.size() + a.error) / (least - b.error), b.error)) / least
                      : kInfinite;
  return {ends.low, ends.high, a.nan || b.nan, error, nullptr};
}

/// Integers that do not wrap around, or all of their type.
Fact arithmetic(const Fact &fact, Type type) {
  if (isa<FloatType>(type))
    return stored(fact, type);
  const Fact all = anything(type);
  const Real most = std::ldexp(Real(1), 53);
  const bool fits = fact.low >= std::max(all.low, -most) && fact.high <= std::min(all.high, most);
  return fits ? fact : all;
}

/// A function of one number between `low` and `high`, whose kernels are off by the slack.
Fact function(const Fact &a, Real low, Real high, Real slope, bool nan, Type type) {
  const Real slack = slackOfFunctions(type), tiny = std::ldexp(Real(1), -126);
  Fact fact = {low - std::fabs(low) * slack - tiny, high + std::fabs(high) * slack + tiny,
               a.nan || nan, 0, nullptr};
  fact.error = (a.error == 0 ? 0 : a.error * slope) + fact.size() * slack;
  return stored(fact, type);
}

Real logarithm(Real x) { return x > 0 ? std::log(x) : -kInfinite; }
Real logistic(Real x) { return 1 / (1 + std::exp(-x)); }
Real softplus(Real x) { return std::max(x, Real(0)) + std::log1p(std::exp(-std::fabs(x))); }

Fact powerOf(const Fact &a, const Fact &b, Type type) {
  const bool isOne = b.low == b.high && !b.nan && b.error == 0;
  const Real p = b.low;
  Ends ends;
  if (isOne && p == std::floor(p) && p >= 1 && a.low < 0) {
    ends = endsOf({std::pow(a.low, p), std::pow(a.high, p)});
    if (std::fmod(p, Real(2)) == 0 && a.hasZero())
      ends.low = 0;
  } else if (a.low > 0 || (a.low >= 0 && b.low > 0)) {
    ends = endsOf({std::pow(a.low, b.low), std::pow(a.low, b.high), std::pow(a.high, b.low),
                   std::pow(a.high, b.high)});
  } else {
    return anything(type);
  }
  const Real slack = slackOfFunctions(type);
  Fact fact = {ends.low - std::fabs(ends.low) * slack, ends.high + std::fabs(ends.high) * slack,
               a.nan || b.nan, 0, nullptr};
  const Real slope = isOne && p >= 1 ? p * std::pow(a.size() + a.error, p - 1) : kInfinite;
  const Real moved = allExact({a, b}) ? 0 : b.error == 0 ? a.error * slope : kInfinite;
  fact.error = moved + fact.size() * slack;
  return stored(fact, type);
}

Fact unary(Operation *op, const Fact &a, Type type) {
  const Real least = a.low - a.error;
  return llvm::TypeSwitch<Operation *, Fact>(op)
      .Case([&](ExpOp) {
        return function(a, std::exp(a.low), std::exp(a.high), std::exp(a.high + a.error), false,
                        type);
      })
      .Case([&](Expm1Op) {
        return function(a, std::expm1(a.low), std::expm1(a.high), std::exp(a.high + a.error), false,
                        type);
      })
      .Case([&](LogOp) {
        return function(a, logarithm(a.low), logarithm(a.high), least > 0 ? 1 / least : kInfinite,
                        a.low < 0, type);
      })
      .Case([&](Log1pOp) {
        return function(a, a.low > -1 ? std::log1p(a.low) : -kInfinite,
                        a.high > -1 ? std::log1p(a.high) : -kInfinite,
                        1 + least > 0 ? 1 / (1 + least) : kInfinite, a.low < -1, type);
      })
      .Case([&](SqrtOp) {
        return function(a, std::sqrt(std::max(a.low, Real(0))),
                        std::sqrt(std::max(a.high, Real(0))),
                        least > 0 ? 0.5L / std::sqrt(least) : kInfinite, a.low < 0, type);
      })
      .Case([&](RsqrtOp) {
        const bool isPositive = a.low > 0;
        return function(a, isPositive ? 1 / std::sqrt(a.high) : -kInfinite,
                        isPositive ? 1 / std::sqrt(a.low) : kInfinite,
                        least > 0 ? 0.5L / (least * std::sqrt(least)) : kInfinite, a.low < 0, type);
      })
      .Case<SinOp, CosOp>([&](auto) { return function(a, -1, 1, 1, std::isinf(a.size()), type); })
      .Case(
          [&](TanhOp) { return function(a, std::tanh(a.low), std::tanh(a.high), 1, false, type); })
      .Case([&](SigmoidOp) {
        return function(a, logistic(a.low), logistic(a.high), 0.25L, false, type);
      })
      .Case([&](SoftplusOp) {
        return function(a, softplus(a.low), softplus(a.high), 1, false, type);
      })
      .Case([&](ErfOp) {
        return function(a, std::erf(a.low), std::erf(a.high), M_2_SQRTPI, false, type);
      })
      .Case([&](ErfcOp) {
        return function(a, std::erfc(a.high), std::erfc(a.low), M_2_SQRTPI, false, type);
      })
      .Case([&](GeluOp) {
        return function(a, a.low >= 0 ? 0 : -0.1700409, std::max(a.high, Real(0)), 1.13,
                        a.low == -kInfinite, type);
      })
      .Case([&](NegateOp) { return minus(a); })
      .Case([&](AbsOp) {
        const Real nearest = a.hasZero() ? 0 : std::min(std::fabs(a.low), std::fabs(a.high));
        return Fact{nearest, a.size(), a.nan, a.error, nullptr};
      })
      .Case([&](ReluOp) {
        return Fact{std::max(a.low, Real(0)), std::max(a.high, Real(0)), a.nan, a.error, nullptr};
      })
      .Case([&](SignOp) {
        auto sign = [](Real x) { return x > 0 ? Real(1) : x < 0 ? Real(-1) : Real(0); };
        const bool isSure = a.error == 0 || a.low > a.error || a.high < -a.error;
        return Fact{sign(a.low), sign(a.high), a.nan, isSure ? Real(0) : Real(2), nullptr};
      })
      .Case([&](FloorOp) {
        return Fact{std::floor(a.low), std::floor(a.high), a.nan, a.error == 0 ? 0 : a.error + 1,
                    nullptr};
      })
      .Case([&](RoundOp) {
        return Fact{std::nearbyint(a.low), std::nearbyint(a.high), a.nan,
                    a.error == 0 ? 0 : a.error + 1, nullptr};
      })
      .Default([&](Operation *) { return anything(type); });
}

Fact binary(Operation *op, ArrayRef<Fact> in, Type type) {
  const Fact &a = in[0], &b = in[1];
  const bool nan = a.nan || b.nan;
  return llvm::TypeSwitch<Operation *, Fact>(op)
      .Case([&](AddOp) { return arithmetic(plus(a, b), type); })
      .Case([&](SubtractOp) { return arithmetic(plus(a, minus(b)), type); })
      .Case([&](MultiplyOp product) {
        return arithmetic(product.getLhs() == product.getRhs() ? squared(a) : multiply(a, b), type);
      })
      .Case([&](DivideOp) { return arithmetic(divide(a, b), type); })
      .Case([&](DivideNoNanOp) {
        Fact fact = divide(a, b);
        if (b.hasZero() && a.isBounded() && b.isBounded())
          fact.nan = false;
        return arithmetic(fact, type);
      })
      .Case([&](MaximumOp) {
        return Fact{std::max(a.low, b.low), std::max(a.high, b.high), nan,
                    std::max(a.error, b.error), nullptr};
      })
      .Case([&](MinimumOp) {
        return Fact{std::min(a.low, b.low), std::min(a.high, b.high), nan,
                    std::max(a.error, b.error), nullptr};
      })
      .Case([&](RemainderOp) {
        const Real most = std::min(a.size(), b.size());
        return Fact{a.low < 0 ? -most : 0, a.high > 0 ? most : 0,
                    nan || b.hasZero() || std::isinf(a.size()), allExact(in) ? 0 : kInfinite,
                    nullptr};
      })
      .Case([&](Arctan2Op) {
        const Real slack = std::ldexp(Real(1), -19), most = Real(M_PI) * (1 + slack);
        return stored({-most, most, nan, allExact(in) ? M_PI * slack : kInfinite, nullptr}, type);
      })
      .Case([&](PowerOp) { return powerOf(a, b, type); })
      .Case([&](GeluGradientOp) {
        const Real most = times(a.size(), 1.1291);
        return stored({-most, most, nan || !a.isBounded() || !b.isBounded(), kInfinite, nullptr},
                      type);
      })
      .Default([&](Operation *) { return anything(type); });
}

} // namespace

bool check::deriveElementwise(Operation *op, ArrayRef<Fact> in, Fact &result) {
  if (!isa<ElementwiseOpInterface>(op))
    return false;
  const Type type = elementTypeOf(op->getResult(0));
  if (isa<CompareOp, LogicalAndOp, IsFiniteOp>(op)) {
    result = between(0, 1, allExact(in) ? 0 : 1);
  } else if (isa<SelectOp>(op)) {
    result = either(in[1], in[2]);
    if (in[0].error > 0)
      result.error += result.high - result.low;
  } else if (in.size() == 1) {
    result = unary(op, in[0], type);
  } else {
    result = binary(op, in, type);
  }
  return true;
}
