// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Convolutions and their adjoints into float32 by oneDNN, on channels-last images. Failures are C++
// exceptions.
#ifndef MPC_RUNTIME_DRIVERS_CPU_ONEDNN_ONEDNN_CONVOLUTION_H
#define MPC_RUNTIME_DRIVERS_CPU_ONEDNN_ONEDNN_CONVOLUTION_H

#include "runtime/drivers/convolution.h"
#include "runtime/drivers/cpu/onednn/onednn.h"

namespace mpc::rt::onednn {

// A layout of a filter that a primitive asks for. Shared by all that ask for the same one.
class FilterLayout;

// Keeps one object for each layout.
class FilterLayouts {
public:
  FilterLayouts();
  ~FilterLayouts();

private:
  friend class ConvolutionPrimitive;
  struct Implementation;
  std::unique_ptr<Implementation> implementation;
};

// One convolution for a concrete batch. Images, outputs and bias are dense; images and outputs that
// are operands have the given element type, as has the filter; the bias is float32, and so is what
// is computed, unless `result` says bfloat16: then each sum is rounded once.
class ConvolutionPrimitive {
public:
  // `like`: the same convolution for another batch, whose filter layout this one takes too.
  // `addBias`: by oneDNN itself; forward only. The gradient of a filter is float32.
  ConvolutionPrimitive(const Convolution &shape, int64_t batch, Element element, Element result,
                       bool addBias, FilterLayouts &layouts,
                       const ConvolutionPrimitive *like = nullptr);
  ~ConvolutionPrimitive();
  // False for shapes that oneDNN has no kernel for; the object is then of no use.
  bool isSupported() const;
  // oneDNN's name of the kernel ("jit:avx512_core").
  const char *kernel() const;

  // The filter as run() wants it. Null when it takes the plain one.
  const FilterLayout *filterLayout() const;
  uint64_t filterBytes() const;
  // Packs the plain row-major filter of the element type.
  void packFilter(const void *from, void *to, Buffer &scratch) const;

  // Takes the memory that run() will need.
  void reserveFor(Buffer &scratch, Buffer &filterScratch) const;

  // Operands as mpc_rt_convolution_t orders them; a filter operand is packed. The gradient of a
  // filter comes out plain.
  void run(const void *lhs, const void *rhs, const float *bias, void *out, Buffer &scratch,
           Buffer &filterScratch);

private:
  struct Implementation;
  std::unique_ptr<Implementation> implementation;
};

} // namespace mpc::rt::onednn

#endif
