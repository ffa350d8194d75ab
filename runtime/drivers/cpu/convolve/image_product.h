// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions and the gradients of their inputs by a micro-kernel, on channels-last images: a
// packed filter by the rows of channels, which are read where they lie.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_IMAGE_PRODUCT_H
#define MPC_RUNTIME_DRIVERS_CPU_CONVOLVE_IMAGE_PRODUCT_H

#include "runtime/drivers/convolution.h"
#include "runtime/drivers/cpu/convolve/convolution_result.h"

namespace mpc::rt {

// k of a tap.
inline int64_t depthOf(const Convolution &c) { return c.toImages() ? c.filters : c.channels; }

class ImageProduct {
public:
  virtual ~ImageProduct() = default;
  // The same for products that pack a filter alike, in one direction.
  virtual const void *filterLayout() const = 0;
  virtual uint64_t filterBytes() const = 0;
  // Packs the plain filter, of the dtype in the shape, for run().
  virtual void packFilter(const void *filter, void *to) const = 0;
  // `lhs`: dense, of the dtype that the kernel reads; `samples` of the batch.
  virtual void run(const void *lhs, const void *packedFilter, const float *bias,
                   const ConvolutionResult &result, int64_t samples) = 0;
  // Takes the memory that run() needs for parts of a result that has none. False: it cannot do
  // without.
  virtual bool reserveParts() { return false; }
  // The memory that it keeps for run().
  virtual uint64_t bytes() const = 0;
};

} // namespace mpc::rt

#endif
