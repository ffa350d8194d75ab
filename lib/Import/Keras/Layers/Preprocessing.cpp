// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/preprocessing: Normalization, Rescaling.
#include "../LayerRegistry.h"

namespace mpc::keras {
namespace {

using mlir::Value;

/// A number, or a list of numbers along the last axis (also as a serialised array), rounded to
/// float32 as TensorFlow does with Python's numbers before any other dtype; null after an error.
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
      return b.makeConstant(double(float(*value->getAsNumber())));
    return value ? b.error("'" + key + "' is neither a number nor an array")
                 : b.makeConstant(otherwise);
  }
  llvm::SmallVector<double> numbers;
  for (const llvm::json::Value &item : *array) {
    if (!item.getAsNumber())
      return b.error("'" + key + "' must be a number or a list of numbers");
    numbers.push_back(double(float(*item.getAsNumber())));
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

/// Appends the numbers of a nested list (or one number) in row-major order; false for anything
/// else.
bool flattenNumbers(const llvm::json::Value &value, llvm::SmallVectorImpl<double> &numbers) {
  if (std::optional<double> number = value.getAsNumber()) {
    numbers.push_back(*number);
    return true;
  }
  const llvm::json::Array *array = value.getAsArray();
  return array && llvm::all_of(*array, [&](const llvm::json::Value &item) {
           return flattenNumbers(item, numbers);
         });
}

/// `mean` or `variance` that the constructor got; its last dimensions are those of the kept axes.
Value getStatistic(LayerBuilder &b, llvm::StringRef key, llvm::ArrayRef<int64_t> kept,
                   llvm::ArrayRef<int64_t> broadcast) {
  const llvm::json::Value *value = b.layer.config.get(key);
  if (const llvm::json::Object *object = value ? value->getAsObject() : nullptr) {
    const llvm::json::Object *config = object->getObject("config");
    value = config ? config->get("value") : nullptr;
  }
  llvm::SmallVector<double> numbers;
  if (!value || !flattenNumbers(*value, numbers) || numbers.empty())
    return b.error("'" + key + "' of Normalization must be a number or an array of numbers");
  if (numbers.size() == 1)
    return b.makeConstant(numbers.front());
  int64_t count = 1;
  llvm::SmallVector<int64_t> shape(broadcast.size(), 1);
  for (int64_t axis : llvm::reverse(kept)) {
    if (count == int64_t(numbers.size()))
      break;
    shape[axis] = broadcast[axis];
    count *= broadcast[axis];
  }
  if (count != int64_t(numbers.size()))
    return b.error("'" + key + "' of Normalization has " + llvm::Twine(numbers.size()) +
                   " elements, which are not those of the axes in 'axis'");
  return b.makeConstant(shape, numbers);
}

/// (x - mean) / max(sqrt(variance), 1e-7), all in the compute dtype; `invert` goes back.
Value importNormalization(LayerBuilder &b) {
  b.setCastsIntegers();
  Value x = b.getFloatInput(/*castIntegers=*/true);
  if (!x)
    return {};
  llvm::SmallVector<int64_t> written, kept;
  const llvm::json::Value *config = b.layer.config.get("axis");
  if (config && config->getAsInteger())
    written.push_back(*config->getAsInteger());
  else if (config)
    written = b.getIntegers("axis", 0).value_or(llvm::SmallVector<int64_t>());
  else
    written.push_back(-1);
  for (int64_t axis : written)
    kept.push_back(b.resolveAxis(axis, x).value_or(0));
  llvm::sort(kept);
  if (b.hasFailed())
    return {};
  llvm::SmallVector<int64_t> shape, broadcast(b.rankOf(x), 1);
  for (int64_t axis : kept) {
    shape.push_back(b.shapeOf(x)[axis]);
    broadcast[axis] = shape.back();
  }
  Value mean, variance;
  const llvm::json::Value *given = b.layer.config.get("mean");
  if (given && given->kind() != llvm::json::Value::Null) {
    mean = getStatistic(b, "mean", kept, broadcast);
    variance = getStatistic(b, "variance", kept, broadcast);
  } else {
    auto add = [&](llvm::StringRef name, llvm::StringRef initializer) -> Value {
      VariableRequest request{name, shape, "", "", ""};
      request.defaultInitializer = initializer;
      request.trainable = false;
      Value variable = b.addVariable(request);
      return variable ? b.makeReshape(variable, broadcast) : Value();
    };
    mean = add("mean", "zeros");
    variance = add("variance", "ones");
    // How many values adapt() has seen; nothing reads it.
    VariableRequest count{"count", {}, "", "", ""};
    count.counter = true;
    count.trainable = false;
    if (!b.addVariable(count))
      return {};
  }
  if (!mean || !variance)
    return {};
  Value deviation = b.make<MaximumOp>(b.make<SqrtOp>(variance), b.makeConstant(1e-7));
  if (b.getFlag("invert", false))
    return b.make<AddOp>(mean, b.make<MultiplyOp>(x, deviation));
  return b.make<DivideOp>(b.make<SubtractOp>(x, mean), deviation);
}

constexpr LayerEntry kPreprocessingLayers[] = {
    {"Normalization", importNormalization, Masking::PassesOn},
    {"Rescaling", importRescaling, Masking::PassesOn, nullptr, /*onLastAxis=*/true},
};

} // namespace

llvm::ArrayRef<LayerEntry> preprocessingLayers() { return kPreprocessingLayers; }

} // namespace mpc::keras
