// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/contract/contractor.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/drivers/cpu/contract/finish_result.h"

#include <cstring>

namespace mpc::rt {
namespace {

mpc_rt_status_t resolveWithExtras(const mpc_rt_contract_t &descriptor, const void *lhs,
                                  const void *rhs, const void *bias, const void *out,
                                  const ContractionExtras &extras, int64_t batch,
                                  Contraction &shape) {
  if (auto status = resolveContraction(descriptor, lhs, rhs, bias, out, batch, shape))
    return status;
  if (extras.largest && shape.lhs == MPC_RT_INT8 && shape.outElements())
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: the largest of int32 is not computed",
                descriptor.layer ? descriptor.layer : "contraction");
  shape.makesMask = extras.bits.mask;
  shape.readsMask = extras.bits.where;
  return MPC_RT_OK;
}

} // namespace

Contractor::Contractor(ThreadTeam &team, int isa, KernelChoices &choices, KernelLog &log,
                       const ContractionAbilities &abilities)
    : log(log), memory(team, isa, abilities.ownKernels), kernels(memory, isa, choices, abilities),
      rowProducts(memory, kernels, log) {}

ContractionCall Contractor::callOf(const mpc_rt_contract_t &descriptor, const Contraction &shape,
                                   const void *lhs, const void *rhs, const void *bias, void *out,
                                   int64_t batch) const {
  return {descriptor, shape, lhs, rhs, bias, out, {}, batch, memory.state.keeps(descriptor)};
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

mpc_rt_status_t Contractor::contract(const mpc_rt_contract_t &descriptor, const void *lhs,
                                     const void *rhs, const void *bias, void *out,
                                     const ContractionExtras &extras, int64_t batch, bool byRows) {
  Contraction shape;
  if (auto status = resolveWithExtras(descriptor, lhs, rhs, bias, out, extras, batch, shape))
    return status;
  if (extras.largest)
    std::memset(extras.largest, 0, dtypeSize(shape.out));
  if (shape.outElements() == 0) {
    if (extras.rhsSums)
      sumColumns(shape, memory, rhs, extras.rhsSums);
    return MPC_RT_OK;
  }
  ContractionCall call = callOf(descriptor, shape, lhs, rhs, bias, out, batch);
  call.extras = extras;
  call.byRows = byRows;
  run(call);
  return MPC_RT_OK;
}

mpc_rt_status_t Contractor::reserveFor(const mpc_rt_contract_t &descriptor, const void *lhs,
                                       const void *rhs, const void *bias, void *out,
                                       const ContractionExtras &extras, int64_t batch,
                                       bool byRows) {
  Contraction shape;
  if (auto status = resolveWithExtras(descriptor, lhs, rhs, bias, out, extras, batch, shape))
    return status;
  if (shape.outElements() == 0)
    return MPC_RT_OK;
  ContractionCall call = callOf(descriptor, shape, lhs, rhs, bias, out, batch);
  call.extras = extras;
  call.byRows = byRows;
  const ContractionKernels::Choice choice = kernels.choose(call);
  choice.kernel->reserve(call, memory);
  note(call, choice);
  return MPC_RT_OK;
}

std::string Contractor::describe(const mpc_rt_contract_t &descriptor, const void *lhs,
                                 const void *rhs, const void *bias, void *out, int64_t batch) {
  Contraction shape;
  if (resolveContraction(descriptor, lhs, rhs, bias, out, batch, shape) || !shape.outElements())
    return "";
  const ContractionCall call = callOf(descriptor, shape, lhs, rhs, bias, out, batch);
  const ContractionKernels::Choice choice = kernels.choose(call);
  return std::string(choice.kernel->nameOf(call)) + ": " + choice.reason.text();
}

mpc_rt_status_t Contractor::contractBlocks(const mpc_rt_contract_t &descriptor, const void *lhs,
                                           const void *rhs, const BlockScales &blocks,
                                           const void *bias, void *out, int64_t batch) {
  Contraction shape;
  if (auto status = resolveBlocks(descriptor, lhs, rhs, blocks, bias, out, batch, shape))
    return status;
  if (shape.outElements() == 0)
    return MPC_RT_OK;
  ContractionCall call = callOf(descriptor, shape, lhs, rhs, bias, out, batch);
  call.blocks = &blocks;
  if (shape.unsignedRhs && call.isKept)
    call.shape.packedRhs = memory.integers.haveFourBits(descriptor, shape, rhs);
  run(call);
  return MPC_RT_OK;
}

mpc_rt_status_t Contractor::contractMaster(const mpc_rt_contract_t &descriptor, const void *lhs,
                                           const void *master, const void *bias, void *out,
                                           int64_t batch, bool &done) {
  Contraction shape;
  if (auto status = resolveContraction(descriptor, lhs, master, bias, out, batch, shape))
    return status;
  done = shape.outElements() == 0;
  if (done || (shape.rhs != MPC_RT_BFLOAT16 && shape.rhs != MPC_RT_FLOAT16))
    return MPC_RT_OK;
  ContractionCall call = callOf(descriptor, shape, lhs, master, bias, out, batch);
  call.isMaster = true;
  ContractionKernel &kernel = *kernels.choose(call).kernel;
  done = kernel.readsMasters();
  if (done)
    kernel.run(call, memory);
  return MPC_RT_OK;
}

} // namespace mpc::rt
