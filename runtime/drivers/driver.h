// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a device must offer to run compiled models. One Driver object belongs to one context; it is
// used by one thread at a time. Every driver passes runtime/cts.
#ifndef MPC_RUNTIME_DRIVERS_DRIVER_H
#define MPC_RUNTIME_DRIVERS_DRIVER_H

#include "mpc-rt/executable.h"
#include "mpc-rt/status.h"
#include "runtime/base/memory.h"

#include <memory>

namespace mpc::rt {

struct DriverOptions {
  unsigned threads = 1; // at least 1
  int isa = 0;          // mpc_rt_isa_t that this CPU has
};

// How an entry treats the variables while it runs.
enum class WeightUse {
  constant, // reads them only: packed copies may be made and kept
  updated,  // may write them: packed copies are dropped at the end of the run
};

class Driver {
public:
  virtual ~Driver() = default;
  virtual const char *name() const noexcept = 0;
  // False for a driver that validates and records but leaves results undefined.
  virtual bool computes() const noexcept = 0;
  virtual unsigned threads() const noexcept = 0;

  // Device memory, zero-filled, 64-byte aligned.
  virtual bool allocate(uint64_t bytes, Buffer &buffer) noexcept = 0;

  // Around each run: sets the floating-point environment of all threads, and gives it back.
  virtual mpc_rt_status_t begin(WeightUse use) = 0;
  virtual void end() noexcept = 0;

  // Contracts of mpc_rt_services_t. Only between begin() and end().
  virtual void parallelFor(mpc_rt_kernel_fn kernel, void *const *arguments, int64_t count,
                           int64_t grain) = 0;
  // `largest` is null for the plain service.
  virtual mpc_rt_status_t contract(const mpc_rt_contract_t &descriptor, const void *lhs,
                                   const void *rhs, const void *bias, void *out, void *largest,
                                   int64_t batch) = 0;
  virtual mpc_rt_status_t convolve(const mpc_rt_convolution_t &descriptor, const void *lhs,
                                   const void *rhs, const void *bias, void *out, int64_t batch) = 0;

  // Variables were written from outside of a run.
  virtual void variablesChanged() noexcept = 0;
  // Bytes held for packed weights, converted operands and scratch.
  virtual uint64_t libraryBytes() const noexcept = 0;
};

std::unique_ptr<Driver> makeCpuDriver(const DriverOptions &options);
std::unique_ptr<Driver> makeNullDriver(const DriverOptions &options);

} // namespace mpc::rt

#endif
