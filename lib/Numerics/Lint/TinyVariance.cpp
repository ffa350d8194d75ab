// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A BatchNormalization whose statistics make its own rounding loud.
#include "lib/Numerics/Lint/Rules.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace mlir;
using namespace mpc;

/// The variable whose value inference uses for `value`; null where there is none.
static Value findMoving(Value value) {
  value = skipMovement(value);
  if (auto either = value.getDefiningOp<InTrainingOp>())
    value = skipMovement(either.getInference());
  return value;
}

/// `beta - mean * inv` has the mean beside what scales; `inv` may be times gamma first.
static Value findMean(Value inv) {
  for (Operation *user : inv.getUsers()) {
    auto product = dyn_cast<MultiplyOp>(user);
    if (!product)
      continue;
    for (Value other : product->getOperands())
      if (auto negated = other.getDefiningOp<NegateOp>())
        return findMoving(negated.getInput());
    for (Operation *next : product->getUsers())
      if (auto shift = dyn_cast<MultiplyOp>(next))
        for (Value other : shift->getOperands())
          if (auto negated = other.getDefiningOp<NegateOp>())
            return findMoving(negated.getInput());
  }
  return {};
}

/// The narrowest type that each layer casts from: what its input was rounded to.
static llvm::StringMap<Type> findInputTypes(const LintSubject &subject) {
  llvm::StringMap<Type> types;
  for (CastOp cast : subject.all<CastOp>())
    if (isNarrow(elementTypeOf(cast.getInput())))
      types[layerPathOf(cast.getLoc())] = elementTypeOf(cast.getInput());
  return types;
}

static void checkTinyVariance(const LintSubject &subject, LintReport &report) {
  if (subject.hasLayers() || !subject.getWeights())
    return;
  const llvm::StringMap<Type> inputs = findInputTypes(subject);
  for (RsqrtOp inv : subject.all<RsqrtOp>()) {
    auto sum = inv.getInput().getDefiningOp<AddOp>();
    auto input = inputs.find(layerPathOf(inv.getLoc()));
    if (!sum || input == inputs.end())
      continue;
    std::optional<double> epsilon = findSplat(sum.getRhs());
    const std::vector<double> *variance = subject.findWeight(findMoving(sum.getLhs()));
    if (!epsilon || !variance)
      continue;
    Value mean = findMean(inv);
    const std::vector<double> *means = mean ? subject.findWeight(mean) : nullptr;
    const Type type = input->second;
    // Half a unit of a number of magnitude 1.
    const double unit = type.isF16() ? 0x1p-11 : 0x1p-8;
    size_t channels = 0;
    double loudest = 0;
    for (auto [i, each] : llvm::enumerate(*variance)) {
      const double size = means && i < means->size() ? std::abs((*means)[i]) : 0;
      const double factor = 1 / std::sqrt(std::max(each, 0.0) + *epsilon);
      const double noise = std::max(unit * size, type.isF16() ? 0x1p-25 : 0.0) * factor;
      // A 16th of a standard deviation is noise in the result; a factor of 128 and more makes
      // float16 of differences that float16 does not hold.
      if (noise <= 0x1p-4 && !(type.isF16() && factor > 128))
        continue;
      ++channels;
      loudest = std::max(loudest, factor);
    }
    if (channels)
      report.tell(inv.getLoc(),
                  llvm::formatv("{0} of its {1} channels have so small a variance that "
                                "roundings of its input to {2} are multiplied by up to "
                                "{3}",
                                channels, variance->size(), nameOf(type), nameOf(loudest))
                      .str());
  }
}

const LintRule mpc::kTinyVarianceRule = {
    "tiny-variance",
    "BatchNormalization whose moving variance is below what 16 bits tell apart around the mean",
    "the rounding of the input is divided by the standard deviation and becomes a signal",
    "give the layer in front of it, and it, the policy float32, or a larger epsilon",
    /*isAlwaysTold=*/false,
    checkTinyVariance,
};
