// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/reshaping: Flatten, Reshape, Permute. They move data and keep integers.
#include "lib/Import/Keras/LayerRegistry.h"

#include <limits>

namespace mpc::keras {
namespace {

using mlir::Value;

/// Product of the extents; they come from a file, so overflow is possible.
std::optional<int64_t> product(llvm::ArrayRef<int64_t> extents) {
  int64_t result = 1;
  for (int64_t extent : extents)
    if (__builtin_mul_overflow(result, extent, &result))
      return std::nullopt;
  return result;
}

Value importFlatten(LayerBuilder &b) {
  Value x = b.getInput();
  if (!x)
    return {};
  const int64_t rank = b.rankOf(x);
  if (b.getString("data_format", "channels_last") == "channels_first" && rank > 2) {
    llvm::SmallVector<int64_t> permutation = {0};
    for (int64_t axis = 2; axis < rank; ++axis)
      permutation.push_back(axis);
    permutation.push_back(1);
    x = b.make<TransposeOp>(x, permutation);
  }
  std::optional<int64_t> size = product(b.shapeOf(x).drop_front());
  if (!size)
    return b.error("the flattened size overflows 64 bits");
  return b.makeReshape(x, {b.shapeOf(x).front(), *size});
}

Value importReshape(LayerBuilder &b) {
  Value x = b.getInput();
  std::optional<llvm::SmallVector<int64_t>> target = b.getIntegers("target_shape", -1);
  if (!x)
    return {};
  if (!target)
    return b.error("'target_shape' of Reshape is missing; expected a list of integers");
  std::optional<int64_t> size = product(b.shapeOf(x).drop_front());
  llvm::SmallVector<int64_t> known;
  for (int64_t extent : *target)
    if (extent != -1)
      known.push_back(extent);
  std::optional<int64_t> rest = product(known);
  const size_t unknown = target->size() - known.size();
  if (!size || !rest || unknown > 1 || llvm::any_of(known, [](int64_t e) { return e < 0; }))
    return b.error("'target_shape' of Reshape must hold extents and at most one -1");
  if (unknown ? (*rest == 0 || *size % *rest != 0) : *rest != *size)
    return b.error("'target_shape' of Reshape does not hold the " + llvm::Twine(*size) +
                   " elements of a sample");
  llvm::SmallVector<int64_t> shape = {b.shapeOf(x).front()};
  for (int64_t extent : *target)
    shape.push_back(extent == -1 ? *size / *rest : extent);
  return b.makeReshape(x, shape);
}

Value importPermute(LayerBuilder &b) {
  Value x = b.getInput();
  std::optional<llvm::SmallVector<int64_t>> dims = b.getIntegers("dims", 0);
  if (!x)
    return {};
  llvm::SmallVector<int64_t> sorted = dims.value_or(llvm::SmallVector<int64_t>());
  llvm::sort(sorted);
  bool valid = int64_t(sorted.size()) == b.rankOf(x) - 1;
  for (size_t index = 0; index < sorted.size(); ++index)
    valid &= sorted[index] == int64_t(index) + 1;
  if (!valid)
    return b.error("'dims' of Permute must hold each axis from 1 to " +
                   llvm::Twine(b.rankOf(x) - 1) + " once");
  llvm::SmallVector<int64_t> permutation = {0};
  permutation.append(*dims);
  return b.make<TransposeOp>(x, permutation);
}

constexpr LayerEntry kReshapingLayers[] = {
    {"Flatten", importFlatten},
    {"Permute", importPermute},
    {"Reshape", importReshape},
};

} // namespace

llvm::ArrayRef<LayerEntry> reshapingLayers() { return kReshapingLayers; }

} // namespace mpc::keras
