// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loading and saving variables.
#include "runtime/training/weights.h"

#include "runtime/data/variable_match.h"
#include "runtime/data/weights_file.h"

#include <cstring>

namespace mpc::training {

using data::Array;
using data::Result;
using data::Status;

/// "" for variables that no weights file holds (metrics, random states, shadows).
static std::string weightName(const mpc_rt_variable_info_t &variable) {
  const bool isWeight = data::isModelVariable(variable) || variable.role == MPC_RT_ROLE_OPTIMIZER;
  return isWeight ? data::tensorName(variable) : "";
}

static void noteMissing(const std::vector<std::string> &missing, const std::string &file,
                        WeightsReport &report) {
  if (!missing.empty())
    report.notes.push_back(file + ": " + std::to_string(missing.size()) +
                           " variables are not in it and keep their initializers' values, '" +
                           missing[0] + "' for one");
}

void noteMissingVariables(const Session &session, const InitialWeights &weights,
                          WeightsReport &report) {
  Result<data::Safetensors> content = viewInitialWeights(session.path(), weights);
  if (content)
    noteMissing(data::missingVariables(session.executable(), *content, weightName), weights.place,
                report);
}

Status loadVariables(Session &session, const std::string &file, bool complete,
                     WeightsReport &report) {
  Result<data::Safetensors> content = data::readWeightsFile(file);
  if (!content)
    return content.failure();
  const mpc_rt_executable_t &tables = session.executable();
  data::VariableMatch match = data::matchVariables(tables, *content, file, weightName);
  if (complete)
    match.refuseMissing(tables, file);
  if (!match.wrong.empty())
    return match.wrong;
  noteMissing(match.missing, file, report);
  if (!match.otherOptimizer.empty())
    report.notes.push_back(file + ": " + std::to_string(match.otherOptimizer.size()) +
                           " optimizer variables are of another optimizer and were ignored");
  if (!match.withoutOptimizer.empty())
    report.notes.push_back(file + ": " + std::to_string(match.withoutOptimizer.size()) +
                           " of the " + std::to_string(match.ofOptimizer) +
                           " variables of the model's optimizer are not in it and start anew");
  for (auto &[index, array] : match.fitted)
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
