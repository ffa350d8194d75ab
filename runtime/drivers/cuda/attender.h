// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The service `attend` on a GPU: cuDNN, where it is there and has an engine;
// else products by cuBLASLt with kernels of the artifact between them.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_ATTENDER_H
#define MPC_RUNTIME_DRIVERS_CUDA_ATTENDER_H

#include "runtime/drivers/attention.h"
#include "runtime/drivers/cuda/contractor.h"
#include "runtime/drivers/cuda/graph_attender.h"
#include "runtime/drivers/cuda/library_kernels.h"
#include "runtime/drivers/kernel_log.h"

namespace mpc::rt::cuda {

class Attender {
public:
  Attender(DeviceSession &session, KernelTable &kernels, Contractor &contractor,
           dnn::SessionHandle &handle, KernelLog &log)
      : kernels(kernels), contractor(contractor), log(log), scratch(session),
        library(scratch, handle) {}

  mpc_rt_status_t attend(const mpc_rt_attention_t &descriptor, const mpc_rt_attend_call_t &call);
  uint64_t bytes() const { return scratch.size(); }
  // Whether the scratch memory moved since the last call of this: recorded steps have its address.
  bool takeMoved() { return scratch.takeMoved(); }

private:
  // Some of the samples of an attention, with its names in plans and messages.
  struct Call {
    Attention shape;
    uint32_t id;
    const char *layer;
  };
  // The products of a head: operands and results by their numbers below.
  enum Product {
    scoresOf,
    valuesOf,
    valueGradientOf,
    weightGradientOf,
    queryGradientOf,
    keyGradientOf
  };

  // All samples, or their derivatives, by the library or by products. `engine` receives which.
  mpc_rt_status_t run(const Call &call, const AttentionOperands &operands, std::string &engine);
  mpc_rt_status_t run(const Call &call, const AttentionGradientOperands &operands,
                      std::string &engine);
  mpc_rt_status_t byProducts(const Call &call, const AttentionOperands &operands);
  mpc_rt_status_t byProducts(const Call &call, const AttentionGradientOperands &operands);
  mpc_rt_status_t multiply(const Call &call, Product product, const void *lhs, const void *rhs,
                           void *out);
  mpc_rt_status_t exchange(const Attention &a, Exchange &parts);
  mpc_rt_status_t launch(const char *kernel, const Attention &a, void **parameters, int64_t count);

  KernelTable &kernels;
  Contractor &contractor;
  KernelLog &log;
  Scratch scratch;
  GraphAttender library;
};

} // namespace mpc::rt::cuda

#endif
