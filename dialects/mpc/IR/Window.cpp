// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arithmetic of windows.
#include "dialects/mpc/IR/Window.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mpc;

int64_t mpc::convolvedExtent(int64_t extent, int64_t kernel, int64_t stride, int64_t low,
                             int64_t high, int64_t dilation) {
  int64_t reach = (kernel - 1) * dilation + 1;
  int64_t room = extent + low + high - reach;
  return room < 0 ? 0 : room / stride + 1;
}

int64_t PoolAxis::begin(int64_t output) const {
  if (isAdaptive())
    return output * extent / outputs;
  return std::max<int64_t>(0, output * stride - low);
}

int64_t PoolAxis::end(int64_t output) const {
  if (isAdaptive())
    return llvm::divideCeil((output + 1) * extent, outputs);
  return std::min(extent, output * stride - low + window);
}

int64_t PoolAxis::mostElements() const {
  int64_t most = 0;
  for (int64_t output = 0; output < outputs; ++output)
    most = std::max(most, end(output) - begin(output));
  return most;
}

int64_t PoolAxis::mostWindows() const {
  // Begins and ends never decrease, so the windows of an element are consecutive outputs.
  int64_t most = 0, first = 0, last = 0;
  for (int64_t element = 0; element < extent; ++element) {
    while (first < outputs && end(first) <= element)
      ++first;
    while (last < outputs && begin(last) <= element)
      ++last;
    most = std::max(most, last - first);
  }
  return most;
}

bool PoolAxis::isInside() const {
  return isAdaptive() || (low == 0 && (outputs - 1) * stride + window <= extent);
}

SmallVector<PoolAxis> mpc::poolAxes(RankedTensorType input, RankedTensorType result,
                                    ArrayRef<int64_t> window, ArrayRef<int64_t> strides,
                                    ArrayRef<int64_t> low) {
  SmallVector<PoolAxis> axes;
  for (int64_t d = 1; d + 1 < input.getRank(); ++d) {
    PoolAxis axis{input.getDimSize(d), result.getDimSize(d), 0, 0, 0};
    if (!window.empty()) {
      axis.window = window[d - 1];
      axis.stride = strides[d - 1];
      axis.low = low[d - 1];
    }
    axes.push_back(axis);
  }
  return axes;
}

ResampleTable ResampleTable::transposed(int64_t extent) const {
  SmallVector<SmallVector<std::pair<int64_t, double>, 2>> users(extent);
  for (size_t entry = 0; entry < indices.size(); ++entry)
    if (indices[entry] >= 0)
      users[indices[entry]].push_back({int64_t(entry) / taps, weight(entry)});
  ResampleTable result;
  result.axis = axis;
  for (const auto &list : users)
    result.taps = std::max<int64_t>(result.taps, list.size());
  for (const auto &list : users)
    for (int64_t tap = 0; tap < result.taps; ++tap) {
      bool used = tap < int64_t(list.size());
      result.indices.push_back(used ? list[tap].first : -1);
      if (!weights.empty())
        result.weights.push_back(used ? list[tap].second : 0.0);
    }
  return result;
}
