// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Formats of floating types, by their exponents and digits.
#include "tools/mpc-check-certificate/Fact.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::check;

namespace {
struct Format {
  int digits, least, greatest; ///< exponents of normal numbers

  Real largest() const { return std::ldexp(2 - std::ldexp(Real(1), 1 - digits), greatest); }
  /// The distance of numbers of this size.
  Real unit(Real size) const {
    int exponent = least;
    if (size > 0 && std::isfinite(size)) {
      std::frexp(size, &exponent);
      exponent = std::max(exponent - 1, least);
    }
    return std::ldexp(Real(1), exponent - digits + 1);
  }
};

Format formatOf(Type type) {
  if (type.isF16())
    return {11, -14, 15};
  if (type.isBF16())
    return {8, -126, 127};
  if (type.isF32())
    return {24, -126, 127};
  return {53, -1022, 1023};
}

/// f16, bf16, f32, f64; no float8.
bool isKnown(Type type) { return type.isF16() || type.isBF16() || type.isF32() || type.isF64(); }
} // namespace

Real check::nearest(Type type, Real value) {
  if (value == 0 || !std::isfinite(value))
    return value;
  const Format format = formatOf(type);
  const Real unit = format.unit(std::fabs(value));
  const Real rounded = std::nearbyint(value / unit) * unit;
  if (std::fabs(rounded) > format.largest())
    return std::copysign(kInfinite, value);
  return rounded;
}

Real check::neighbour(Type type, Real value, bool up) {
  if (!std::isfinite(value))
    return value;
  const Format format = formatOf(type);
  const Real unit = format.unit(std::fabs(value));
  return nearest(type, up ? value + unit : value - unit);
}

Fact check::anything(Type type) {
  auto integer = dyn_cast<IntegerType>(type);
  if (!integer)
    return {};
  const int width = int(integer.getWidth());
  const bool isUnsigned = width == 1 || integer.isUnsigned();
  // The analysis counts in double: 2^63 - 1 is 2^63 there.
  const double high = std::ldexp(1.0, isUnsigned ? width : width - 1) - 1;
  return {isUnsigned ? Real(0) : -std::ldexp(Real(1), width - 1), high, false, kInfinite, nullptr};
}

Fact check::anyNumber(Type type) {
  Fact fact = anything(type);
  if (isKnown(type))
    fact = between(-formatOf(type).largest(), formatOf(type).largest());
  fact.error = 0;
  return fact;
}

Fact check::ofElements(std::shared_ptr<const ReferenceTensor> elements) {
  Fact fact = between(0, 0);
  bool isFirst = true;
  for (int64_t i = 0, count = elements->size(); i < count; ++i) {
    const Real element = elements->at(i);
    if (std::isnan(element)) {
      fact.nan = true;
      continue;
    }
    fact.low = isFirst ? element : std::min(fact.low, element);
    fact.high = isFirst ? element : std::max(fact.high, element);
    isFirst = false;
  }
  fact.elements = std::move(elements);
  return fact;
}

Fact check::either(const Fact &a, const Fact &b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high), a.nan || b.nan,
          std::max(a.error, b.error), nullptr};
}

Fact check::stored(Fact fact, Type type) {
  // Real numbers that were computed here are off by a unit of 64 digits.
  fact.low = std::nextafter(fact.low, -kInfinite);
  fact.high = std::nextafter(fact.high, kInfinite);
  return rounded(fact, type);
}

Fact check::rounded(Fact fact, Type type) {
  if (!isKnown(type) || std::isnan(fact.low) || std::isnan(fact.high))
    return anything(type);
  const Type wide = type.isF64() ? type : Type(Float32Type::get(type.getContext()));
  Fact result = fact;
  result.elements = nullptr;
  result.low = std::min(nearest(type, fact.low), nearest(type, nearest(wide, fact.low)));
  result.high = std::max(nearest(type, fact.high), nearest(type, nearest(wide, fact.high)));
  result.low = std::min(result.low, formatOf(type).largest());
  result.high = std::max(result.high, -formatOf(type).largest());
  const Real size = std::max(fact.size(), result.size());
  if (std::isfinite(size))
    result.error += roundingOf(type, size);
  else
    result.error = kInfinite;
  return result;
}

Real check::halfUnit(Type type, Real size) { return formatOf(type).unit(size) / 2; }

Real check::roundingOf(Type type, Real size) {
  return halfUnit(type, size) * (1 + std::ldexp(Real(1), -10));
}

Real check::slackOfFunctions(Type type) { return std::ldexp(Real(1), type.isF64() ? -45 : -19); }

Real check::slackOfSums(Type type, Real terms) {
  const Real units = (terms + 2) * std::ldexp(Real(1), type.isF64() ? -53 : -24);
  return units < 0.5 ? units / (1 - units) : kInfinite;
}

Real check::largestSum(Type type) {
  return type.isF64() ? formatOf(type).largest() : Format{24, -126, 127}.largest();
}

void check::derive(Operation *op, bool training, ArrayRef<Fact> operands,
                   MutableArrayRef<Fact> results) {
  for (auto [fact, value] : llvm::zip_equal(results, op->getResults()))
    fact = anything(elementTypeOf(value));
  if (results.empty() || deriveSums(op, operands, results))
    return;
  if (!deriveElementwise(op, operands, results[0]))
    deriveMoves(op, training, operands, results[0]);
}
