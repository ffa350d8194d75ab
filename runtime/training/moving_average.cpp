// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Copying averages over weights.
#include "runtime/training/moving_average.h"

#include <algorithm>
#include <cstring>

namespace mpc::training {

namespace {
/// Weights with their averages; none unless all have one.
std::vector<std::pair<uint32_t, uint32_t>> findAverages(const Session &session) {
  const mpc_rt_executable_t &tables = session.executable();
  std::map<std::string, uint32_t> optimizer; // by the last part of the name
  for (uint32_t i = 0; i < tables.variable_count; ++i)
    if (tables.variables[i].role == MPC_RT_ROLE_OPTIMIZER) {
      std::string name = tables.variables[i].tensor.name;
      optimizer[name.substr(name.rfind('/') + 1)] = i;
    }
  std::vector<std::pair<uint32_t, uint32_t>> pairs;
  for (uint32_t i = 0; i < tables.variable_count; ++i) {
    if (tables.variables[i].role != MPC_RT_ROLE_TRAINABLE)
      continue;
    std::string name = tables.variables[i].tensor.name;
    std::replace(name.begin(), name.end(), '/', '_');
    auto average = optimizer.find(name + "_average");
    if (average == optimizer.end() ||
        tables.variables[average->second].tensor.dtype != tables.variables[i].tensor.dtype)
      return {};
    pairs.emplace_back(i, average->second);
  }
  return pairs;
}
} // namespace

bool hasAverages(const Session &session) { return !findAverages(session).empty(); }

data::Status finalizeAverages(Session &session) {
  const auto pairs = findAverages(session);
  if (pairs.empty())
    return data::Status();
  for (auto [weight, average] : pairs) {
    size_t size = 0, other = 0;
    void *to = mpc_rt_context_variable(session.context(), weight, &size);
    const void *from = mpc_rt_context_variable(session.context(), average, &other);
    std::memcpy(to, from, std::min(size, other));
  }
  if (mpc_rt_status_t status = mpc_rt_context_variables_changed(session.context()))
    return session.runtimeFailure(status);
  return data::Status();
}

} // namespace mpc::training
