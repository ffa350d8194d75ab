// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loading and saving variables.
#include "training/weights.h"

#include "data/mapped_file.h"
#include "data/variable_tensor.h"
#include "data/weights_file.h"

#include <cstring>

namespace mpc::training {

using data::Array;
using data::Failure;
using data::Result;
using data::Status;

/// "" for variables that no weights file holds (metrics, random states, shadows).
static std::string weightName(const mpc_rt_variable_info_t &variable) {
  const bool isWeight = data::isModelVariable(variable) || variable.role == MPC_RT_ROLE_OPTIMIZER;
  return isWeight ? data::tensorName(variable) : "";
}

/// Model variables that no tensor is for.
static std::vector<std::string> missingVariables(const mpc_rt_executable_t &tables,
                                                 const data::Safetensors &content) {
  std::vector<std::string> missing;
  for (uint32_t i = 0; i < tables.variable_count; ++i)
    if (data::isModelVariable(tables.variables[i]) &&
        !content.tensors.count(weightName(tables.variables[i])))
      missing.push_back(weightName(tables.variables[i]));
  return missing;
}

static void noteMissing(const std::vector<std::string> &missing, const std::string &file,
                        WeightsReport &report) {
  if (!missing.empty())
    report.notes.push_back(file + ": " + std::to_string(missing.size()) +
                           " variables are not in it and keep their initializers' values, '" +
                           missing[0] + "' for one");
}

void noteMissingVariables(const Session &session, const std::string &file, WeightsReport &report) {
  Result<std::shared_ptr<data::MappedFile>> mapped = data::MappedFile::open(file);
  if (!mapped)
    return;
  Result<data::Safetensors> content =
      data::viewSafetensors(*mapped, (*mapped)->data(), (*mapped)->size(), file);
  if (content)
    noteMissing(missingVariables(session.executable(), *content), file, report);
}

Status loadVariables(Session &session, const std::string &file, bool complete,
                     WeightsReport &report) {
  Result<data::Safetensors> content = data::readWeightsFile(file);
  if (!content)
    return content.failure();
  const mpc_rt_executable_t &tables = session.executable();
  Failure failure;
  std::vector<std::pair<uint32_t, Array>> fitted;
  size_t used = 0, unknownOptimizer = 0;
  for (uint32_t i = 0; i < tables.variable_count; ++i) {
    std::string name = weightName(tables.variables[i]);
    auto at = content->tensors.find(name);
    if (name.empty())
      continue;
    if (at == content->tensors.end())
      continue;
    ++used;
    Result<Array> array = data::fitArray(at->second, tables.variables[i].tensor);
    if (array)
      fitted.emplace_back(i, *array);
    else
      failure.append(array.failure().within(file + ":" + name, "use weights of this model"));
  }
  if (used != content->tensors.size())
    for (const auto &[name, array] : content->tensors) {
      bool known = false;
      for (uint32_t i = 0; i < tables.variable_count && !known; ++i)
        known = weightName(tables.variables[i]) == name;
      // A training state (mpc_rt_context_save) also holds what no weights file needs.
      if (known || data::hasPrefix(name, data::metricPrefix) ||
          data::hasPrefix(name, data::randomPrefix))
        continue;
      if (data::hasPrefix(name, data::optimizerPrefix))
        ++unknownOptimizer;
      else
        failure.append(Failure(file + ":" + name + ": the model " + tables.model_name +
                               " has no such variable; expected weights of this model"));
    }
  const std::vector<std::string> missing = missingVariables(tables, *content);
  if (complete)
    for (const std::string &name : missing)
      failure.append(Failure(file + ":" + name +
                             ": is missing; expected every variable of the model " +
                             std::string(tables.model_name)));
  if (!failure.empty())
    return failure;
  noteMissing(missing, file, report);
  if (unknownOptimizer)
    report.notes.push_back(file + ": " + std::to_string(unknownOptimizer) +
                           " optimizer variables are of another optimizer and were ignored");
  for (auto &[index, array] : fitted)
    if (array.bytes())
      std::memcpy(session.variable(index), array.data(), array.bytes());
  return Status();
}

data::Safetensors collectVariables(Session &session) {
  data::Safetensors content;
  const mpc_rt_executable_t &tables = session.executable();
  for (uint32_t i = 0; i < tables.variable_count; ++i)
    if (std::string name = weightName(tables.variables[i]); !name.empty())
      content.tensors.emplace(name, session.variableArray(i));
  content.metadata["format"] = "mpc";
  content.metadata["model"] = tables.model_name;
  return content;
}

Status saveVariables(Session &session, const std::string &file) {
  return data::writeSafetensors(file, collectVariables(session));
}

} // namespace mpc::training
