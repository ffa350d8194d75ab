// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The objects that contract, convolve and attend on one thread team, and the choices of kernels
// that they share.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CPU_KERNELS_H
#define MPC_RUNTIME_DRIVERS_CPU_CPU_KERNELS_H

#include "runtime/drivers/cpu/attend/attender.h"
#include "runtime/drivers/cpu/contract/contractor.h"
#include "runtime/drivers/cpu/convolve/convolver.h"
#include "runtime/drivers/kernel_selection.h"
#include "runtime/drivers/part_product.h"
#include "runtime/threads/thread_team.h"

#include <memory>
#include <optional>

namespace mpc::rt {

class CpuKernels final : public KernelSelection, public PartKernels {
public:
  CpuKernels(ThreadTeam &team, int isa) : team(team), isa(isa) { make(); }

  // oneDNN's primitives are made for a number of threads, of which a fork leaves one: what the
  // parent made, or another thread of the child, is made again.
  void followFork();
  void setWeightsConstant(bool areConstant);
  void forgetWeights() noexcept;
  // Bytes held for packed weights, converted operands and scratch.
  uint64_t bytes() const noexcept;

  void tune(uint64_t steps) noexcept override;
  bool hasMeasuredRules() const noexcept override;
  std::string choices() const override { return chosen.text(); }
  mpc_rt_status_t setChoices(const char *text) override;

  PartKernels *ofParts() noexcept override { return this; }
  mpc_rt_status_t prepareSum(const mpc_rt_contract_t &descriptor,
                             const mpc_rt_contract_call_t &call, bool packs,
                             PartProduct *&product) override;
  void shareWeights(PartKernels &first) override;
  void forgetSharedWeights() override;

  std::optional<Contractor> contractor;
  std::optional<Convolver> convolver;
  std::optional<Attender> attender;

private:
  void make();
  void forgetPlans() noexcept;

  ThreadTeam &team;
  const int isa;
  KernelChoices chosen;
  std::shared_ptr<SharedWeights> sharedWeights; // null: not a part of a batch
  bool isFirstOfShared = false;
  unsigned forks = 0;
  bool isForkedThread = false;
};

} // namespace mpc::rt

#endif
