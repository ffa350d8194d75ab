// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Ops/Windows.h"

namespace mpc::onnx {

using mlir::Value;

int64_t Window::places(size_t d, int64_t extent) const {
  const int64_t room = extent + low[d] + high[d] - reach(d);
  if (room < 0)
    return 0;
  if (!rounds)
    return room / strides[d] + 1;
  const int64_t count = (room + strides[d] - 1) / strides[d] + 1;
  // A window that would begin behind the input, in its padding, is none.
  return (count - 1) * strides[d] >= extent + low[d] ? count - 1 : count;
}

bool readNumbers(NodeBuilder &b, llvm::StringRef name, size_t count, int64_t otherwise,
                 int64_t least, llvm::SmallVectorImpl<int64_t> &numbers) {
  numbers = b.attributes.getIntegers(name);
  if (!b.attributes.has(name))
    numbers.assign(count, otherwise);
  if (numbers.size() == count && llvm::all_of(numbers, [&](int64_t number) {
        return number >= least && number <= kMostSpatial;
      }))
    return true;
  b.error("'" + name + "' must be " + llvm::Twine(count) + " numbers of at least " +
          llvm::Twine(least));
  return false;
}

std::optional<Window> Window::read(NodeBuilder &b, llvm::ArrayRef<int64_t> extents,
                                   llvm::ArrayRef<int64_t> kernel) {
  Window window;
  const size_t rank = extents.size();
  if (llvm::any_of(extents, [](int64_t e) { return e < 1 || e > kMostSpatial; })) {
    b.error("takes [batch, channels, spatial...] with known spatial extents");
    return std::nullopt;
  }
  if (b.attributes.has("kernel_shape") || kernel.empty()) {
    if (!readNumbers(b, "kernel_shape", rank, 0, 1, window.kernel))
      return std::nullopt;
    if (!kernel.empty() && llvm::ArrayRef<int64_t>(window.kernel) != kernel) {
      b.error("'kernel_shape' is not the shape of the weights");
      return std::nullopt;
    }
  } else {
    window.kernel.assign(kernel.begin(), kernel.end());
  }
  llvm::SmallVector<int64_t> pads;
  if (!readNumbers(b, "strides", rank, 1, 1, window.strides) ||
      !readNumbers(b, "dilations", rank, 1, 1, window.dilations) ||
      !readNumbers(b, "pads", 2 * rank, 0, -kMostSpatial, pads))
    return std::nullopt;
  window.low.assign(pads.begin(), pads.begin() + rank);
  window.high.assign(pads.begin() + rank, pads.end());
  window.rounds = b.attributes.getFlag("ceil_mode");
  for (size_t d = 0; d < rank; ++d)
    if (window.kernel[d] > kMostSpatial / window.dilations[d]) {
      b.error("the window is too large");
      return std::nullopt;
    }
  const llvm::StringRef automatic = b.attributes.getText("auto_pad", "NOTSET");
  if (automatic == "NOTSET" || automatic.empty())
    return window;
  if (automatic != "VALID" && automatic != "SAME_UPPER" && automatic != "SAME_LOWER") {
    b.error("'auto_pad' is '" + automatic + "'");
    return std::nullopt;
  }
  for (size_t d = 0; d < rank; ++d) {
    const int64_t count = (extents[d] + window.strides[d] - 1) / window.strides[d];
    const int64_t total =
        automatic == "VALID"
            ? 0
            : std::max<int64_t>((count - 1) * window.strides[d] + window.reach(d) - extents[d], 0);
    const int64_t smaller = total / 2;
    window.low[d] = automatic == "SAME_LOWER" ? total - smaller : smaller;
    window.high[d] = total - window.low[d];
  }
  window.rounds = false;
  return window;
}

Value toChannelsLast(NodeBuilder &b, Value x) {
  llvm::SmallVector<int64_t> order{0};
  for (int64_t axis = 2; axis < b.rankOf(x); ++axis)
    order.push_back(axis);
  order.push_back(1);
  return b.make<TransposeOp>(x, order);
}

Value fromChannelsLast(NodeBuilder &b, Value x) {
  llvm::SmallVector<int64_t> order{0, b.rankOf(x) - 1};
  for (int64_t axis = 1; axis + 1 < b.rankOf(x); ++axis)
    order.push_back(axis);
  return b.make<TransposeOp>(x, order);
}

} // namespace mpc::onnx
