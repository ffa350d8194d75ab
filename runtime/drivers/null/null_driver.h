// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The null driver: checks and records every call, touches no data. It answers "does this program
// dispatch what it should?" without doing the work, and shows what a new driver must implement.
#ifndef MPC_RUNTIME_DRIVERS_NULL_NULL_DRIVER_H
#define MPC_RUNTIME_DRIVERS_NULL_NULL_DRIVER_H

#include "runtime/drivers/contraction.h"
#include "runtime/drivers/convolution.h"
#include "runtime/drivers/driver.h"

#include <vector>

namespace mpc::rt {

class NullDriver final : public Driver {
public:
  struct Call {
    enum Kind { loop, contraction, convolution } kind;
    mpc_rt_kernel_fn kernel; // of a loop
    int64_t count, grain;    // of a loop
    uint32_t id;             // of a contraction or convolution
    Contraction shape;
    Convolution window;
  };

  explicit NullDriver(const DriverOptions &options) : options(options) {}
  const char *name() const noexcept override { return "null"; }
  bool computes() const noexcept override { return false; }
  unsigned threads() const noexcept override { return options.threads; }
  mpc_rt_status_t begin(WeightUse use) override;
  void end() noexcept override { running = false; }
  void parallelFor(mpc_rt_kernel_fn kernel, void *const *arguments, int64_t count,
                   int64_t grain) override;
  mpc_rt_status_t convolve(const mpc_rt_convolution_t &descriptor,
                           const mpc_rt_convolve_call_t &call) override;
  KernelSelection &kernels() noexcept override { return selection; }
  void variablesChanged() noexcept override {}
  uint64_t libraryBytes() const noexcept override { return 0; }

  // The calls of the latest run, in order.
  const std::vector<Call> &calls() const { return recorded; }

protected:
  mpc_rt_status_t multiply(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                           const mpc_rt_contract_call_t &call) override;
  bool takes(const Contraction &, const mpc_rt_contract_call_t &) const override { return true; }

private:
  DriverOptions options;
  KernelSelection selection;
  bool running = false;
  std::vector<Call> recorded;
};

} // namespace mpc::rt

#endif
