// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution descriptor for one batch, checked.
#ifndef MPC_RUNTIME_DRIVERS_CONVOLUTION_H
#define MPC_RUNTIME_DRIVERS_CONVOLUTION_H

#include "mpc-rt/executable.h"
#include "mpc-rt/status.h"

#include <array>
#include <tuple>

namespace mpc::rt {

struct Convolution {
  using Extents = std::array<int64_t, MPC_RT_MAX_SPATIAL>;

  mpc_rt_convolution_direction_t direction = MPC_RT_CONVOLUTION_FORWARD;
  mpc_rt_dtype_t lhs = 0, rhs = 0, out = 0, bias = 0;
  bool relu = false, hasBias = false;
  int8_t border = 0; // of int8 images: what is outside of them
  int64_t batch = 0, groups = 1, channels = 0, filters = 0;
  // Missing leading dimensions have extent 1 and do not move, so that loops need one form only.
  uint32_t spatial = 0;
  Extents images{}, kernel{}, outputs{}, strides{}, dilations{}, low{}, high{};

  bool operator==(const Convolution &other) const {
    auto fields = [](const Convolution &c) {
      return std::tie(c.direction, c.lhs, c.rhs, c.out, c.bias, c.relu, c.hasBias, c.border,
                      c.batch, c.groups, c.channels, c.filters, c.spatial, c.images, c.kernel,
                      c.outputs, c.strides, c.dilations, c.low, c.high);
    };
    return fields(*this) == fields(other);
  }

  bool toImages() const { return direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT; }
  bool isInteger() const { return lhs == MPC_RT_INT8; }
  static int64_t product(const Extents &extents) { return extents[0] * extents[1] * extents[2]; }
  // Elements of one sample, and of the filter.
  int64_t imageElements() const { return product(images) * channels; }
  int64_t outputElements() const { return product(outputs) * filters; }
  int64_t filterElements() const { return product(kernel) * (channels / groups) * filters; }
  // Multiplications and additions.
  double operations() const {
    return 2.0 * static_cast<double>(batch * product(outputs)) *
           static_cast<double>(filterElements());
  }
  int64_t lhsElements() const {
    return batch *
           (direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT ? outputElements() : imageElements());
  }
  int64_t rhsElements() const {
    return direction == MPC_RT_CONVOLUTION_FILTER_GRADIENT ? batch * outputElements()
                                                           : filterElements();
  }
  int64_t outElements() const {
    switch (direction) {
    case MPC_RT_CONVOLUTION_FORWARD:
      return batch * outputElements();
    case MPC_RT_CONVOLUTION_INPUT_GRADIENT:
      return batch * imageElements();
    default:
      return filterElements();
    }
  }
  // The last dimension of out, along which bias goes.
  int64_t outColumns() const {
    return direction == MPC_RT_CONVOLUTION_INPUT_GRADIENT ? channels : filters;
  }
};

// An error status, naming the layer, for a call that no driver could run: unknown dtypes or
// directions, extents that overflow or disagree, missing operands, kernels with too many arguments.
mpc_rt_status_t resolveConvolution(const mpc_rt_convolution_t &descriptor,
                                   const mpc_rt_convolve_call_t &call,
                                   Convolution &result) noexcept;
mpc_rt_status_t resolveConvolution(const mpc_rt_convolution_t &descriptor, const void *lhs,
                                   const void *rhs, const void *bias, const void *out,
                                   int64_t batch, Convolution &result) noexcept;

inline mpc_rt_convolve_call_t convolveCall(const void *lhs, const void *rhs, const void *bias,
                                           void *out, int64_t batch) {
  return {sizeof(mpc_rt_convolve_call_t), 0, batch, lhs, rhs, bias, out, nullptr, 0};
}

} // namespace mpc::rt

#endif
