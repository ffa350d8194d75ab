// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Contracts of mpc-rt/tuning.h: which kernels a driver takes, and which it took. The defaults are
// those of drivers that measure nothing.
#ifndef MPC_RUNTIME_DRIVERS_KERNEL_SELECTION_H
#define MPC_RUNTIME_DRIVERS_KERNEL_SELECTION_H

#include "mpc-rt/status.h"
#include "runtime/drivers/kernel_log.h"

#include <string>

namespace mpc::rt {

class PartKernels;

class KernelSelection {
public:
  virtual ~KernelSelection() = default;
  // From now on kernels are measured where they are wanted first: without a bound where `steps` is
  // 0, else within a small share of the time that a training of so many steps takes.
  virtual void tune(uint64_t /*steps*/) noexcept {}
  // The rules that choose were measured on this kind of device.
  virtual bool hasMeasuredRules() const noexcept { return true; }
  virtual std::string choices() const { return {}; }
  virtual mpc_rt_status_t setChoices(const char * /*text*/) { return MPC_RT_OK; }

  // Null where parts of a batch do nothing together.
  virtual PartKernels *ofParts() noexcept { return nullptr; }

  // The kernels that ran.
  KernelLog log;
};

} // namespace mpc::rt

#endif
