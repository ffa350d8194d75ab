// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which tensors of a file are which variables of a model.
#ifndef MPC_RUNTIME_DATA_VARIABLE_MATCH_H
#define MPC_RUNTIME_DATA_VARIABLE_MATCH_H

#include "runtime/data/safetensors.h"
#include "runtime/data/variable_tensor.h"

#include <utility>
#include <vector>

namespace mpc::data {

/// The name of a variable's tensor; "" for variables that a file does not hold.
using VariableName = std::string (*)(const mpc_rt_variable_info_t &);

/// Names of model variables without a tensor. Looks at no tensor's elements.
std::vector<std::string> missingVariables(const mpc_rt_executable_t &model,
                                          const Safetensors &content, VariableName nameOf);

struct VariableMatch {
  /// Indices of variables, and their values in their own dtypes.
  std::vector<std::pair<uint32_t, Array>> fitted;
  /// Model variables without a tensor, by name.
  std::vector<std::string> missing;
  /// Tensors under optimizer/ that no variable has, by name: those of another optimizer.
  std::vector<std::string> otherOptimizer;
  /// The number of the model's variables of the optimizer; by name those of them that a file lacks
  /// which has some.
  size_t ofOptimizer = 0;
  std::vector<std::string> withoutOptimizer;
  /// A message for each tensor that does not fit its variable, or that would be a model variable
  /// which there is not. Metrics and random states may be left over.
  Failure wrong;

  /// Makes missing variables faults, for files that have to be complete.
  void refuseMissing(const mpc_rt_executable_t &model, const std::string &place);
  /// Makes a state of another optimizer a fault, where the model has an optimizer. A loss scale may
  /// be in the file alone, where the model has no use of it, or in the model, where it starts anew.
  void refuseOtherOptimizer(const mpc_rt_executable_t &model, const std::string &place);
};

/// `place` begins the messages. Changes nothing.
VariableMatch matchVariables(const mpc_rt_executable_t &model, const Safetensors &content,
                             const std::string &place, VariableName nameOf);

} // namespace mpc::data
#endif
