// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reports/changed_weights.h"

namespace mpc::reports {

using data::Status;

Status ChangedWeights::set(uint32_t variable, const std::vector<float> &values) {
  mpc_rt_status_t status = mpc_rt_context_set_variable(
      session_.context(), variable, MPC_RT_FLOAT32, values.data(), values.size() * sizeof(float));
  return status ? Status(session_.runtimeFailure(status)) : Status();
}

Status ChangedWeights::apply() {
  constexpr float step = 1.0F / 65536;
  uint32_t state = 0x9e3779b9u; // any; the same in every run
  for (uint32_t i = 0; i < session_.executable().variable_count; ++i) {
    const mpc_rt_variable_info_t &info = session_.variableInfo(i);
    if (info.role != MPC_RT_ROLE_TRAINABLE || info.tensor.dtype != MPC_RT_FLOAT32)
      continue;
    size_t bytes = 0;
    const auto *values =
        static_cast<const float *>(mpc_rt_context_variable(session_.context(), i, &bytes));
    if (!values)
      continue;
    old_.emplace_back(i, std::vector<float>(values, values + bytes / sizeof(float)));
    std::vector<float> changed = old_.back().second;
    for (float &value : changed) {
      state = state * 1664525u + 1013904223u;
      value *= 1 + step * (static_cast<float>(state >> 8) / 8388608 - 1);
    }
    if (Status status = set(i, changed); !status)
      return status;
  }
  return Status();
}

Status ChangedWeights::restore() {
  Status result;
  for (const auto &[variable, values] : old_)
    if (Status status = set(variable, values); !status)
      result = status;
  return result;
}

} // namespace mpc::reports
