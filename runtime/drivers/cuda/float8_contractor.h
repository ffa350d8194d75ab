// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Products of float8: as they are where the GPU and cuBLASLt multiply them; else as float16, which
// holds the same numbers.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_FLOAT8_CONTRACTOR_H
#define MPC_RUNTIME_DRIVERS_CUDA_FLOAT8_CONTRACTOR_H

#include "runtime/drivers/cuda/contractor.h"
#include "runtime/drivers/cuda/scratch.h"

#include <set>

namespace mpc::rt::cuda {

class Float8Contractor {
public:
  Float8Contractor(DeviceSession &session, KernelTable &kernels, Contractor &contractor,
                   KernelLog &log)
      : session(session), kernels(kernels), contractor(contractor), log(log), scratch(session) {}

  mpc_rt_status_t contract(const mpc_rt_contract_t &descriptor, const void *lhs, const void *rhs,
                           void *out, int64_t batch);
  uint64_t bytes() const { return scratch.size(); }
  // Whether the scratch memory moved since the last call of this: recorded steps have its address.
  bool takeMoved() { return scratch.takeMoved(); }

private:
  // The pieces of ProductKey.
  enum Form { asFloat8, asFloat16 };
  bool hasTensorCores() const { return session.architecture >= 89; }
  mpc_rt_status_t multiplyFloat8(const ProductKey &key, const Contraction &stored,
                                 const Contraction &c, const void *lhs, const void *rhs, void *out,
                                 const char *layer);
  mpc_rt_status_t multiplyFloat16(const ProductKey &key, const Contraction &c, const void *lhs,
                                  const void *rhs, void *out, const char *layer);

  DeviceSession &session;
  KernelTable &kernels;
  Contractor &contractor;
  KernelLog &log;
  Scratch scratch;
  std::set<ProductKey> refused; // by the library
};

} // namespace mpc::rt::cuda

#endif
