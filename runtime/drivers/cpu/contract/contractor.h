// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `contract` service on the CPU: checks calls, and hands them to the kernel that
// contraction_kernels.h chooses.
#ifndef MPC_RUNTIME_DRIVERS_CPU_CONTRACT_CONTRACTOR_H
#define MPC_RUNTIME_DRIVERS_CPU_CONTRACT_CONTRACTOR_H

#include "runtime/drivers/cpu/contract/contraction_kernels.h"
#include "runtime/drivers/cpu/contract/part_products.h"
#include "runtime/drivers/cpu/contract/row_products.h"
#include "runtime/drivers/cpu/onednn/onednn.h"
#include "runtime/drivers/result_kernel.h"

#include <string>

namespace mpc::rt {

class Contractor {
public:
  // `abilities` are what the CPU has; tests and benchmarks reach other kernels with less.
  Contractor(ThreadTeam &team, int isa, KernelChoices &choices, KernelLog &log,
             const ContractionAbilities &abilities = {onednn::hasNativeBFloat16(),
                                                      onednn::hasExactInt8(), /*ownKernels=*/true});

  // `constant`: packed copies of variables may be kept until forgetWeights().
  void setWeightsConstant(bool constant) { memory.state.constant = constant; }
  void forgetWeights() noexcept { memory.state.version++; }
  // Weights are packed once for all parts of a batch that have these.
  void shareWeights(SharedWeights *shared) noexcept { memory.shared = shared; }

  // Which parts of a call kernels do beside each other. The others are composed.
  static bool takes(const Contraction &shape, const mpc_rt_contract_call_t &call);
  // The calls are checked before. `byRows`: the call belongs to a loop over rows and takes the
  // kernel of contractRows().
  mpc_rt_status_t contract(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                           const mpc_rt_contract_call_t &call, bool byRows = false);
  // Takes the memory that contract() will need, and computes nothing.
  mpc_rt_status_t reserveFor(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                             const mpc_rt_contract_call_t &call, bool byRows = false);
  // Implements Driver::contractMaster.
  mpc_rt_status_t contractMaster(const mpc_rt_contract_t &descriptor,
                                 const mpc_rt_contract_call_t &call, bool &done);
  // Implements PartKernels::prepareSum(); without `packs` it takes the memory for that alone.
  PartProduct *partProduct(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                           const mpc_rt_contract_call_t &call, bool packs);
  // Whether the loop's products, none of which has more than `mostProducts` multiplications, are
  // computed rows at a time by threads of their own, with the kernels that contract() takes. Then
  // what they share (packed weights) is there when it returns.
  // Without `packs` it takes the memory for that alone.
  bool prepareRows(const RowLoop &loop, int64_t mostProducts, bool packs = true) {
    return rowProducts.prepare(loop, mostProducts, packs);
  }
  // Runs rows of the loop that was prepared last; any number of threads may call it at once.
  void contractRows(uint32_t product, const void *lhs, void *out, int64_t begin,
                    int64_t end) const {
    rowProducts.run(product, lhs, out, begin, end);
  }
  uint64_t bytes() const noexcept {
    return memory.bytes() + kernels.bytes() + rowProducts.bytes() + partProducts.bytes();
  }

  // The kernel that contract() takes, and why: "avx512_float32: a small product; ...".
  std::string describe(const mpc_rt_contract_t &descriptor, const mpc_rt_contract_call_t &call);
  // Whether --tune could choose the kernel of that name here.
  bool hasKernel(const std::string &name) const { return kernels.hasKernel(name); }
  // The choices are others.
  void forgetPlans() noexcept { kernels.forgetPlans(); }

private:
  // The shape is resolved and its result has elements. `parts` has the objects that the call points
  // to.
  struct Parts {
    BlockScales scales;
    ResultKernel kernel;
  };
  ContractionCall callOf(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                         const mpc_rt_contract_call_t &call, const Parts &parts) const;
  static Parts partsOf(const Contraction &shape, const mpc_rt_contract_call_t &call);
  void run(const ContractionCall &call);
  void note(const ContractionCall &call, const ContractionKernels::Choice &choice);

  KernelLog &log;
  ContractionMemory memory;
  ContractionKernels kernels;
  RowProducts rowProducts;
  PartProducts partProducts;
};

} // namespace mpc::rt

#endif
