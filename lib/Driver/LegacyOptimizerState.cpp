// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keras 2's slots under Keras 3's names.
#include "lib/Driver/LegacyOptimizerState.h"
#include "dialects/mpc/IR/Mpc.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <cstring>

using namespace mlir;
using namespace mpc;

namespace {

/// Names that slots had, and what Keras 3 calls them.
struct SlotName {
  llvm::StringLiteral old, today;
};
constexpr SlotName kSlotNames[] = {
    {"m", "momentum"},
    {"v", "velocity"},
    {"vhat", "velocity_hat"},
    {"u", "norm"},
    {"momentum", "momentum"},
    {"rms", "velocity"},
    {"velocity", "velocity"},
    {"mg", "average_gradient"},
    {"average_grad", "average_gradient"},
    {"accumulator", "accumulator"},
    {"accum", "accumulator"},
    {"accum_grad", "accumulated_grad"},
    {"accumulated_grad", "accumulated_grad"},
    {"accum_var", "accumulated_delta_var"},
    {"accumulated_delta_var", "accumulated_delta_var"},
    {"linear", "linear"},
};

StringRef slotOf(StringRef component) {
  for (const SlotName &row : kSlotNames)
    if (row.old == component)
      return row.today;
  return "";
}

bool isIteration(StringRef component) {
  return component == "iter" || component == "iteration" || component == "iterations";
}

using Values = SmallVector<keras::StoredTensor *>;

/// The optimizer variables that the module declares, by slot in the order of the parameters.
struct Declared {
  VariableOp iteration, dynamicScale, stepCounter;
  llvm::MapVector<StringRef, SmallVector<VariableOp>> slots;
  size_t parameters = 0;
};

Declared readDeclared(ModuleOp module) {
  Declared declared;
  SmallVector<std::string> prefixes; // of slots: the variable's path with underscores
  for (VariableOp variable : module.getOps<VariableOp>())
    if (variable.getRole() == VariableRole::Trainable) {
      std::string name = variable.getSymName().str();
      std::replace(name.begin(), name.end(), '/', '_');
      prefixes.push_back(name + "_");
    }
  declared.parameters = prefixes.size();
  for (VariableOp variable : module.getOps<VariableOp>()) {
    if (variable.getRole() != VariableRole::Optimizer)
      continue;
    StringRef symbol = variable.getSymName();
    if (symbol == "optimizer/loss_scale_optimizer/dynamic_scale")
      declared.dynamicScale = variable;
    else if (symbol == "optimizer/loss_scale_optimizer/step_counter")
      declared.stepCounter = variable;
    if (symbol.starts_with("optimizer/loss_scale_optimizer/"))
      continue;
    StringRef name = symbol.rsplit('/').second;
    if (name == "iteration")
      declared.iteration = variable;
    const std::string *longest = nullptr;
    for (const std::string &prefix : prefixes)
      if (name.starts_with(prefix) && (!longest || prefix.size() > longest->size()))
        longest = &prefix;
    if (longest)
      declared.slots[name.drop_front(longest->size())].push_back(variable);
  }
  return declared;
}

/// What the file holds, by Keras 3's slot name, each in the order of the parameters.
struct Old {
  keras::StoredTensor *iteration = nullptr, *dynamicScale = nullptr, *stepCounter = nullptr;
  llvm::MapVector<StringRef, Values> slots;
  Values unnamed;
};

Old sortOut(const std::vector<std::string> &names, std::vector<keras::StoredTensor> &stored) {
  Old old;
  for (auto [name, tensor] : llvm::zip_equal(names, stored)) {
    StringRef path = name;
    path.consume_back(":0");
    SmallVector<StringRef> components;
    path.split(components, '/', -1, /*KeepEmpty=*/false);
    if (components.empty())
      continue;
    StringRef last = components.back();
    if (isIteration(last) && tensor.dims.empty()) {
      old.iteration = &tensor;
    } else if (tensor.dims.empty() && (last == "current_loss_scale" || last == "loss_scale")) {
      old.dynamicScale = &tensor;
    } else if (tensor.dims.empty() && last == "good_steps") {
      old.stepCounter = &tensor;
    } else if (components.size() > 2 && !slotOf(last).empty()) {
      old.slots[slotOf(last)].push_back(&tensor); // Adam/dense/kernel/m
    } else if (components.size() > 2 && !slotOf(components[0]).empty()) {
      old.slots[slotOf(components[0])].push_back(&tensor); // m/dense/kernel
    } else if (components.size() > 3 && !slotOf(components[1]).empty()) {
      old.slots[slotOf(components[1])].push_back(&tensor); // Adam/m/dense/kernel
    } else if (!tensor.dims.empty()) {
      old.unnamed.push_back(&tensor); // training/Adam/variable_3, param_3
    }
  }
  return old;
}

bool hasShape(const keras::StoredTensor &tensor, VariableOp variable) {
  return cast<RankedTensorType>(variable.getType()).getShape() == ArrayRef<int64_t>(tensor.dims);
}

/// Keras 2.0 counted iterations in a float.
void makeInteger(keras::StoredTensor &tensor) {
  if (tensor.dtype != MPC_RT_FLOAT32 || tensor.bytes.size() != sizeof(float))
    return;
  float number;
  std::memcpy(&number, tensor.bytes.data(), sizeof(number));
  const int64_t count = number >= 0 && number < 9e15f ? int64_t(number) : 0;
  tensor.dtype = MPC_RT_INT64;
  tensor.bytes.resize(sizeof(count));
  std::memcpy(tensor.bytes.data(), &count, sizeof(count));
}

} // namespace

