// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker's derivations of casts, movements, constants and random numbers.
#include "tools/mpc-check-certificate/Fact.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::check;

namespace {

/// Weights beyond this are known by their range alone, as the analysis says of them.
constexpr int64_t kMostElements = int64_t(1) << 26;

/// Moves the elements of a weight; null where it is none.
std::shared_ptr<const ReferenceTensor> moved(Operation *op, const Fact &input) {
  auto reference = dyn_cast<ReferenceOpInterface>(op);
  ReferenceTensor result;
  if (!input.elements || input.elements->size() > kMostElements || !reference ||
      op->getNumOperands() != 1 || failed(reference.evaluate(*input.elements, result)))
    return nullptr;
  return std::make_shared<const ReferenceTensor>(std::move(result));
}

Fact move(Operation *op, const Fact &input) {
  Fact fact = input;
  fact.elements = moved(op, input);
  return fact;
}

/// Rounds each weight by the checker's own rounding.
Fact castElements(const Fact &input, Type to) {
  auto rounded = std::make_shared<ReferenceTensor>();
  rounded->elementType = to;
  rounded->shape = input.elements->shape;
  Real error = 0;
  for (double element : input.elements->floats) {
    const Real near = nearest(to, element);
    error = std::max(error, std::fabs(near - Real(element)));
    rounded->floats.push_back(double(near));
  }
  Fact fact = ofElements(rounded);
  fact.error = std::isnan(error) ? kInfinite : input.error + error;
  return fact;
}

Fact castAll(CastOp op, const Fact &input) {
  const Type from = elementTypeOf(op.getInput()), to = elementTypeOf(op.getResult());
  const bool isFromFloat = isa<FloatType>(from), isToFloat = isa<FloatType>(to);
  if (to.isInteger(1))
    return between(0, 1, input.error == 0 ? 0 : 1);
  if (!isToFloat) {
    const Fact all = anything(to);
    const Real low = isFromFloat ? std::trunc(input.low) : input.low;
    const Real high = isFromFloat ? std::trunc(input.high) : input.high;
    if (input.nan || low < all.low || high > all.high)
      return all;
    return between(low, high, !isFromFloat ? input.error : input.error == 0 ? 0 : input.error + 1);
  }
  if (to.getIntOrFloatBitWidth() < 16)
    return anything(to);
  if (isFromFloat && input.elements && input.elements->size() <= kMostElements)
    return castElements(input, to);
  const bool widens =
      isFromFloat && from.getIntOrFloatBitWidth() < 32 && to.getIntOrFloatBitWidth() >= 32;
  Fact fact = widens ? input : rounded(input, to);
  fact.elements = nullptr;
  return fact;
}

Fact gather(GatherOp op, ArrayRef<Fact> in, Type type) {
  Fact fact = either(in[0], in[0]);
  auto table = tensorTypeOf(op.getTable());
  const int64_t extent = table.getDimSize(op.getAxis());
  const bool isInside =
      !table.isDynamicDim(op.getAxis()) && in[1].low >= -Real(extent) && in[1].high < Real(extent);
  if (!isInside && isa<FloatType>(type))
    fact.nan = true;
  else if (!isInside)
    fact = either(fact, between(0, 0));
  if (in[1].error > 0)
    fact.error += fact.high - fact.low;
  return fact;
}

Fact resample(ResampleOp op, const Fact &input, Type type) {
  if (op.isSelection())
    return either(input, between(0, 0));
  Real weight = 1, terms = 1;
  bool isPositive = true;
  for (const ResampleTable &table : op.getTables()) {
    Real most = 0, sum = 0;
    for (size_t entry = 0; entry < table.indices.size(); ++entry) {
      sum = entry % size_t(table.taps) == 0 ? 0 : sum;
      if (table.indices[entry] < 0)
        continue;
      const Real each = table.weights.empty() ? Real(1) : Real(table.weights[entry]);
      isPositive &= each >= 0;
      sum += std::fabs(each);
      most = std::max(most, sum);
    }
    weight *= most;
    terms *= Real(table.taps);
  }
  const Real most = input.size() * weight, off = most * slackOfSums(type, 4 * terms);
  Fact fact = {-most - off, most + off, input.nan || std::isinf(most), input.error * weight + off,
               nullptr};
  if (isPositive) {
    fact.low = std::min(input.low, Real(0)) * weight - off;
    fact.high = std::max(input.high, Real(0)) * weight + off;
  }
  return stored(fact, type);
}

Fact constant(ConstantOp op, Type type) {
  ReferenceTensor value;
  if (failed(cast<ReferenceOpInterface>(op.getOperation()).evaluate({}, value)))
    return anything(type);
  Fact fact = ofElements(std::make_shared<const ReferenceTensor>(std::move(value)));
  if (op.getExact()) {
    const Real exact = op.getExact()->convertToDouble();
    fact.error = std::max(std::fabs(exact - fact.low), std::fabs(exact - fact.high));
  }
  return fact;
}

Fact drop(DropoutOp op, const Fact &input, Type type) {
  const Real keep = 1 - Real(op.getRate().convertToDouble());
  const Real exact = keep > 0 ? 1 / keep : kInfinite, scale = nearest(type, exact);
  if (!std::isfinite(scale))
    return anything(type);
  const Fact scaled = {
      std::min(input.low, Real(0)) * scale, std::max(input.high, Real(0)) * scale,
      input.nan || std::isinf(input.size()),
      input.error * scale + (input.size() + input.error) * std::fabs(scale - exact), nullptr};
  return stored(scaled, type);
}

Fact noise(Real low, Real high, Real slack, Type type) {
  return stored(between(low - slack, high + slack, slack), type);
}

} // namespace

