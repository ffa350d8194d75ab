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

class KernelSelection {
public:
  virtual ~KernelSelection() = default;
  // From now on kernels are measured where they are wanted first.
  virtual void tune() noexcept {}
  virtual std::string choices() const { return {}; }
  virtual mpc_rt_status_t setChoices(const char * /*text*/) { return MPC_RT_OK; }

  // The kernels that ran.
  KernelLog log;
};

} // namespace mpc::rt

#endif