std::string mpc::addLegacyOptimizerState(ModuleOp module, const std::vector<std::string> &names,
                                         std::vector<keras::StoredTensor> stored,
                                         WeightStore &weights) {
  Declared declared = readDeclared(module);
  if (!declared.iteration)
    return "";
  Old old = sortOut(names, stored);
  // Unnamed slots come one after the other, in the order in which Keras 3 lists them, too.
  const size_t count = declared.parameters;
  size_t next = 0;
  if (old.slots.empty() && count)
    for (const auto &slot : declared.slots) {
      if (next + count > old.unnamed.size())
        break;
      Values values(ArrayRef(old.unnamed).slice(next, count));
      old.slots.insert({slot.first, std::move(values)});
      next += count;
    }
  // Adamax's second slot has a name of its own today.
  if (declared.slots.count("norm") && !old.slots.count("norm") && old.slots.count("velocity")) {
    Values values = old.slots["velocity"];
    old.slots["norm"] = std::move(values);
  }

  std::vector<std::pair<VariableOp, keras::StoredTensor *>> matched;
  if (old.iteration)
    makeInteger(*old.iteration);
  if (old.iteration)
    matched.emplace_back(declared.iteration, old.iteration);
  if (old.dynamicScale && declared.dynamicScale)
    matched.emplace_back(declared.dynamicScale, old.dynamicScale);
  if (old.stepCounter && declared.stepCounter)
    matched.emplace_back(declared.stepCounter, old.stepCounter);
  for (auto &[slot, variables] : declared.slots) {
    auto found = old.slots.find(slot);
    if (found == old.slots.end() || found->second.size() != variables.size())
      return "the file's optimizer state has no '" + slot.str() + "' for each of the " +
             std::to_string(variables.size()) + " variables; the state starts anew";
    for (auto [variable, tensor] : llvm::zip_equal(variables, found->second)) {
      if (!hasShape(*tensor, variable))
        return "the file's optimizer state has another shape than '" + variable.getSymName().str() +
               "'; the state starts anew";
      matched.emplace_back(variable, tensor);
    }
  }
  for (auto &[variable, tensor] : matched)
    weights.add(variable.getSymName().str(),
                {tensor->dtype, tensor->dims, std::move(tensor->bytes)});
  return "";
}