bool check::deriveMoves(Operation *op, bool training, ArrayRef<Fact> in, Fact &result) {
  const Type type = elementTypeOf(op->getResult(0));
  bool isKnown = true;
  llvm::TypeSwitch<Operation *>(op)
      .Case<ReshapeOp, TransposeOp, SliceOp, ReverseOp, StopGradientOp>(
          [&](auto each) { result = move(each, in[0]); })
      .Case<BroadcastLikeOp, StraightThroughOp, VariableGradientOp>(
          [&](auto) { result = either(in[0], in[0]); })
      .Case([&](InTrainingOp) { result = either(in[training ? 0 : 1], in[training ? 0 : 1]); })
      .Case([&](ConcatenateOp) {
        result = either(in[0], in[0]);
        for (const Fact &fact : in)
          result = either(result, fact);
      })
      .Case([&](PadOp pad) {
        Real value = pad.getValue().convertToDouble();
        if (isa<FloatType>(type))
          value = nearest(type, value);
        const bool adds = pad.getLow() > 0 || pad.getHigh() > 0;
        result = adds ? either(in[0], between(value, value)) : in[0];
      })
      .Case([&](GatherOp each) { result = gather(each, in, type); })
      .Case([&](OneHotOp) { result = between(0, 1, in[0].error == 0 ? 0 : 1); })
      .Case([&](ArgMaxOp each) {
        auto input = tensorTypeOf(each.getInput());
        const Real last = Real(input.getDimSize(each.getAxis())) - 1;
        result = input.isDynamicDim(each.getAxis()) ? anything(type)
                                                    : between(0, last, in[0].error == 0 ? 0 : last);
      })
      .Case([&](CastOp each) { result = castAll(each, in[0]); })
      .Case([&](ResampleOp each) { result = resample(each, in[0], type); })
      .Case([&](ConstantOp each) { result = constant(each, type); })
      .Case([&](GradientSeedOp) { result = between(1, 1); })
      .Case([&](DropoutOp each) {
        result = training ? drop(each, in[0], type) : either(in[0], in[0]);
      })
      .Case([&](NormalNoiseOp each) {
        const Real spread = std::fabs(Real(each.getStddev().convertToDouble())) * 5.9;
        const Real mean = each.getMean().convertToDouble();
        result = noise(mean - spread, mean + spread,
                       (spread + std::fabs(mean)) * slackOfFunctions(type) * 4, type);
      })
      .Case([&](UniformNoiseOp each) {
        const Real low = each.getLow().convertToDouble(), high = each.getHigh().convertToDouble();
        result = noise(std::min(low, high), std::max(low, high),
                       (std::fabs(low) + std::fabs(high)) * slackOfFunctions(type), type);
      })
      .Default([&](Operation *) { isKnown = false; });
  return isKnown;
}
