// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/contract/contractor.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/drivers/cpu/contract/finish_result.h"

#include <cstring>

namespace mpc::rt {

Contractor::Contractor(ThreadTeam &team, int isa, KernelChoices &choices, KernelLog &log,
                       const ContractionAbilities &abilities)
    : log(log), memory(team, isa, abilities.ownKernels), kernels(memory, isa, choices, abilities),
      rowProducts(memory, kernels, log), partProducts(memory) {}

bool Contractor::takes(const Contraction &c, const mpc_rt_contract_call_t &call) {
  if (c.gelu || c.geluGradient || c.roundsSums)
    return false;
  const bool hasMore = c.accumulate || call.largest || call.sums || call.kernel;
  if (c.makesMask || c.readsMask)
    return !hasMore && !call.scale && c.out != MPC_RT_FLOAT64 && !(c.readsMask && c.hasBias);
  if (call.scale)
    return !hasMore;
  return !call.sums || !(c.hasBias || c.relu);
}

Contractor::Parts Contractor::partsOf(const Contraction &shape,
                                      const mpc_rt_contract_call_t &call) {
  return {scalesOf(shape, call), resultKernelOf(call)};
}

ContractionCall Contractor::callOf(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                                   const mpc_rt_contract_call_t &call, const Parts &parts) const {
  ContractionCall own{descriptor, shape,      call.lhs,
                      call.rhs,   call.bias,  call.out,
                      {},         call.batch, memory.state.keeps(descriptor)};
  own.extras = {call.largest, call.kernel ? &parts.kernel : nullptr, bitsOf(call), call.sums};
  own.blocks = call.scale ? &parts.scales : nullptr;
  return own;
}

void Contractor::note(const ContractionCall &call, const ContractionKernels::Choice &choice) {
  if (log.isListing())
    log.note(call.descriptor.id, call.batch, call.descriptor.layer, call.shape,
             choice.kernel->nameOf(call), choice.reason);
}

void Contractor::run(const ContractionCall &call) {
  const ContractionKernels::Choice choice = kernels.settle(call);
  choice.kernel->run(call, memory);
  note(call, choice);
}

mpc_rt_status_t Contractor::contract(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                                     const mpc_rt_contract_call_t &call, bool byRows) {
  if (call.largest)
    std::memset(call.largest, 0, dtypeSize(shape.out));
  if (shape.outElements() == 0) {
    if (call.sums)
      sumColumns(shape, memory, call.rhs, call.sums);
    return MPC_RT_OK;
  }
  const Parts parts = partsOf(shape, call);
  ContractionCall own = callOf(descriptor, shape, call, parts);
  own.byRows = byRows;
  if (shape.unsignedRhs && own.isKept)
    own.shape.packedRhs = memory.integers.haveFourBits(descriptor, shape, call.rhs);
  run(own);
  return MPC_RT_OK;
}

mpc_rt_status_t Contractor::reserveFor(const mpc_rt_contract_t &descriptor,
                                       const Contraction &shape, const mpc_rt_contract_call_t &call,
                                       bool byRows) {
  // The copies of integer weights with scales depend on their values.
  if (shape.outElements() == 0 || call.scale)
    return MPC_RT_OK;
  const Parts parts = partsOf(shape, call);
  ContractionCall own = callOf(descriptor, shape, call, parts);
  own.byRows = byRows;
  const ContractionKernels::Choice choice = kernels.choose(own);
  choice.kernel->reserve(own, memory);
  note(own, choice);
  return MPC_RT_OK;
}

PartProduct *Contractor::partProduct(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                                     const mpc_rt_contract_call_t &call, bool packs) {
  if (shape.outElements() == 0 || call.scale || !takes(shape, call))
    return nullptr;
  const Parts parts = partsOf(shape, call);
  const ContractionCall own = callOf(descriptor, shape, call, parts);
  if (kernels.measures(own))
    return nullptr;
  const ContractionKernels::Choice choice = kernels.choose(own);
  const BlockedProduct *blocked = choice.kernel->product();
  PartProduct *product = blocked ? partProducts.prepare(own, *blocked, packs) : nullptr;
  if (product)
    note(own, choice);
  return product;
}

std::string Contractor::describe(const mpc_rt_contract_t &descriptor,
                                 const mpc_rt_contract_call_t &call) {
  Contraction shape;
  if (resolveContraction(descriptor, call, shape) || !shape.outElements())
    return "";
  const Parts parts = partsOf(shape, call);
  const ContractionCall own = callOf(descriptor, shape, call, parts);
  const ContractionKernels::Choice choice = kernels.choose(own);
  return std::string(choice.kernel->nameOf(own)) + ": " + choice.reason.text();
}

mpc_rt_status_t Contractor::contractMaster(const mpc_rt_contract_t &descriptor,
                                           const mpc_rt_contract_call_t &call, bool &done) {
  Contraction shape;
  if (auto status = resolveContraction(descriptor, call, shape))
    return status;
  done = shape.outElements() == 0;
  if (done || (shape.rhs != MPC_RT_BFLOAT16 && shape.rhs != MPC_RT_FLOAT16))
    return MPC_RT_OK;
  const Parts parts = partsOf(shape, call);
  ContractionCall own = callOf(descriptor, shape, call, parts);
  own.isMaster = true;
  ContractionKernel &kernel = *kernels.choose(own).kernel;
  done = kernel.readsMasters();
  if (done)
    kernel.run(own, memory);
  return MPC_RT_OK;
}

} // namespace mpc::rt
