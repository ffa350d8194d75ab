// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface of a device that runs compiled models. One Driver object belongs to one context; it
// is used by one thread at a time. Every driver passes runtime/cts.
#ifndef MPC_RUNTIME_DRIVERS_DRIVER_H
#define MPC_RUNTIME_DRIVERS_DRIVER_H

#include "mpc-rt/cuda.h"
#include "mpc-rt/executable.h"
#include "mpc-rt/status.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/drivers/attention.h"
#include "runtime/drivers/contraction.h"
#include "runtime/drivers/convolution.h"
#include "runtime/drivers/device_memory.h"
#include "runtime/drivers/kernel_selection.h"
#include "runtime/drivers/row_loop.h"

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

  // Around each run: sets the floating-point environment of all threads, and gives it back.
  virtual mpc_rt_status_t begin(WeightUse use) = 0;
  virtual void end() noexcept = 0;

  // Where code works on memory of the device, run() brings what a call needs there and back.
  virtual DeviceMemory &deviceMemory() noexcept { return sharedMemory; }
  bool ownsMemory() noexcept { return deviceMemory().isApart(); }
  // Runs an entry; between begin() and end(). The pointers in `call` are the host's, but for the
  // tensors `onDevice` (null: none), which only drivers that own memory are given.
  virtual mpc_rt_status_t run(const mpc_rt_entry_info_t &entry, const mpc_rt_call_t &call,
                              uint32_t /*variableCount*/, uint64_t /*arenaBytes*/,
                              const DeviceTensors * /*onDevice*/) {
    return entry.fn(&call);
  }
  // Contracts of mpc_rt_services_t. Only between begin() and end().
  virtual void parallelFor(mpc_rt_kernel_fn kernel, void *const *arguments, int64_t count,
                           int64_t grain) = 0;
  // The default runs one after the other.
  virtual void parallelForAll(const mpc_rt_launch_t *launches, uint32_t count);
  // Calls multiply() where the driver takes all parts of the call together; otherwise the product,
  // and what is beside it, are computed one after the other.
  mpc_rt_status_t contract(const mpc_rt_contract_t &descriptor, const mpc_rt_contract_call_t &call);
  // The same with a 16-bit rhs that is still to be rounded from the float32 numbers that the call
  // has for it. `done`: 0 when the driver wants the rounded copy; nothing has happened then.
  virtual mpc_rt_status_t contractMaster(const mpc_rt_contract_t & /*descriptor*/,
                                         const mpc_rt_contract_call_t & /*call*/, bool &done) {
    done = false;
    return MPC_RT_OK;
  }
  // A loop over time whose rows are independent. Here: all rows at once, by the functions above.
  virtual mpc_rt_status_t runRows(const RowLoop &loop);
  // Called by the body of the loop that runs.
  virtual void launchRows(mpc_rt_kernel_fn kernel, void *const *arguments, int64_t begin,
                          int64_t end, int64_t grain);
  virtual mpc_rt_status_t contractRows(uint32_t product, const void *lhs, void *out, int64_t begin,
                                       int64_t end);
  virtual mpc_rt_status_t convolve(const mpc_rt_convolution_t &descriptor,
                                   const mpc_rt_convolve_call_t &call) = 0;
  // The default is loops on memory of the host.
  virtual mpc_rt_status_t attend(const mpc_rt_attention_t &descriptor,
                                 const mpc_rt_attend_call_t &call);

  // The default fills the memory in every call.
  virtual mpc_rt_status_t prepare(const mpc_rt_call_t &call, mpc_rt_prepare_fn fill, uint64_t bytes,
                                  void *&memory);

  virtual KernelSelection &kernels() noexcept = 0;

  // Until the next call, runs take the memory that they need and compute nothing. False where that
  // is known after a run only.
  virtual bool setReserving(bool /*reserves*/) noexcept { return false; }

  // Variables were written from outside of a run.
  virtual void variablesChanged() noexcept = 0;
  // Bytes held for packed weights, converted operands and scratch.
  virtual uint64_t libraryBytes() const noexcept = 0;

protected:
  // A checked contraction with all parts that `call` has.
  virtual mpc_rt_status_t multiply(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                                   const mpc_rt_contract_call_t &call) = 0;
  // Whether multiply() does these parts together. A driver that owns its memory takes all, or
  // refuses.
  virtual bool takes(const Contraction &shape, const mpc_rt_contract_call_t &call) const = 0;

  const RowLoop *rowLoop = nullptr; // that runs

private:
  // On memory of the host (compose_contraction.cpp).
  mpc_rt_status_t compose(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                          const mpc_rt_contract_call_t &call);
  Buffer consumedResult, addedResult;
  Buffer prepared;
  DeviceMemory sharedMemory; // with the host
};

std::unique_ptr<Driver> makeCpuDriver(const DriverOptions &options);
std::unique_ptr<Driver> makeNullDriver(const DriverOptions &options);
// UNAVAILABLE without a GPU, its driver or cuBLASLt, NOT_FOUND without this one.
mpc_rt_status_t makeCudaDriver(const DriverOptions &options, int ordinal,
                               const mpc_rt_cuda_program_t &program,
                               std::unique_ptr<Driver> &driver);

} // namespace mpc::rt

#endif
