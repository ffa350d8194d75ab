// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Versions of the variables tell what is out of date.
#include "runtime/drivers/prepared_weights.h"

namespace mpc::rt {
namespace {

mpc_rt_status_t call(mpc_rt_prepare_fn fill, const mpc_rt_call_t &call, PreparedMemory &memory) {
  return static_cast<mpc_rt_status_t>(fill(&call, memory.data()));
}

} // namespace

std::pair<PreparedWeights::Iterator, PreparedWeights::Iterator> PreparedWeights::own() noexcept {
  auto end = values.lower_bound({running, nullptr});
  const auto begin = end;
  while (end != values.end() && end->first.first == running)
    ++end;
  return {begin, end};
}

mpc_rt_status_t PreparedWeights::refresh(const mpc_rt_call_t &call) {
  for (auto [value, end] = own(); value != end; ++value) {
    if (value->second.version == version)
      continue;
    if (auto status = rt::call(value->first.second, call, *value->second.memory))
      return status;
    value->second.version = version;
  }
  return MPC_RT_OK;
}

mpc_rt_status_t PreparedWeights::prepare(const mpc_rt_call_t &call, mpc_rt_prepare_fn fill,
                                         uint64_t bytes, bool keeps, void *&memory) {
  Values &value = values[{running, fill}];
  if (!value.memory)
    value.memory = makeMemory();
  bool grew = false;
  if (auto status = value.memory->reserve(bytes, grew))
    return status;
  if (grew)
    value.version = 0;
  memory = value.memory->data();
  if (value.version == version)
    return MPC_RT_OK;
  if (auto status = rt::call(fill, call, *value.memory))
    return status;
  if (keeps)
    value.version = version;
  return MPC_RT_OK;
}

void PreparedWeights::entryChangedVariables() noexcept {
  ++version;
  for (auto [value, end] = own(); value != end; ++value)
    if (value->second.version == version - 1)
      value->second.version = version;
}

uint64_t PreparedWeights::bytes() const noexcept {
  uint64_t total = 0;
  for (const auto &[key, value] : values)
    total += value.memory ? value.memory->size() : 0;
  return total;
}

} // namespace mpc::rt
