// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which elements of an image each element of a convolution's result meets, one dimension at a time.
// Taps are the elements of a kernel.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_WINDOWS_H
#define MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_WINDOWS_H

#include "runtime/drivers/convolution.h"

#include <vector>

namespace mpc::rt {

// Pixels of the result that meet the same taps: never those in padding, so that an infinite weight
// there leaves no NaN. One pixel's first tap meets `sources`, and the others lie as far from it as
// `distances` say, for all pixels alike.
struct WindowClass {
  std::vector<int64_t> pixels, sources;
  std::vector<int64_t> taps, distances;
};

// Every pixel along dimension `d` in one class: of outputs that meet images, or, of an input's
// gradient, of images that meet outputs.
std::vector<WindowClass> windowClasses(const Convolution &shape, size_t d);

// The outputs [first, first + count) whose window has the tap inside the image.
struct TapRange {
  int64_t first = 0, count = 0;
  bool operator==(const TapRange &other) const {
    return first == other.first && count == other.count;
  }
};
TapRange outputsOfTap(const Convolution &shape, size_t d, int64_t tap);

// The pixel of the image that the tap meets for that output; outside of the image for those in
// padding.
inline int64_t imageOf(const Convolution &shape, size_t d, int64_t output, int64_t tap) {
  return output * shape.strides[d] - shape.low[d] + tap * shape.dilations[d];
}

} // namespace mpc::rt

#endif
