// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Keras 2's slots under Keras 3's names.
#include "lib/Driver/LegacyOptimizerState.h"
#include "dialects/mpc/IR/Mpc.h"
#include "lib/Driver/OptimizerState.h"
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
    {"r", "r"},
    {"c", "c"},
    {"average", "average"},
    {"average_gradient", "average_gradient"},
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

/// The optimizer variables that the module declares.
struct Declared {
  OptimizerOp optimizer;
  VariableOp iteration, dynamicScale, stepCounter, shared;
  /// Slots by name, each in the order of the parameters; all that Keras 2 keeps, in its own order.
  llvm::MapVector<StringRef, SmallVector<VariableOp>> slots;
  SmallVector<VariableOp> listed;
  SmallVector<VariableOp> parameters;
};

Declared readDeclared(ModuleOp module) {
  Declared declared;
  for (OptimizerOp optimizer : module.getOps<OptimizerOp>())
    declared.optimizer = optimizer;
  SmallVector<std::string> prefixes; // of slots: the variable's path with underscores
  for (VariableOp variable : module.getOps<VariableOp>())
    if (variable.getRole() == VariableRole::Trainable) {
      std::string name = variable.getSymName().str();
      std::replace(name.begin(), name.end(), '/', '_');
      prefixes.push_back(name + "_");
      declared.parameters.push_back(variable);
    }
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
    if (symbol.count('/') == 1)
      declared.shared = variable; // what rules share has no path of the optimizer's own
    StringRef name = symbol.rsplit('/').second;
    if (name == "iteration")
      declared.iteration = variable;
    // Placeholders and what is shared are no variables of Keras 2's optimizers, nor is the rate.
    if (!isListedWhenScaled(variable) || name == "learning_rate")
      continue;
    declared.listed.push_back(variable);
    const std::string *longest = nullptr;
    for (const std::string &prefix : prefixes)
      if (name.starts_with(prefix) && (!longest || prefix.size() > longest->size()))
        longest = &prefix;
    if (longest)
      declared.slots[name.drop_front(longest->size())].push_back(variable);
  }
  return declared;
}

/// The values of the file, by Keras 3's slot name, each in the order of the parameters.
struct Old {
  keras::StoredTensor *iteration = nullptr, *dynamicScale = nullptr, *stepCounter = nullptr,
                      *shared = nullptr;
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
    } else if (tensor.dims.empty() && (last == "momentum_cache" || last == "m_schedule")) {
      old.shared = &tensor;
    } else if (components.size() > 2 && !slotOf(last).empty()) {
      old.slots[slotOf(last)].push_back(&tensor); // Adam/dense/kernel/m
    } else if (components.size() > 1 && !slotOf(components[0]).empty()) {
      old.slots[slotOf(components[0])].push_back(&tensor); // m/dense/kernel
    } else if (components.size() > 2 && !slotOf(components[1]).empty()) {
      old.slots[slotOf(components[1])].push_back(&tensor); // Adam/m/dense/kernel
    } else if (!tensor.dims.empty()) {
      old.unnamed.push_back(&tensor); // training/Adam/variable_3, param_3
    }
  }
  return old;
}

ArrayRef<int64_t> shapeOf(VariableOp variable) {
  return cast<RankedTensorType>(variable.getType()).getShape();
}

