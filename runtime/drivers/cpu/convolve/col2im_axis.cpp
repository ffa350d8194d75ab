// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/convolve/col2im_axis.h"

#include <algorithm>
#include <tuple>

namespace mpc::rt {

Col2imAxis col2imAxis(const Convolution &c, size_t d) {
  Col2imAxis axis{c.images[d], c.outputs[d], 1, {}, 0, 0};
  if (c.toImages())
    axis = {c.outputs[d], c.images[d], c.strides[d], {}, 0, 0};
  for (int64_t tap = 0; tap < c.kernel[d]; ++tap)
    axis.offsets.push_back((c.toImages() ? 1 : -1) * (tap * c.dilations[d] - c.low[d]));
  std::tie(axis.least, axis.most) = std::minmax(axis.offsets.front(), axis.offsets.back());
  return axis;
}

} // namespace mpc::rt
