// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `convolve` service on a GPU: cuDNN, where it is there and has an engine; else im2col
// and a product with the filter, in pieces that fit the scratch memory; convolutions with groups or
// of two dtypes by a kernel of their own.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_CONVOLVER_H
#define MPC_RUNTIME_DRIVERS_CUDA_CONVOLVER_H

#include "runtime/drivers/convolution.h"
#include "runtime/drivers/cuda/contractor.h"
#include "runtime/drivers/cuda/graph_convolver.h"
#include "runtime/drivers/kernel_log.h"

#include <map>
#include <utility>

namespace mpc::rt::cuda {

class Convolver {
public:
  Convolver(DeviceSession &session, KernelTable &kernels, Contractor &contractor,
            dnn::SessionHandle &handle, KernelLog &log, bool tf32)
      : session(session), kernels(kernels), contractor(contractor), log(log), scratch(session),
        library(session, kernels, scratch, handle, tf32) {}

  mpc_rt_status_t convolve(const mpc_rt_convolution_t &descriptor, const void *lhs, const void *rhs,
                           const void *bias, void *out, int64_t batch);
  uint64_t bytes() const { return scratch.size(); }
  // Whether the scratch memory moved since the last call of this: recorded steps have its address.
  bool takeMoved() { return scratch.takeMoved(); }

private:
  mpc_rt_status_t directly(const Convolution &c, const void *lhs, const void *rhs, const void *bias,
                           void *out, const char *layer);
  mpc_rt_status_t toPixels(const Convolution &c, uint32_t id, const void *lhs, const void *rhs,
                           const void *bias, void *out, const char *layer);
  mpc_rt_status_t toFilter(const Convolution &c, uint32_t id, const void *lhs, const void *rhs,
                           void *out, const char *layer);
  mpc_rt_status_t byIm2col(const Convolution &c, uint32_t id, const void *lhs, const void *rhs,
                           const void *bias, void *out, const char *layer);
  // Whether im2col is clearly faster than the library, whose kernel for float32 without TF32 may be
  // one for anything that takes ten times as long.
  bool isIm2colFaster(const Convolution &c, uint32_t id, const void *lhs, const void *rhs,
                      const void *bias, void *out, const char *layer);
  mpc_rt_status_t launchIm2col(const Convolution &c, const void *from, uint8_t *to, int64_t first,
                               int64_t rows, int64_t width);

  DeviceSession &session;
  KernelTable &kernels;
  Contractor &contractor;
  KernelLog &log;
  Scratch scratch;
  GraphConvolver library;
  // The keys are the convolution and the batch; there is an entry where both ways were tried.
  std::map<std::pair<uint32_t, int64_t>, bool> im2colIsFaster;
};

} // namespace mpc::rt::cuda

#endif
