// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matching by name.
#include "data/variable_match.h"
#include "module/restored_scale.h"

#include <set>

namespace mpc::data {

std::vector<std::string> missingVariables(const mpc_rt_executable_t &model,
                                          const Safetensors &content, VariableName nameOf) {
  std::vector<std::string> missing;
  for (uint32_t i = 0; i < model.variable_count; ++i)
    if (isModelVariable(model.variables[i]) && !content.tensors.count(nameOf(model.variables[i])))
      missing.push_back(nameOf(model.variables[i]));
  return missing;
}

VariableMatch matchVariables(const mpc_rt_executable_t &model, const Safetensors &content,
                             const std::string &place, VariableName nameOf) {
  VariableMatch match;
  match.missing = missingVariables(model, content, nameOf);
  std::set<std::string> used;
  for (uint32_t i = 0; i < model.variable_count; ++i) {
    const mpc_rt_variable_info_t &variable = model.variables[i];
    const std::string name = nameOf(variable);
    auto at = content.tensors.find(name);
    if (name.empty() || at == content.tensors.end())
      continue;
    used.insert(name);
    Result<Array> array = fitArray(at->second, variable.tensor);
    if (!array) {
      match.wrong.append(array.failure().within(place + ":" + name, "use weights of this model"));
      continue;
    }
    if (std::string problem = rt::findScaleOutOfBounds(model, i, array->data()); !problem.empty())
      match.wrong.append(Failure(place + ":" + name + ": " + problem));
    match.fitted.emplace_back(i, *array);
  }
  size_t storedOfOptimizer = 0;
  for (const auto &[name, array] : content.tensors) {
    storedOfOptimizer += hasPrefix(name, optimizerPrefix);
    if (used.count(name) || hasPrefix(name, metricPrefix) || hasPrefix(name, randomPrefix))
      continue;
    if (hasPrefix(name, optimizerPrefix))
      ++match.otherOptimizer;
    else
      match.wrong.append(Failure(place + ":" + name + ": the model " + model.model_name +
                                 " has no such variable; expected weights of this model"));
  }
  for (uint32_t i = 0; storedOfOptimizer && i < model.variable_count; ++i)
    if (model.variables[i].role == MPC_RT_ROLE_OPTIMIZER) {
      ++match.ofOptimizer;
      match.withoutOptimizer += !used.count(nameOf(model.variables[i]));
    }
  return match;
}

void VariableMatch::refuseMissing(const mpc_rt_executable_t &model, const std::string &place) {
  for (const std::string &name : missing)
    wrong.append(Failure(place + ":" + name +
                         ": is missing; expected every variable of the model " + model.model_name));
}

} // namespace mpc::data
