// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/preprocessing: Normalization, Rescaling.
#include "lib/Import/Common/BatchAxis.h"
#include "lib/Import/Keras/ArrayLiteral.h"
#include "lib/Import/Keras/LayerRegistry.h"
#include "llvm/ADT/StringExtras.h"

namespace mpc::keras {
namespace {

using mlir::Value;

/// A number or a nested list of numbers (also as a serialised array), rounded to float32 as
/// TensorFlow does with Python's numbers before any other dtype. Null after an error.
mlir::DenseElementsAttr getArray(LayerBuilder &b, llvm::StringRef key) {
  const llvm::json::Value *value = b.layer.config.get(key);
  if (const llvm::json::Object *object = value ? value->getAsObject() : nullptr) {
    const llvm::json::Object *config = object->getObject("config");
    value = config ? config->get("value") : nullptr;
  }
  mlir::DenseElementsAttr array;
  if (value)
    array = readArray(*value, b.builder.getF32Type());
  if (!array || array.empty())
    b.error("'" + key + "' of " + b.layer.className + " must be a number or an array of numbers");
  return array && !array.empty() ? array : mlir::DenseElementsAttr();
}

/// The array's numbers as a constant of another shape.
Value makeConstantOf(LayerBuilder &b, mlir::DenseElementsAttr array,
                     llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<double> numbers;
  for (const llvm::APFloat &number : array.getValues<llvm::APFloat>())
    numbers.push_back(number.convertToDouble());
  return shape.empty() ? b.makeConstant(numbers.front()) : b.makeConstant(shape, numbers);
}

std::string joinExtents(llvm::ArrayRef<int64_t> extents) {
  return llvm::join(llvm::map_range(extents, [](int64_t extent) { return std::to_string(extent); }),
                    ", ");
}

/// Whether NumPy's broadcasting brings `from` to `to`.
bool broadcastsTo(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to) {
  auto shape = broadcastShapes({from, to});
  return succeeded(shape) && llvm::ArrayRef<int64_t>(*shape) == to;
}

/// `scale` or `offset`, which broadcasts to a sample; null after an error.
Value getFactor(LayerBuilder &b, llvm::StringRef key, double otherwise, Value x) {
  if (!b.layer.config.get(key))
    return b.makeConstant(otherwise);
  mlir::DenseElementsAttr array = getArray(b, key);
  if (!array)
    return {};
  llvm::SmallVector<int64_t> sample(b.shapeOf(x));
  sample.front() = 1;
  if (!broadcastsTo(array.getType().getShape(), sample))
    return b.error("'" + key + "' has the shape [" + joinExtents(array.getType().getShape()) +
                   "], which does not broadcast to [" + joinExtents(b.shapeOf(x).drop_front()) +
                   "]");
  return makeConstantOf(b, array, array.getType().getShape());
}

/// x * scale + offset; integer inputs become the compute dtype first.
Value importRescaling(LayerBuilder &b) {
  b.precision().autocast = PrecisionWishes::Autocast::CastsIntegers;
  Value x = b.getFloatInput(/*castIntegers=*/true);
  if (!x)
    return {};
  Value scale = getFactor(b, "scale", 1.0, x);
  Value offset = getFactor(b, "offset", 0.0, x);
  if (!scale || !offset)
    return {};
  return b.make<AddOp>(b.make<MultiplyOp>(x, scale), offset);
}

/// `mean` and `variance` that the constructor got: numbers, or arrays whose dimensions are the last
/// ones of the kept axes, or 1. Null after an error.
std::pair<Value, Value> getStatistics(LayerBuilder &b, llvm::ArrayRef<int64_t> kept,
                                      llvm::ArrayRef<int64_t> broadcast) {
  mlir::DenseElementsAttr mean = getArray(b, "mean"), variance = getArray(b, "variance");
  if (!mean || !variance)
    return {};
  llvm::ArrayRef<int64_t> shape = mean.getType().getShape();
  llvm::SmallVector<int64_t> keptExtents, expanded(shape.empty() ? 0 : broadcast.size(), 1);
  for (int64_t axis : kept)
    keptExtents.push_back(broadcast[axis]);
  if (!broadcastsTo(shape, keptExtents) || variance.getNumElements() != mean.getNumElements()) {
    b.error("'mean' and 'variance' of Normalization have the shapes [" + joinExtents(shape) +
            "] and [" + joinExtents(variance.getType().getShape()) +
            "]; expected ones that broadcast to the axes in 'axis', [" + joinExtents(keptExtents) +
            "]");
    return {};
  }
  for (size_t i = 1; i <= shape.size(); ++i)
    expanded[kept[kept.size() - i]] = shape[shape.size() - i];
  return {makeConstantOf(b, mean, expanded), makeConstantOf(b, variance, expanded)};
}

/// (x - mean) / max(sqrt(variance), 1e-7), all in the compute dtype; `invert` goes back.
Value importNormalization(LayerBuilder &b) {
  b.precision().autocast = PrecisionWishes::Autocast::CastsIntegers;
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
    kept.push_back(resolveAxis(b, axis, x).value_or(0));
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
    std::tie(mean, variance) = getStatistics(b, kept, broadcast);
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
