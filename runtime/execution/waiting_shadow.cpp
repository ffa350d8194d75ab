// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execution/waiting_shadow.h"

namespace mpc::rt {

bool hasWaitingShadow(const mpc_rt_context_t &context,
                      const mpc_rt_contract_t &descriptor) noexcept {
  const auto shadow = static_cast<uint32_t>(descriptor.rhs_variable);
  return !context.isReserving && descriptor.rhs_variable >= 0 &&
         shadow < context.variables.size() &&
         context.values.states[shadow] == VariableValues::State::undrawn;
}

mpc_rt_status_t readyShadow(mpc_rt_context_t &context, const mpc_rt_contract_t &descriptor) {
  return hasWaitingShadow(context, descriptor)
             ? readyVariable(context, static_cast<uint32_t>(descriptor.rhs_variable))
             : MPC_RT_OK;
}

mpc_rt_status_t readyShadowOrContract(mpc_rt_context_t &context,
                                      const mpc_rt_contract_t &descriptor,
                                      const mpc_rt_contract_call_t &call, bool &done) {
  done = false;
  if (!hasWaitingShadow(context, descriptor))
    return MPC_RT_OK;
  const auto shadow = static_cast<uint32_t>(descriptor.rhs_variable);
  const auto master = static_cast<uint32_t>(context.executable().variables[shadow].shadow_of);
  // Whoever reads it twice (a loop over time, a second prediction) is better off with the copy.
  if (!context.values.readAsMaster[shadow]) {
    context.values.readAsMaster[shadow] = true;
    if (auto status = readyVariable(context, master))
      return status;
    mpc_rt_contract_call_t ofMaster = call;
    ofMaster.rhs = context.variables[master];
    if (auto status = context.driver->contractMaster(descriptor, ofMaster, done))
      return status;
    if (done)
      return MPC_RT_OK;
  }
  return readyVariable(context, shadow);
}

} // namespace mpc::rt
