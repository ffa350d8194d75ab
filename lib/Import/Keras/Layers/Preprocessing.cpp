// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/preprocessing: Rescaling.
#include "../LayerRegistry.h"

namespace mpc::keras {
namespace {

using mlir::Value;

/// A number, or a list of numbers along the last axis (also as a serialised array); null after an
/// error.
Value getFactor(LayerBuilder &b, llvm::StringRef key, double otherwise, int64_t lastExtent) {
  const llvm::json::Value *value = b.layer.config.get(key);
  if (const llvm::json::Object *object = value ? value->getAsObject() : nullptr) {
    const llvm::json::Object *config = object->getObject("config");
    value = config ? config->get("value") : nullptr;
    if (!value)
      return b.error("'" + key + "' is neither a number nor an array");
  }
  const llvm::json::Array *array = value ? value->getAsArray() : nullptr;
  if (!array) {
    if (value && value->getAsNumber())
      return b.makeConstant(*value->getAsNumber());
    return value ? b.error("'" + key + "' is neither a number nor an array")
                 : b.makeConstant(otherwise);
  }
  llvm::SmallVector<double> numbers;
  for (const llvm::json::Value &item : *array) {
    if (!item.getAsNumber())
      return b.error("'" + key + "' must be a number or a list of numbers");
    numbers.push_back(*item.getAsNumber());
  }
  if (int64_t(numbers.size()) != lastExtent && numbers.size() != 1)
    return b.error("'" + key + "' has " + llvm::Twine(numbers.size()) +
                   " elements for a last axis of " + llvm::Twine(lastExtent));
  return b.makeConstant({int64_t(numbers.size())}, numbers);
}

/// x * scale + offset; integer inputs become the compute dtype first.
Value importRescaling(LayerBuilder &b) {
  b.setCastsIntegers();
  Value x = b.getFloatInput(/*castIntegers=*/true);
  if (!x)
    return {};
  const int64_t last = b.rankOf(x) > 1 ? b.shapeOf(x).back() : 1;
  Value scale = getFactor(b, "scale", 1.0, last);
  Value offset = getFactor(b, "offset", 0.0, last);
  if (!scale || !offset)
    return {};
  return b.make<AddOp>(b.make<MultiplyOp>(x, scale), offset);
}

constexpr LayerEntry kLayers[] = {
    {"Rescaling", importRescaling, Masking::PassesOn, nullptr, /*onLastAxis=*/true}};

} // namespace

llvm::ArrayRef<LayerEntry> preprocessingLayers() { return kLayers; }

} // namespace mpc::keras
