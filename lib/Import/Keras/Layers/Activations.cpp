// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/activations: ReLU, LeakyReLU, ELU, PReLU, Softmax.
#include "lib/Import/Common/BatchAxis.h"
#include "lib/Import/Keras/ActivationFunctions.h"
#include "lib/Import/Keras/LayerRegistry.h"

namespace mpc::keras {
namespace {

using mlir::Value;

Value importRelu(LayerBuilder &b) {
  Value x = b.getInput();
  const double slope = b.getNumber("negative_slope", 0.0);
  const std::optional<double> maximum = b.getOptionalNumber("max_value");
  const double threshold = b.getNumber("threshold", 0.0);
  if (slope < 0 || threshold < 0 || (maximum && *maximum < 0))
    b.error("'max_value', 'negative_slope' and 'threshold' of ReLU must not be negative");
  if (b.hasFailed())
    return {};
  if (const mlir::Type type = elementTypeOf(x); !mlir::isa<mlir::FloatType>(type)) {
    if (type.isInteger(1) || slope != 0 || maximum || threshold != 0)
      return b.getFloatInput();
    return b.make<MaximumOp>(x, b.makeZero(type));
  }
  return applyRelu(b, x, slope, maximum, threshold);
}

Value importLeakyRelu(LayerBuilder &b) {
  Value x = b.getFloatInput();
  // Keras 2 calls it alpha.
  const double slope = b.getNumber("negative_slope", b.getNumber("alpha", 0.3));
  if (slope < 0)
    b.error("'negative_slope' of LeakyReLU must not be negative");
  return b.hasFailed() ? Value() : applyLeakyRelu(b, x, slope);
}

Value importElu(LayerBuilder &b) {
  Value x = b.getFloatInput();
  const double alpha = b.getNumber("alpha", 1.0);
  return b.hasFailed() ? Value() : applyElu(b, x, alpha);
}

/// relu(x) - alpha * relu(-x); alpha has the shape of a sample, 1 on shared axes.
Value importPRelu(LayerBuilder &b) {
  Value x = b.getFloatInput();
  if (!x)
    return {};
  llvm::SmallVector<int64_t> shape(b.shapeOf(x).drop_front());
  llvm::SmallVector<int64_t> shared;
  const llvm::json::Value *axes = b.layer.config.get("shared_axes");
  if (axes && axes->getAsInteger())
    shared.push_back(*axes->getAsInteger());
  else if (auto list = b.getIntegers("shared_axes", 0))
    shared = *list;
  for (int64_t axis : shared) {
    if (axis < 1 || axis > int64_t(shape.size()))
      return b.error("'shared_axes' holds " + llvm::Twine(axis) + "; axes of the input are 1 to " +
                     llvm::Twine(shape.size()));
    shape[axis - 1] = 1;
  }
  Value alpha =
      b.addVariable({"alpha", shape, "alpha_initializer", "alpha_regularizer", "alpha_constraint"});
  if (!alpha)
    return {};
  Value positive = b.make<ReluOp>(x);
  Value negative = b.make<MultiplyOp>(b.make<NegateOp>(alpha), b.make<ReluOp>(b.make<NegateOp>(x)));
  return b.make<AddOp>(positive, negative);
}

/// Over several axes: exp(x - logsumexp(x)), as Keras. With a mask, what is masked becomes large
/// and negative before and 0 afterwards.
Value importSoftmax(LayerBuilder &b) {
  Value mask = b.getMask(/*position=*/1);
  Value x = b.getFloatInput();
  if (!x)
    return {};
  llvm::SmallVector<int64_t> axes;
  const llvm::json::Value *config = b.layer.config.get("axis");
  if (config && config->getAsArray())
    axes = b.getIntegers("axis", 0).value_or(llvm::SmallVector<int64_t>());
  else
    axes.push_back(b.getInteger("axis", -1));
  if (axes.empty())
    b.error("'axis' of Softmax is an empty list");
  for (int64_t &axis : axes)
    axis = resolveAxis(b, axis, x).value_or(0);
  if (b.hasFailed())
    return {};
  llvm::sort(axes);
  if (std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    return b.error("'axis' of Softmax names an axis twice");
  if (!mask)
    return b.makeSoftmax(x, axes);
  // In a mask of numbers, those greater than a half are true, in the mask's own dtype.
  llvm::ArrayRef<Value> given = b.getArgument(1, "mask");
  if (!given.empty() && elementTypeOf(given.front()) != elementTypeOf(mask)) {
    mlir::Type element = elementTypeOf(given.front());
    Value half = mlir::isa<mlir::FloatType>(element) ? b.makeConstant(0.5) : b.makeZero(element);
    mask = b.makeCompare(ComparePredicate::GT, given.front(), half);
  }
  if (b.rankOf(mask) > b.rankOf(x) || failed(broadcastShapes({b.shapeOf(mask), b.shapeOf(x)})))
    return b.error("the mask of Softmax must broadcast to the input");
  // Keras 2 adds, and has no zeros afterwards.
  if (b.layer.version.isKeras2()) {
    Value away = b.makeSelect(mask, b.makeConstant(0.0), b.makeConstantOr(-1e9, -32752.0));
    return b.makeSoftmax(b.make<AddOp>(x, away), axes);
  }
  Value y = b.makeSoftmax(b.makeSelect(mask, x, b.makeConstantOr(-1e9, -3e4)), axes);
  return b.makeSelect(mask, y, b.makeConstant(0.0));
}

constexpr LayerEntry kActivationLayers[] = {
    {"ELU", importElu, Masking::PassesOn, nullptr, /*onLastAxis=*/true},
    {"LeakyReLU", importLeakyRelu, Masking::PassesOn, nullptr, /*onLastAxis=*/true},
    {"PReLU", importPRelu, Masking::PassesOn},
    {"ReLU", importRelu, Masking::PassesOn, nullptr, /*onLastAxis=*/true},
    {"Softmax", importSoftmax, Masking::PassesOn},
};

} // namespace

llvm::ArrayRef<LayerEntry> activationLayers() { return kActivationLayers; }

} // namespace mpc::keras