bool hasShape(const keras::StoredTensor &tensor, VariableOp variable) {
  return shapeOf(variable) == ArrayRef<int64_t>(tensor.dims);
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

int64_t integerOf(const keras::StoredTensor &tensor) {
  int64_t count = 0;
  if (tensor.dtype == MPC_RT_INT64 && tensor.bytes.size() == sizeof(count))
    std::memcpy(&count, tensor.bytes.data(), sizeof(count));
  return count;
}

using Matches = std::vector<std::pair<VariableOp, keras::StoredTensor *>>;

/// SGD of Keras 2.11 and later keeps a momentum of every variable, also where it is 0 and nothing
/// reads it.
bool hasIdleMomentum(Declared &declared, ArrayRef<keras::StoredTensor> stored) {
  const size_t listed = declared.listed.size();
  if (!isa<SGDAttr>(declared.optimizer.getRule()) || declared.slots.count("momentum") ||
      stored.size() != listed + declared.parameters.size())
    return false;
  return llvm::all_of(llvm::zip_equal(stored.drop_front(listed), declared.parameters),
                      [](const auto &pair) {
                        auto [tensor, variable] = pair;
                        return hasShape(tensor, variable);
                      });
}

/// Variables that archives number, in Keras's order.
std::string matchNumbered(Declared &declared, std::vector<keras::StoredTensor> &stored,
                          Matches &matched) {
  for (auto [variable, tensor] : llvm::zip(declared.listed, stored)) {
    if (!hasShape(tensor, variable))
      return "the file's optimizer state has another shape than '" + variable.getSymName().str() +
             "'; the state starts anew";
    matched.emplace_back(variable, &tensor);
  }
  return "";
}

std::string matchNamed(Declared &declared, const std::vector<std::string> &names,
                       std::vector<keras::StoredTensor> &stored, Matches &matched) {
  Old old = sortOut(names, stored);
  // Unnamed slots come one after the other, in the order in which Keras 3 lists them, too.
  const size_t count = declared.parameters.size();
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
  if (old.iteration)
    makeInteger(*old.iteration);
  for (auto [variable, tensor] :
       {std::pair(declared.iteration, old.iteration),
        std::pair(declared.dynamicScale, old.dynamicScale),
        std::pair(declared.stepCounter, old.stepCounter), std::pair(declared.shared, old.shared)})
    if (variable && tensor)
      matched.emplace_back(variable, tensor);
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
  return "";
}

/// A model that is inside of two others is in the file twice, with state for one: Keras 2.11 and
/// later takes state by place, up to the first of another shape (Optimizer.set_weights), and older
/// ones take none.
std::string matchFirst(Declared &declared, std::vector<keras::StoredTensor> &stored,
                       Matches &matched) {
  matched.clear();
  for (auto [variable, tensor] : llvm::zip(declared.listed, stored)) {
    if (!hasShape(tensor, variable))
      break;
    matched.emplace_back(variable, &tensor);
  }
  return "the file's optimizer state has " + std::to_string(stored.size()) +
         " variables, the optimizer " + std::to_string(declared.listed.size()) + "; the first " +
         std::to_string(matched.size()) +
         " are taken over as they come, as Keras 2 does, the others start anew; name the optimizer "
         "(--optimizer) to train without that state";
}

/// The values that the rule's variables share follow from the iterations where the file leaves them
/// out.
void addShared(Declared &declared, int64_t iterations, WeightStore &weights) {
  if (!declared.shared || weights.all().count(declared.shared.getSymName().str()))
    return;
  auto rule = cast<OptimizerRuleAttrInterface>(declared.optimizer.getRule());
  SmallVector<double> values = rule.getSharedAfter(iterations, int64_t(declared.parameters.size()));
  auto type = cast<RankedTensorType>(declared.shared.getType());
  if (values.size() != 1 || !type.getElementType().isF32())
    return;
  const float value = float(values.front());
  Weight weight;
  weight.dtype = MPC_RT_FLOAT32;
  weight.bytes.resize(sizeof(value));
  std::memcpy(weight.bytes.data(), &value, sizeof(value));
  weights.add(declared.shared.getSymName().str(), std::move(weight));
}

} // namespace

bool mpc::isLegacyList(ModuleOp module, ArrayRef<keras::StoredTensor> stored) {
  Declared declared = readDeclared(module);
  return declared.optimizer &&
         (stored.size() == declared.listed.size() || hasIdleMomentum(declared, stored));
}

std::string mpc::addLegacyOptimizerState(ModuleOp module, OptimizerFamily family,
                                         const std::vector<std::string> &names,
                                         std::vector<keras::StoredTensor> stored,
                                         WeightStore &weights) {
  Declared declared = readDeclared(module);
  if (!declared.iteration || !declared.optimizer || stored.empty())
    return "";
  Matches matched;
  std::string problem = names.empty() ? matchNumbered(declared, stored, matched)
                                      : matchNamed(declared, names, stored, matched);
  if (!problem.empty() && !holdsState(stored))
    return "";
  if (!problem.empty() &&
      (family != OptimizerFamily::Keras2 || names.empty() || declared.dynamicScale))
    return problem;
  if (!problem.empty())
    problem = matchFirst(declared, stored, matched);
  int64_t iterations = 0;
  for (auto &[variable, tensor] : matched) {
    if (variable == declared.iteration)
      iterations = integerOf(*tensor);
    weights.add(variable.getSymName().str(),
                {tensor->dtype, tensor->dims, std::move(tensor->bytes)});
  }
  if (!matched.empty())
    addShared(declared, iterations, weights);
  return problem;
}
