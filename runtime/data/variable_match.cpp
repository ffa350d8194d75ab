// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matching by name.
#include "runtime/data/variable_match.h"
#include "runtime/module/restored_scale.h"

#include <algorithm>
#include <functional>
#include <set>

namespace mpc::data {

/// "'NAME' and N more" of those that are not of a loss scale; "" of none.
static std::string firstAndCount(const std::vector<std::string> &names) {
  const auto isOfScale = [](const std::string &name) {
    return hasPrefix(name, "optimizer/loss_scale_optimizer/");
  };
  const auto first = std::find_if_not(names.begin(), names.end(), isOfScale);
  if (first == names.end())
    return "";
  const auto more = std::count_if(first + 1, names.end(), std::not_fn(isOfScale));
  return "'" + *first + "'" + (more ? " and " + std::to_string(more) + " more" : "");
}

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
      match.otherOptimizer.push_back(name);
    else
      match.wrong.append(Failure(place + ":" + name + ": the model " + model.model_name +
                                 " has no such variable; expected weights of this model"));
  }
  for (uint32_t i = 0; storedOfOptimizer && i < model.variable_count; ++i)
    if (model.variables[i].role == MPC_RT_ROLE_OPTIMIZER) {
      ++match.ofOptimizer;
      if (std::string name = nameOf(model.variables[i]); !used.count(name))
        match.withoutOptimizer.push_back(std::move(name));
    }
  return match;
}

void VariableMatch::refuseMissing(const mpc_rt_executable_t &model, const std::string &place) {
  for (const std::string &name : missing)
    wrong.append(Failure(place + ":" + name +
                         ": is missing; expected every variable of the model " + model.model_name));
}

void VariableMatch::refuseOtherOptimizer(const mpc_rt_executable_t &model,
                                         const std::string &place) {
  const std::string other = firstAndCount(otherOptimizer),
                    without = firstAndCount(withoutOptimizer);
  if (!ofOptimizer || (other.empty() && without.empty()))
    return;
  const std::string has = other.empty() ? "" : "has " + other, comma = has.empty() ? "" : ", ";
  const std::string lacks = without.empty() ? "" : comma + "lacks " + without;
  wrong.append(Failure(place + ": is the state of another optimizer than that of the model " +
                       model.model_name + ": it " + has + lacks +
                       "; expected the state of the same optimizer; compile the model with that "
                       "one, or load the weights and what fits by load_weights"));
}

} // namespace mpc::data
