// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A way to compute contractions. Each is one object in one file: what it takes and why, the memory
// that it needs, and how it computes stand together, so that what is said of a call beforehand is
// what happens.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_CONTRACTION_KERNEL_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_CONTRACTION_KERNEL_H

#include "runtime/drivers/cpu/contract/contraction_call.h"
#include "runtime/drivers/cpu/contract/contraction_memory.h"
#include "runtime/drivers/kernel_reason.h"

namespace mpc::rt {

class BlockedProduct;

class ContractionKernel {
public:
  virtual ~ContractionKernel() = default;

  // The name in choices and in the log of kernels.
  virtual const char *name() const = 0;
  // The same of one call, of kernels that run others.
  virtual const char *nameOf(const ContractionCall & /*call*/) { return name(); }

  // Whether the kernel gets the call right.
  virtual bool computes(const ContractionCall &call) = 0;
  // Whether it is the one to take, of those that follow in the list, if it computes the call.
  virtual Verdict takes(const ContractionCall &call) = 0;

  // Takes the memory that run() will need, and computes nothing.
  virtual void reserve(const ContractionCall &call, ContractionMemory &memory) = 0;
  virtual void run(const ContractionCall &call, ContractionMemory &memory) = 0;

  // --tune measures it against the others of which that is true.
  virtual bool isTuned() const { return false; }
  // It reads weights of which a float32 master is all that there is.
  virtual bool readsMasters() const { return false; }
  // Threads that have rows of their own call this product; null where the kernel has none.
  virtual BlockedProduct *product() { return nullptr; }
  // The memory that the kernel itself keeps.
  virtual uint64_t bytes() const { return 0; }
  virtual void forgetPlans() noexcept {}
};

} // namespace mpc::rt

#endif
