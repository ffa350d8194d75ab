// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/Layers/Spatial.h"

namespace mpc::keras {

using mlir::Value;

std::optional<DataFormat> parseDataFormat(ValueBuilder &b, llvm::StringRef name) {
  if (name == "channels_last")
    return DataFormat::ChannelsLast;
  if (name == "channels_first")
    return DataFormat::ChannelsFirst;
  b.error("'data_format' is '" + name + "'; expected channels_last or channels_first");
  return std::nullopt;
}

std::optional<DataFormat> getDataFormat(LayerBuilder &b) {
  return parseDataFormat(b, b.getString("data_format", "channels_last"));
}

Value getImages(LayerBuilder &b, int64_t spatial, Integers integers) {
  Value x = integers == Integers::Kept ? b.getInput() : b.getFloatInput(integers == Integers::Cast);
  if (x && b.rankOf(x) != spatial + 2)
    return b.error(b.layer.className + " takes an input of " + llvm::Twine(spatial + 2) +
                   " dimensions, not " + llvm::Twine(b.rankOf(x)));
  if (x &&
      llvm::any_of(b.shapeOf(x).drop_front(), [](int64_t e) { return e < 1 || e > kMostSpatial; }))
    return b.error("an input without elements, or too large");
  return x;
}

Value toChannelsLast(ValueBuilder &b, DataFormat format, Value value) {
  if (format == DataFormat::ChannelsLast)
    return value;
  llvm::SmallVector<int64_t> permutation = {0};
  for (int64_t axis = 2; axis < b.rankOf(value); ++axis)
    permutation.push_back(axis);
  permutation.push_back(1);
  return b.make<TransposeOp>(value, permutation);
}

Value fromChannelsLast(ValueBuilder &b, DataFormat format, Value value) {
  if (format == DataFormat::ChannelsLast)
    return value;
  llvm::SmallVector<int64_t> permutation = {0, b.rankOf(value) - 1};
  for (int64_t axis = 1; axis + 1 < b.rankOf(value); ++axis)
    permutation.push_back(axis);
  return b.make<TransposeOp>(value, permutation);
}

Value makePool(ValueBuilder &b, ReduceKind kind, Value x, llvm::ArrayRef<int64_t> window,
               llvm::ArrayRef<int64_t> strides, llvm::StringRef padding) {
  if (padding != "valid" && padding != "same")
    return b.error("'padding' is '" + padding + "'; expected valid or same");
  llvm::SmallVector<int64_t> low(window.size(), 0), high(window.size(), 0);
  for (size_t d = 0; d < window.size(); ++d) {
    const int64_t extent = b.shapeOf(x)[d + 1];
    if (padding == "same")
      std::tie(low[d], high[d]) = samePadding(extent, window[d], strides[d]);
    else if (window[d] > extent)
      return b.error("a window of " + llvm::Twine(window[d]) + " elements does not fit into " +
                     llvm::Twine(extent));
  }
  return b.make<PoolOp>(kind, x, window, strides, low, high);
}

std::optional<llvm::SmallVector<int64_t>>
getNumbers(LayerBuilder &b, llvm::StringRef key, int64_t count, int64_t otherwise, int64_t least) {
  const llvm::json::Value *value = b.layer.config.get(key);
  llvm::SmallVector<int64_t> numbers;
  if (!value || value->kind() == llvm::json::Value::Null)
    numbers.assign(count, otherwise);
  else if (std::optional<int64_t> integer = value->getAsInteger())
    numbers.assign(count, *integer);
  else if (const llvm::json::Array *array = value->getAsArray();
           array && int64_t(array->size()) == count)
    for (const llvm::json::Value &item : *array)
      numbers.push_back(item.getAsInteger().value_or(least - 1));
  bool valid = int64_t(numbers.size()) == count && llvm::all_of(numbers, [&](int64_t number) {
                 return number >= least && number <= kMostSpatial;
               });
  if (valid)
    return numbers;
  b.error("'" + key + "' of " + b.layer.className + " must be " + llvm::Twine(count) +
          " integers of at least " + llvm::Twine(least));
  return std::nullopt;
}

std::pair<int64_t, int64_t> samePadding(int64_t extent, int64_t reach, int64_t stride) {
  const int64_t places = (extent + stride - 1) / stride;
  const int64_t total = std::max<int64_t>((places - 1) * stride + reach - extent, 0);
  return {total / 2, total - total / 2};
}

std::optional<TransposedExtent> transposeExtent(ValueBuilder &b, int64_t extent, KernelAxis kernel,
                                                llvm::StringRef padding,
                                                std::optional<int64_t> outputPadding) {
  auto fail = [&](const llvm::Twine &message) {
    b.error(message);
    return std::nullopt;
  };
  if (padding != "same" && padding != "valid")
    return fail("'padding' is '" + padding + "'; expected valid or same");
  if (outputPadding && *outputPadding >= kernel.stride)
    return fail("'output_padding' must be smaller than 'strides'");
  int64_t moved, spread;
  if (__builtin_mul_overflow(extent - 1, kernel.stride, &moved) || moved > kMostSpatial ||
      __builtin_mul_overflow(kernel.extent - 1, kernel.dilation, &spread) || spread > kMostSpatial)
    return fail("the result is too large");
  const int64_t reach = spread + 1;
  TransposedExtent result;
  if (padding == "valid") {
    result.extent =
        moved + (outputPadding ? reach + *outputPadding : std::max<int64_t>(reach, kernel.stride));
  } else {
    result.extent = moved + (outputPadding ? reach % 2 + *outputPadding : kernel.stride);
    const int64_t total = std::max<int64_t>(moved + reach - result.extent, 0);
    result.low = total / 2;
    result.high = total - result.low;
  }
  // TensorFlow checks the same: the convolution of the result must have the input's extent.
  if (result.extent < 1 || convolvedExtent(result.extent, kernel.extent, kernel.stride, result.low,
                                           result.high, kernel.dilation) != extent)
    return fail("'output_padding' " + llvm::Twine(outputPadding.value_or(0)) +
                " gives an extent of " + llvm::Twine(result.extent) +
                ", which no convolution takes back to " + llvm::Twine(extent));
  return result;
}

} // namespace mpc::keras
