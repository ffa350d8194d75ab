// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/VariableTable.h"

#include "lib/Import/Keras/Objects.h"

#include "llvm/ADT/StringSet.h"

namespace mpc::keras {

using mlir::Value;
using Complain = llvm::function_ref<void(const llvm::Twine &)>;

// ---- What a layer asks for ----------------------------------------------------------------------

/// The batch is no part of a variable, and sizes are bounded before anybody allocates.
static bool hasBoundedSize(llvm::ArrayRef<int64_t> shape) {
  uint64_t elements = 1;
  for (int64_t extent : shape)
    if (extent < 0 || __builtin_mul_overflow(elements, uint64_t(extent), &elements))
      return false;
  return elements <= (uint64_t(1) << 40);
}

static InitializerAttr makeZeroInitializer(mlir::MLIRContext &context) {
  const auto zero = mlir::FloatAttr::get(mlir::Float64Type::get(&context), 0.0);
  return InitializerAttr::get(&context, InitializerKind::Zeros, zero, zero);
}

static InitializerAttr readInitializer(mlir::MLIRContext &context, const llvm::json::Object &config,
                                       const VariableRequest &request, Complain complain,
                                       Complain unknown) {
  if (request.initializer)
    return request.initializer;
  const llvm::json::Value *initializer = config.get(request.initializerKey);
  const llvm::json::Value zeros("zeros"), glorot("glorot_uniform"), orthogonal("orthogonal"),
      other(request.defaultInitializer);
  if (!initializer || initializer->kind() == llvm::json::Value::Null)
    initializer = !request.defaultInitializer.empty()  ? &other
                  : request.name == "recurrent_kernel" ? &orthogonal
                  : request.name.ends_with("kernel")   ? &glorot
                                                       : &zeros;
  llvm::json::Value withAxes = nullptr;
  if (!request.inputAxes.empty()) {
    // As EinsumDense hands them to its initializer; those that the file says stand.
    SerializedObject object = readObject(initializer);
    if (!object.config.get("input_axes") || !object.config.getArray("input_axes")) {
      object.config["input_axes"] = llvm::json::Array(request.inputAxes);
      object.config["output_axes"] = llvm::json::Array(request.outputAxes);
    }
    withAxes =
        llvm::json::Object{{"class_name", object.className}, {"config", std::move(object.config)}};
    initializer = &withAxes;
  }
  return parseInitializer(context, initializer, request.shape, complain, unknown);
}

/// The dataset of the weight file; empty: none holds the variable.
std::string VariableTable::placeInFile(const VariableOwner &owner,
                                       const VariableRequest &request) const {
  const std::string *group = tree.findGroup(owner.layer);
  if (!group || request.stateful || request.derived)
    return "";
  std::string number = request.nameInFile.str();
  if (number.empty())
    number = std::to_string(request.firstInFile +
                            llvm::count_if(variablesOf.lookup(&owner.layer),
                                           [&](unsigned own) { return !variables[own].derived; }));
  return *group + (owner.group.empty() ? "" : "/" + owner.group.str()) + "/vars/" + number;
}

ModelVariable VariableTable::make(const VariableOwner &owner, const VariableRequest &request,
                                  mlir::RankedTensorType type) const {
  mlir::MLIRContext &context = *owner.location.getContext();
  auto complain = [&](const llvm::Twine &message) { report.error(owner.path, message); };
  ModelVariable variable;
  variable.layer = &owner.layer;
  variable.layerPath = owner.path;
  variable.name = join(owner.scope, request.name);
  variable.dataset = placeInFile(owner, request);
  variable.type = type;
  if (mlir::isa_and_nonnull<mlir::FloatType>(request.ownType))
    variable.ownType = request.ownType;
  variable.mayTrain = request.trainable && !request.frozen && !request.overwrite;
  variable.ownTrainable = owner.trainable && request.trainable && !request.frozen;
  variable.trainable = variable.ownTrainable && modelIsTrainable;
  variable.group = request.overwrite || request.firstInFile ? 0 : request.trainable ? 1 : 2;
  variable.autocast = request.autocast;
  variable.stateful = request.stateful;
  variable.overwrite = request.overwrite;
  variable.derived = request.derived;
  variable.unnamed = request.unnamed;
  variable.quantizer = request.quantizer;
  variable.merge = request.merge;
  const llvm::json::Object &config = owner.layer.config;
  const auto leaveOutStart = [&](const llvm::Twine &message) {
    report.leaveOut(owner.layer, owner.path, message, /*onlyTraining=*/false);
  };
  const auto leaveOutTerm = [&](const llvm::Twine &message) {
    report.leaveOut(owner.layer, owner.path, message, /*onlyTraining=*/variable.trainable);
  };
  variable.initializer = readInitializer(context, config, request, complain, leaveOutStart);
  if (!variable.initializer)
    variable.initializer = makeZeroInitializer(context);
  RegularizerAttr regularizer =
      parseRegularizer(context, config.get(request.regularizerKey), complain, leaveOutTerm);
  ConstraintAttr constraint =
      parseConstraint(context, config.get(request.constraintKey), unsigned(request.shape.size()),
                      request.constraintKey, complain, leaveOutTerm);
  // They act on variables that train only, which options may choose.
  if (variable.trainable || variable.mayTrain) {
    variable.regularizer = regularizer;
    variable.constraint = constraint;
  }
  return variable;
}

Value VariableTable::getValue(const VariableOwner &owner, const VariableRequest &request) {
  mlir::Builder &builder = forward.builder;
  mlir::Type element = builder.getF32Type();
  if (request.counter)
    element = builder.getI64Type();
  else if (mlir::isa_and_nonnull<mlir::IntegerType>(request.ownType))
    element = request.ownType;
  auto type = mlir::RankedTensorType::get(request.shape, element);
  const std::string name = join(owner.scope, request.name);
  llvm::SmallVector<unsigned, 2> &own = variablesOf[&owner.layer];
  for (unsigned number : own)
    if (variables[number].name == name) {
      if (variables[number].type == type)
        return variables[number].getCurrent();
      report.error(owner.path,
                   "two calls of the layer need different shapes of '" + request.name + "'");
      return {};
    }
  if (!hasBoundedSize(request.shape)) {
    report.error(owner.path,
                 "the variable '" + request.name + "' has a shape of more than 2^40 elements");
    return {};
  }
  ModelVariable variable = make(owner, request, type);
  variable.argument = forward.addVariable(type, owner.location);
  variable.made = unsigned(own.size());
  own.push_back(unsigned(variables.size()));
  variables.push_back(std::move(variable));
  return variables.back().argument;
}

// ---- What is there already ----------------------------------------------------------------------

Value VariableTable::findValue(const LayerConfig &layer, llvm::StringRef name) const {
  auto own = variablesOf.find(&layer);
  if (own == variablesOf.end())
    return {};
  for (unsigned number : own->second)
    if (variables[number].name == name)
      return variables[number].getCurrent();
  return {};
}

void VariableTable::setUpdate(Value current, Value update) {
  for (ModelVariable &variable : variables)
    if (variable.argument == current || llvm::is_contained(variable.updates, current))
      variable.updates.push_back(update);
}

void VariableTable::listFirst(Value current, const LayerConfig &wrapper) {
  const std::string *group = tree.findGroup(wrapper);
  if (!group)
    return;
  for (ModelVariable &variable : variables)
    if (variable.getCurrent() == current) {
      variable.copy = *group + "/vars/0";
      variable.group = 0;
    }
}

bool VariableTable::isStateful(Value current) const {
  return llvm::any_of(variables, [&](const ModelVariable &variable) {
    return variable.stateful && variable.getCurrent() == current;
  });
}

// ---- Order and paths ----------------------------------------------------------------------------

void VariableTable::finish() {
  sort();
  name();
}

/// Model.variables; those of one group stay in the order in which they were made.
void VariableTable::sort() {
  std::multimap<std::pair<LayerTree::Place, unsigned>, ModelVariable> ordered;
  for (ModelVariable &variable : variables)
    ordered.emplace(std::make_pair(tree.getPlace(*variable.layer), variable.group),
                    std::move(variable));
  variables.clear();
  for (auto &[place, variable] : ordered)
    variables.push_back(std::move(variable));
}

/// Keras's path is the layer's own name and the variable's, whatever the containers; two layers of
/// one name in different containers would collide, so the later gets its containers, too.
void VariableTable::name() {
  llvm::StringSet<> taken;
  unsigned unnamed = 0;
  for (ModelVariable &variable : variables) {
    if (variable.unnamed) {
      variable.name = unnamed == 0 ? "variable" : "variable_" + std::to_string(unnamed);
      ++unnamed;
    }
    std::string path = join(variable.layer->name, variable.name);
    if (!taken.insert(path).second) {
      const std::string full = join(variable.layerPath, variable.name);
      path = full;
      for (unsigned suffix = 1; !taken.insert(path).second; ++suffix)
        path = full + "_" + std::to_string(suffix);
    }
    variable.path = path;
  }
  for (ModelVariable &variable : variables)
    if (variable.quantizer || variable.merge)
      nameParts(variable);
}

/// The paths of what belongs to a quantized kernel, or to one with LoRA's factors.
void VariableTable::nameParts(ModelVariable &kernel) {
  for (const ModelVariable &other : variables) {
    if (other.layer != kernel.layer)
      continue;
    if (other.name == kernel.name + "_scale")
      kernel.scalePath = other.path;
    else if (other.name == kernel.name + "_zero")
      kernel.zeroPath = other.path;
    else if (llvm::StringRef(other.name).ends_with("g_idx"))
      kernel.groupsPath = other.path;
    else if (other.name == "lora_" + kernel.name + "_a")
      kernel.firstFactorPath = other.path;
    else if (other.name == "lora_" + kernel.name + "_b")
      kernel.secondFactorPath = other.path;
  }
}

void VariableTable::declare(mlir::OpBuilder &builder) const {
  for (const ModelVariable &variable : variables) {
    VariableOp::create(builder, variable.argument.getLoc(), variable.path, variable.type,
                       variable.trainable ? VariableRole::Trainable : VariableRole::NonTrainable,
                       builder.getStringAttr(variable.layerPath), variable.initializer,
                       variable.regularizer, variable.constraint, variable.autocast,
                       mlir::FlatSymbolRefAttr(),
                       variable.ownType ? mlir::TypeAttr::get(variable.ownType) : mlir::TypeAttr(),
                       variable.overwrite && variable.trainable);
  }
}

} // namespace mpc::keras
