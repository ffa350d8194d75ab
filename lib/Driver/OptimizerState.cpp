// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Matching stored optimizer variables with declared ones by order and shape.
#include "lib/Driver/OptimizerState.h"
#include "lib/Driver/LegacyOptimizerState.h"
#include "llvm/Support/FormatVariadic.h"
#include <cstring>

using namespace mlir;
using namespace mpc;

/// iteration, learning_rate, step_counter, dynamic_scale of a LossScaleOptimizer.
static constexpr size_t kScalerVariables = 4;

/// The class's name in small letters, without package and underscores: "Custom>Adam", "adam".
static std::string classOf(const llvm::json::Value &optimizer) {
  if (const llvm::json::Object *object = optimizer.getAsObject()) {
    const llvm::json::Object *config = object->getObject("config");
    if (const llvm::json::Value *inner = config ? config->get("inner_optimizer") : nullptr)
      return classOf(*inner);
    const llvm::json::Value *name = object->get("class_name");
    return name && name->getAsString() ? classOf(*name) : "";
  }
  StringRef text = optimizer.getAsString().value_or("");
  std::string name = text.substr(text.rfind('>') + 1).lower();
  llvm::erase(name, '_');
  return name;
}

bool mpc::isSameOptimizer(const llvm::json::Value &a, const llvm::json::Value &b) {
  return classOf(a) == classOf(b);
}

void mpc::dropLearningRate(ModuleOp module, WeightStore &weights) {
  for (VariableOp variable : module.getOps<VariableOp>())
    if (variable.getRole() == VariableRole::Optimizer &&
        variable.getSymName().ends_with("/learning_rate"))
      weights.remove(variable.getSymName().str());
}

bool mpc::hasStepped(ArrayRef<keras::StoredTensor> stored) {
  return llvm::any_of(stored, [](const keras::StoredTensor &tensor) {
    return (tensor.dtype == MPC_RT_INT64 || tensor.dtype == MPC_RT_INT32) &&
           llvm::any_of(tensor.bytes, [](uint8_t byte) { return byte != 0; });
  });
}

bool mpc::holdsState(ArrayRef<keras::StoredTensor> stored) {
  auto isCounter = [](const keras::StoredTensor &tensor) {
    return tensor.dtype == MPC_RT_INT64 || tensor.dtype == MPC_RT_INT32;
  };
  if (llvm::any_of(stored, isCounter))
    return hasStepped(stored);
  return llvm::any_of(stored, [](const keras::StoredTensor &tensor) {
    return llvm::any_of(tensor.bytes, [](uint8_t byte) { return byte != 0; });
  });
}

bool mpc::isListedWhenScaled(VariableOp variable) { return !variable.getUnlistedWhenScaled(); }

