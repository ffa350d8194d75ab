// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interface of a device that runs compiled models. One Driver object belongs to one context; it
// is used by one thread at a time. Every driver passes runtime/cts.
#ifndef MPC_RUNTIME_DRIVERS_DRIVER_H
#define MPC_RUNTIME_DRIVERS_DRIVER_H

#include "mpc-rt/cuda.h"
#include "mpc-rt/executable.h"
#include "mpc-rt/model.h"
#include "mpc-rt/status.h"
#include "runtime/base/memory.h"
#include "runtime/base/status.h"
#include "runtime/drivers/attention.h"
#include "runtime/drivers/contraction.h"
#include "runtime/drivers/convolution.h"
#include "runtime/drivers/row_loop.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace mpc::rt {

struct DriverOptions {
  unsigned threads = 1; // at least 1
  int isa = 0;          // mpc_rt_isa_t that this CPU has
};

// A part of a larger memory.
struct MemoryBlock {
  uint64_t offset = 0, bytes = 0;
};

// Which tensors of a call are the caller's memory on the device.
struct DeviceTensors {
  std::vector<bool> inputs, outputs;
  bool any() const {
    return std::count(inputs.begin(), inputs.end(), true) ||
           std::count(outputs.begin(), outputs.end(), true);
  }
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

  // Memory of the host, zero-filled, 64-byte aligned; what code works on unless ownsMemory().
  virtual bool allocate(uint64_t bytes, Buffer &buffer) noexcept = 0;

  // Around each run: sets the floating-point environment of all threads, and gives it back.
  virtual mpc_rt_status_t begin(WeightUse use) = 0;
  virtual void end() noexcept = 0;

  // Whether code works on memory of the device: run() then brings what a call needs there and back,
  // and the four functions below keep two copies of the variables alike.
  virtual bool ownsMemory() const noexcept { return false; }
  // Runs an entry; between begin() and end(). The pointers in `call` are the host's, but for the
  // tensors `onDevice` (null: none), which only drivers that own memory are given.
  virtual mpc_rt_status_t run(const mpc_rt_entry_info_t &entry, const mpc_rt_call_t &call,
                              uint32_t /*variableCount*/, uint64_t /*arenaBytes*/,
                              const DeviceTensors * /*onDevice*/) {
    return entry.fn(&call);
  }
  // The variables are at `host`; `blocks` (one per role) are what is fetched at a time.
  virtual mpc_rt_status_t bindVariables(uint8_t * /*host*/, uint64_t /*bytes*/,
                                        const std::vector<MemoryBlock> & /*blocks*/) {
    return MPC_RT_OK;
  }
  // Before the host reads or writes a part of the variables.
  virtual mpc_rt_status_t fetchVariables(uint64_t /*offset*/, uint64_t /*bytes*/) {
    return MPC_RT_OK;
  }
  // After the host wrote this part.
  virtual mpc_rt_status_t storeVariables(uint64_t /*offset*/, uint64_t /*bytes*/) {
    return MPC_RT_OK;
  }
  // After the host wrote any of what it had fetched.
  virtual mpc_rt_status_t storeFetchedVariables() { return MPC_RT_OK; }

  // The contract of mpc_rt_context_prefetch.
  virtual mpc_rt_status_t prefetch(const mpc_rt_entry_info_t & /*entry*/, int64_t /*batch*/,
                                   mpc_rt_fill_inputs_fn /*fill*/, void * /*user*/) {
    return fail(MPC_RT_UNAVAILABLE, "%s: computes on memory of the host, nothing is fetched",
                name());
  }
  // Whether run() has the inputs of this call, so that call.inputs may be null.
  virtual bool hasInputs(const mpc_rt_entry_info_t & /*entry*/, int64_t /*batch*/) const noexcept {
    return false;
  }

  // The caller's memory on this device to the host, and waits for it. Never called for drivers that
  // have no such memory.
  virtual mpc_rt_status_t copyFromDevice(void * /*to*/, const void * /*from*/, uint64_t /*bytes*/) {
    return MPC_RT_OK;
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

  // Contracts of mpc-rt/tuning.h.
  virtual void tune() noexcept {}
  virtual std::string kernelChoices() const { return {}; }
  virtual mpc_rt_status_t setKernelChoices(const char * /*text*/) { return MPC_RT_OK; }
  virtual void recordKernels() noexcept {}
  virtual std::string usedKernels() const { return {}; }

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
};

std::unique_ptr<Driver> makeCpuDriver(const DriverOptions &options);
std::unique_ptr<Driver> makeNullDriver(const DriverOptions &options);
// UNAVAILABLE without a GPU, its driver or cuBLASLt, NOT_FOUND without this one.
mpc_rt_status_t makeCudaDriver(const DriverOptions &options, int ordinal,
                               const mpc_rt_cuda_program_t &program,
                               std::unique_ptr<Driver> &driver);

} // namespace mpc::rt

#endif