std::string mpc::addOptimizerState(ModuleOp module, OptimizerFamily family,
                                   const std::vector<std::string> &names,
                                   std::vector<keras::StoredTensor> stored, WeightStore &weights) {
  if (stored.empty())
    return "";
  if (!names.empty() || (family != OptimizerFamily::Keras3 && isLegacyList(module, stored)))
    return addLegacyOptimizerState(module, family, names, std::move(stored), weights);
  SmallVector<VariableOp> declared;
  for (VariableOp variable : module.getOps<VariableOp>())
    if (variable.getRole() == VariableRole::Optimizer)
      declared.push_back(variable);
  if (declared.empty())
    return "";
  size_t skipStored = 0, skipDeclared = 0;
  bool scales = !module.getOps<LossScaleOp>().empty();
  // A LossScaleOptimizer's file lacks some; they start anew, as in Keras.
  const bool isScaled =
      stored.size() > kScalerVariables &&
      llvm::all_of(ArrayRef(stored).take_front(kScalerVariables + 1),
                   [](const keras::StoredTensor &tensor) { return tensor.dims.empty(); });
  const size_t listed = llvm::count_if(declared, isListedWhenScaled);
  if (isScaled && listed < declared.size() &&
      stored.size() == listed + (scales ? 0 : kScalerVariables))
    llvm::erase_if(declared, [](VariableOp variable) { return !isListedWhenScaled(variable); });
  if (stored.size() == declared.size() + kScalerVariables && !scales &&
      llvm::all_of(ArrayRef(stored).take_front(kScalerVariables),
                   [](const keras::StoredTensor &tensor) { return tensor.dims.empty(); }))
    skipStored = kScalerVariables;
  else if (declared.size() == stored.size() + kScalerVariables && scales)
    skipDeclared = kScalerVariables;
  else if (declared.size() != stored.size() && !hasStepped(stored))
    return ""; // compiled and saved, never trained: there is no state to lose
  else if (declared.size() != stored.size())
    return "the file holds " + std::to_string(stored.size()) +
           " optimizer variables, the optimizer has " + std::to_string(declared.size()) +
           "; its state starts anew";
  for (size_t i = 0; i + skipDeclared < declared.size(); ++i) {
    auto type = cast<RankedTensorType>(declared[i + skipDeclared].getType());
    if (type.getShape() != ArrayRef<int64_t>(stored[i + skipStored].dims))
      return !hasStepped(stored) ? ""
                                 : "optimizer variable " + std::to_string(i) +
                                       " of the file has another shape than '" +
                                       declared[i + skipDeclared].getSymName().str() +
                                       "'; the optimizer's state starts anew";
  }
  for (size_t i = 0; i + skipDeclared < declared.size(); ++i) {
    keras::StoredTensor &tensor = stored[i + skipStored];
    weights.add(declared[i + skipDeclared].getSymName().str(),
                {tensor.dtype, tensor.dims, std::move(tensor.bytes)});
  }
  return "";
}

std::string mpc::findScaleOutOfBounds(ModuleOp module, const WeightStore &weights) {
  for (LossScaleOp declaration : module.getOps<LossScaleOp>()) {
    const rules::LossScaleRule rule = declaration.getRule();
    auto stored = weights.all().find("optimizer/loss_scale_optimizer/dynamic_scale");
    float scale;
    if (stored == weights.all().end() || stored->second.bytes.size() != sizeof scale)
      continue;
    std::memcpy(&scale, stored->second.bytes.data(), sizeof scale);
    if (!rule.allows(scale))
      return llvm::formatv(
                 "the loss scale of its optimizer is {0}; expected {1} to {2}, as "
                 "--loss-scale says; choose bounds that include it, or --optimizer=... to "
                 "start anew",
                 scale, rule.minimum, rule.maximum)
          .str();
  }
  return "";
}

void mpc::completeOptimizerState(ModuleOp module, WeightStore &weights) {
  SmallVector<VariableOp> missing;
  bool any = false;
  for (VariableOp variable : module.getOps<VariableOp>()) {
    if (variable.getRole() != VariableRole::Optimizer)
      continue;
    if (weights.all().count(variable.getSymName().str()))
      any = true;
    else
      missing.push_back(variable);
  }
  for (VariableOp variable : any ? missing : SmallVector<VariableOp>()) {
    std::optional<InitializerAttr> initializer = variable.getInitializer();
    double value = 0;
    if (initializer && initializer->getKind() == InitializerKind::Ones)
      value = 1;
    else if (initializer && initializer->getKind() == InitializerKind::Constant)
      value = initializer->getA().getValueAsDouble();
    auto type = cast<RankedTensorType>(variable.getType());
    Weight weight;
    weight.dims = type.getShape().vec();
    const size_t count = size_t(type.getNumElements());
    auto fill = [&](auto element, mpc_rt_dtype_t dtype) {
      weight.dtype = dtype;
      weight.bytes.resize(count * sizeof(element));
      for (size_t i = 0; i < count; ++i)
        std::memcpy(&weight.bytes[i * sizeof(element)], &element, sizeof(element));
    };
    if (isa<IntegerType>(type.getElementType()))
      fill(int64_t(value), MPC_RT_INT64);
    else
      fill(float(value), MPC_RT_FLOAT32);
    weights.add(variable.getSymName().str(), std::move(weight));
  }
}
