// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The frame of the import: numbering and weight groups of layers, the list of unsupported ones,
// variables, policies, and @forward's signature. Calls.cpp walks the graph.
#include "GraphImporter.h"

#include "LayerRegistry.h"
#include "Objects.h"
#include "Operations/OperationBuilder.h"
#include "mpc/Import/Keras/InputError.h"
#include "mpc/Import/Keras/Weights.h"
#include "mpc/Policy/DTypePolicyMap.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include <map>

namespace mpc::keras {

using mlir::Value;

namespace {

/// Whether a config, or one of an object inside it, says `stateful`.
bool saysStateful(const llvm::json::Object &config, unsigned depth = 0) {
  if (config.getBoolean("stateful").value_or(false))
    return true;
  return depth < 16 && llvm::any_of(
                           config,
                           [&](const auto &entry) {
                             const llvm::json::Object *inner = entry.second.getAsObject();
                             return inner && saysStateful(*inner, depth + 1);
                           });
}

bool hasStatefulLayer(const ModelConfig &model) {
  return llvm::any_of(model.layers, [](const LayerConfig &layer) {
    return layer.model ? hasStatefulLayer(*layer.model) : saysStateful(layer.config);
  });
}

} // namespace

GraphImporter::GraphImporter(mlir::MLIRContext &context, llvm::StringRef fileName,
                             const ImportOptions &options,
                             const std::map<std::string, std::string> &vocabularies)
    : context(context), fileName(fileName), options(options), vocabularies(vocabularies),
      builder(&context), location(mlir::FileLineColLoc::get(&context, fileName, 0, 0)) {}

void GraphImporter::report(llvm::StringRef path, const llvm::Twine &message) {
  failed = true;
  errors =
      llvm::joinErrors(std::move(errors),
                       inputError(path.empty() ? fileName : fileName + ":" + path.str(), message));
}

/// Keras names a layer's group after its class, counted within its container
/// (keras/src/saving/saving_lib.py, _save_container_state).
void GraphImporter::index(const ModelConfig &model, llvm::StringRef path, llvm::StringRef group) {
  llvm::StringMap<unsigned> used;
  for (const auto &[position, layer] : llvm::enumerate(model.layers)) {
    order[&layer] = {unsigned(order.size())};
    if (layer.sharedObject)
      sharedLayers.try_emplace(*layer.sharedObject, PlacedLayer{&layer, join(path, layer.name)});
    const bool omitted = model.kind == ModelConfig::Kind::Sequential && position == 0 &&
                         layer.className == "InputLayer";
    if (omitted || isOperation(layer))
      continue;
    const LayerEntry *entry = findLayer(layer);
    std::string name =
        snakeCase(entry && !entry->pythonName.empty() ? llvm::StringRef(entry->pythonName)
                                                      : llvm::StringRef(layer.className));
    const unsigned count = used[name]++;
    if (count)
      name += "_" + std::to_string(count);
    groups[&layer] = join(group, "layers/" + name);
    if (layer.model)
      index(*layer.model, join(path, layer.name), groups[&layer]);
  }
}

/// What to do instead of a layer class of Keras that is not supported.
static llvm::StringRef adviceFor(llvm::StringRef className) {
  return llvm::StringSwitch<llvm::StringRef>(className)
      .Cases({"StringLookup", "TextVectorization"},
             "a compiled model takes numbers, no strings; save the model that begins behind this "
             "layer, and give it the indices")
      .Cases({"Hashing", "HashedCrossing"},
             "save the model that begins behind this layer, and give it the layer's results")
      .Default("the README lists the layers that mpc supports");
}

void GraphImporter::reportUnsupported(const ModelConfig &model, llvm::StringRef path) {
  for (const LayerConfig &layer : model.layers) {
    const std::string place = join(path, layer.name);
    auto refuse = [&](const llvm::Twine &message) {
      report(place, message);
      unsupported.insert(&layer);
    };
    if (isOperation(layer)) {
      if (!findOperation(layer))
        refuse("unsupported operation '" + layer.className +
               "' of keras.ops; use the layer of Keras that does the same");
    } else if (layer.model) {
      reportUnsupported(*layer.model, place);
    } else if (layer.className == "Lambda") {
      refuse("Lambda layers hold Python code, which is never run; replace the layer by "
             "layers of Keras");
    } else if (isOfHub(layer.registeredName) && !findLayer(layer)) {
      // A task's file holds its backbone so.
      const bool isModel = llvm::StringRef(layer.module).contains(".models.");
      refuse("unsupported class '" + layer.className + "' of KerasHub; " +
             (isModel ? "where it is a model, put keras.Model(it.input, it.output) in "
                        "its place (docs/keras-hub.md)"
                      : "docs/keras-hub.md lists what mpc supports"));
    } else if (layer.className != "InputLayer" && !findLayer(layer)) {
      const bool custom =
          !layer.module.empty() && !llvm::StringRef(layer.module).starts_with("keras");
      refuse(llvm::Twine(custom ? "unknown layer class '" : "unsupported layer class '") +
             layer.className + "'; " + adviceFor(custom ? "" : layer.className));
    }
  }
}

mlir::OwningOpRef<mlir::ModuleOp> GraphImporter::run(const ModelConfig &model,
                                                     llvm::StringRef moduleName) {
  index(model, "", "");
  reportUnsupported(model, "");

  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(builder, location, moduleName);
  module.get()->setAttr(MpcDialect::kPhaseAttr, builder.getStringAttr("import"));
  builder.setInsertionPointToEnd(module->getBody());
  forward =
      mlir::func::FuncOp::create(builder, location, "forward", builder.getFunctionType({}, {}));
  body = forward.addEntryBlock();
  builder.setInsertionPointToEnd(body);

  keepsBatch = hasStatefulLayer(model);
  Values outputs;
  if (!importModel(model, "", model.trainable, {}, outputs) && !failed)
    report("", "the model could not be imported"); // every failure reports; this one did not
  if (outputs.empty() && !failed)
    report("", "the model has no outputs");
  for (const auto &[name, shape] : options.inputShapes)
    if (!closedInputs.count(name) && !failed)
      report("", "--input-shape=" + llvm::Twine(name) + ": the model has no such input; it has " +
                     llvm::join(inputNames, ", "));
  if (failed)
    return {};
  outputsAreDictionary = model.outputs.kind == Argument::Kind::Dict &&
                         llvm::all_of(model.outputs.items, [](const Argument &item) {
                           return item.kind == Argument::Kind::Tensor;
                         });
  if (model.kind == ModelConfig::Kind::Sequential)
    outputNames.push_back(model.layers.back().name);
  else if (outputsAreDictionary) // Keras then prefers its keys
                                 // (keras/src/trainers/compile_utils.py)
    outputNames.append(model.outputs.keys.begin(), model.outputs.keys.end());
  else
    for (const TensorRef *tensor : model.outputs.tensors())
      outputNames.push_back(tensor->layer);
  finish(*module, outputs);
  return module;
}

// ---- Variables ----------------------------------------------------------------------------------

Value GraphImporter::getVariable(const LayerBuilder &lb, const VariableRequest &request) {
  mlir::Type element = builder.getF32Type();
  if (request.counter)
    element = builder.getI64Type();
  else if (mlir::isa_and_nonnull<mlir::IntegerType>(request.ownType))
    element = request.ownType;
  auto type = mlir::RankedTensorType::get(request.shape, element);
  llvm::SmallVector<unsigned, 2> &own = variablesOf[&lb.layer];
  const std::string name = join(llvm::StringRef(lb.scope), request.name);
  for (unsigned number : own)
    if (variables[number].name == name) {
      if (variables[number].type == type)
        return variables[number].getCurrent();
      report(lb.path, "two calls of the layer need different shapes of '" + request.name + "'");
      return {};
    }

  auto complain = [&](const llvm::Twine &message) { report(lb.path, message); };
  // The batch is no part of a variable, and sizes are bounded before anybody allocates.
  uint64_t elements = 1;
  for (int64_t extent : request.shape)
    if (extent < 0 || __builtin_mul_overflow(elements, uint64_t(extent), &elements))
      elements = UINT64_MAX;
  if (elements > (uint64_t(1) << 40)) {
    complain("the variable '" + request.name + "' has a shape of more than 2^40 elements");
    return {};
  }
  ModelVariable variable;
  variable.layer = &lb.layer;
  variable.layerPath = lb.path;
  variable.name = name;
  variable.type = type;
  if (mlir::isa_and_nonnull<mlir::FloatType>(request.ownType))
    variable.ownType = request.ownType;
  variable.trainable = lb.trainable && request.trainable && !request.frozen;
  variable.group = request.overwrite || request.firstInFile ? 0 : request.trainable ? 1 : 2;
  variable.autocast = request.autocast;
  variable.stateful = request.stateful;
  const llvm::json::Value *initializer = lb.layer.config.get(request.initializerKey);
  const llvm::json::Value zeros("zeros"), glorot("glorot_uniform"),
      other(request.defaultInitializer);
  if (!initializer || initializer->kind() == llvm::json::Value::Null)
    initializer = !request.defaultInitializer.empty() ? &other
                  : request.name == "kernel"          ? &glorot
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
  variable.initializer = request.initializer
                             ? request.initializer
                             : parseInitializer(context, initializer, request.shape, complain);
  // Keras adds the losses of trainable weights only.
  RegularizerAttr regularizer =
      parseRegularizer(context, lb.layer.config.get(request.regularizerKey), complain);
  if (variable.trainable)
    variable.regularizer = regularizer;
  // Optimizers project what they update.
  ConstraintAttr constraint =
      parseConstraint(context, lb.layer.config.get(request.constraintKey),
                      unsigned(request.shape.size()), request.constraintKey, complain);
  if (variable.trainable)
    variable.constraint = constraint;
  variable.overwrite = request.overwrite;
  variable.derived = request.derived;
  variable.unnamed = request.unnamed;
  variable.quantizer = request.quantizer;
  variable.merge = request.merge;
  if (auto group = groups.find(variable.layer);
      group != groups.end() && !request.stateful && !request.derived)
    variable.dataset =
        group->second + (lb.group.empty() ? "" : "/" + lb.group) + "/vars/" +
        (!request.nameInFile.empty()
             ? request.nameInFile.str()
             : std::to_string(request.firstInFile + llvm::count_if(own, [&](unsigned number) {
                                return !variables[number].derived;
                              })));
  own.push_back(unsigned(variables.size()));
  variable.argument = body->addArgument(type, lb.location);
  variables.push_back(variable);
  return variables.back().argument;
}

Value GraphImporter::findVariable(const LayerConfig &layer, llvm::StringRef name) const {
  auto own = variablesOf.find(&layer);
  if (own == variablesOf.end())
    return {};
  for (unsigned number : own->second)
    if (variables[number].name == name)
      return variables[number].getCurrent();
  return {};
}

void GraphImporter::setUpdate(Value current, Value update) {
  for (ModelVariable &variable : variables)
    if (variable.argument == current || llvm::is_contained(variable.updates, current))
      variable.updates.push_back(update);
}

void GraphImporter::listFirst(Value current, const LayerConfig &wrapper) {
  auto group = groups.find(&wrapper);
  if (group == groups.end())
    return;
  for (ModelVariable &variable : variables)
    if (variable.getCurrent() == current) {
      variable.copy = group->second + "/vars/0";
      variable.group = 0;
    }
}

bool GraphImporter::isStateful(Value current) const {
  return llvm::any_of(variables, [&](const ModelVariable &variable) {
    return variable.stateful && variable.getCurrent() == current;
  });
}

const std::string *GraphImporter::findVocabulary(const LayerConfig &layer) const {
  auto group = groups.find(&layer);
  if (group == groups.end())
    return nullptr;
  auto found = vocabularies.find("assets/" + group->second + "/vocabulary.txt");
  return found == vocabularies.end() ? nullptr : &found->second;
}

void GraphImporter::limitInput(Value input, int64_t limit) {
  auto argument = llvm::dyn_cast<mlir::BlockArgument>(input);
  if (!argument || argument.getOwner() != body || argument.getArgNumber() >= inputNames.size())
    return;
  int64_t &known = indexLimits.try_emplace(input, limit).first->second;
  known = std::min(known, limit);
}

Value GraphImporter::getRandomState() {
  if (!randomState)
    randomState =
        body->addArgument(mlir::RankedTensorType::get({2}, builder.getI64Type()), location);
  return randomState;
}

/// Says on the mpc.layer which of its results is a variable's new value: of a layer that is called
/// twice only the last one returns, but none is rounded to the compute dtype.
static void markUpdate(mlir::OpResult update, mlir::FlatSymbolRefAttr symbol) {
  mlir::Operation *layer = update.getOwner();
  if (!llvm::isa<LayerOp>(layer))
    return; // a scan, which the layers inside say it for
  mlir::Builder builder(layer->getContext());
  llvm::SmallVector<mlir::Attribute> symbols(layer->getNumResults(), builder.getUnitAttr());
  if (auto known = layer->getAttrOfType<mlir::ArrayAttr>(MpcDialect::kUpdatesAttr))
    symbols.assign(known.begin(), known.end());
  symbols[update.getResultNumber()] = symbol;
  layer->setAttr(MpcDialect::kUpdatesAttr, builder.getArrayAttr(symbols));
}

/// Keras's path is the layer's own name and the variable's, whatever the containers; two layers of
/// one name in different containers would collide, so the later gets its containers, too.
void GraphImporter::nameVariables() {
  // Those of one group stay in the order in which they were made.
  std::multimap<std::pair<Place, unsigned>, ModelVariable> ordered;
  for (ModelVariable &variable : variables)
    ordered.emplace(std::make_pair(order.lookup(variable.layer), variable.group),
                    std::move(variable));
  variables.clear();
  for (auto &[place, variable] : ordered)
    variables.push_back(std::move(variable));
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
      for (const ModelVariable &other : variables)
        if (other.layer == variable.layer) {
          if (other.name == variable.name + "_scale")
            variable.scalePath = other.path;
          else if (other.name == variable.name + "_zero")
            variable.zeroPath = other.path;
          else if (llvm::StringRef(other.name).ends_with("g_idx"))
            variable.groupsPath = other.path;
          else if (other.name == "lora_" + variable.name + "_a")
            variable.firstFactorPath = other.path;
          else if (other.name == "lora_" + variable.name + "_b")
            variable.secondFactorPath = other.path;
        }
}

// ---- The signature of @forward ------------------------------------------------------------------

void GraphImporter::finish(mlir::ModuleOp module, llvm::ArrayRef<Value> outputs) {
  nameVariables();
  const unsigned inputs = unsigned(inputNames.size()), collected = body->getNumArguments();
  for (ModelVariable &variable : variables) {
    mlir::BlockArgument sorted = body->addArgument(variable.type, variable.argument.getLoc());
    variable.argument.replaceAllUsesWith(sorted);
    variable.argument = sorted;
  }
  if (randomState) {
    mlir::BlockArgument last = body->addArgument(randomState.getType(), location);
    randomState.replaceAllUsesWith(last);
    randomState = last;
  }
  llvm::SmallVector<Value> results(outputs);
  results.append(lossTerms);
  // Losses and metrics leave out what the mask of an output leaves out (keras/src/losses/loss.py).
  llvm::SmallVector<unsigned> maskOf;
  for (const auto &[index, output] : llvm::enumerate(outputs))
    if (Value mask = masks.lookup(output)) {
      maskOf.push_back(unsigned(index));
      results.push_back(mask);
    }
  llvm::SmallVector<const ModelVariable *> updated;
  for (const ModelVariable &variable : variables)
    if (!variable.updates.empty()) {
      updated.push_back(&variable);
      results.push_back(variable.updates.back());
    }
  if (randomState)
    results.push_back(RandomAdvanceOp::create(builder, location, randomState));
  mlir::func::ReturnOp::create(builder, location, results);
  body->eraseArguments(inputs, collected - inputs);
  forward.setFunctionType(
      builder.getFunctionType(body->getArgumentTypes(), mlir::ValueRange(results).getTypes()));

  auto symbol = [&](llvm::StringRef name) { return mlir::FlatSymbolRefAttr::get(&context, name); };
  constexpr llvm::StringLiteral kRandomState("seed_generator/state");
  for (const auto &[index, name] : llvm::enumerate(inputNames))
    forward.setArgAttr(index, MpcDialect::kInputAttr, builder.getStringAttr(name));
  for (const auto &[index, variable] : llvm::enumerate(variables))
    forward.setArgAttr(inputs + index, MpcDialect::kVariableAttr, symbol(variable.path));
  for (size_t index = 0; index < outputs.size(); ++index)
    forward.setResultAttr(index, MpcDialect::kOutputAttr,
                          builder.getStringAttr("out" + llvm::Twine(index)));
  for (size_t index = 0; index < lossTerms.size(); ++index) {
    const unsigned result = unsigned(outputs.size() + index);
    forward.setResultAttr(result, MpcDialect::kOutputAttr,
                          builder.getStringAttr("loss_term" + llvm::Twine(index)));
    forward.setResultAttr(result, MpcDialect::kLossTermAttr, builder.getUnitAttr());
  }
  for (const auto &[index, output] : llvm::enumerate(maskOf)) {
    const unsigned result = unsigned(outputs.size() + lossTerms.size() + index);
    forward.setResultAttr(result, MpcDialect::kOutputAttr,
                          builder.getStringAttr("mask" + llvm::Twine(output)));
    forward.setResultAttr(result, MpcDialect::kMaskAttr, builder.getUnitAttr());
  }
  const unsigned firstUpdate = unsigned(results.size() - updated.size()) - (randomState ? 1 : 0);
  for (const auto &[index, variable] : llvm::enumerate(updated)) {
    const unsigned result = firstUpdate + unsigned(index);
    forward.setResultAttr(result, MpcDialect::kUpdatesAttr, symbol(variable->path));
    if (variable->stateful)
      forward.setResultAttr(result, MpcDialect::kStatefulAttr, builder.getUnitAttr());
  }
  for (const ModelVariable *variable : updated)
    for (Value update : variable->updates)
      markUpdate(llvm::cast<mlir::OpResult>(update), symbol(variable->path));
  for (const auto &[input, limit] : indexLimits)
    forward.setArgAttr(llvm::cast<mlir::BlockArgument>(input).getArgNumber(),
                       MpcDialect::kIndexLimitAttr, builder.getI64IntegerAttr(limit));
  builder.setInsertionPointToStart(module.getBody());
  for (const ModelVariable &variable : variables) {
    VariableOp op = VariableOp::create(
        builder, variable.argument.getLoc(), variable.path, variable.type,
        variable.trainable ? VariableRole::Trainable : VariableRole::NonTrainable,
        builder.getStringAttr(variable.layerPath), variable.initializer, variable.regularizer,
        variable.constraint, variable.autocast, mlir::FlatSymbolRefAttr());
    if (variable.ownType)
      op->setAttr("mpc.own_type", mlir::TypeAttr::get(variable.ownType));
    if (variable.overwrite && variable.trainable)
      op->setAttr(MpcDialect::kOverwriteAttr, builder.getUnitAttr());
  }
  if (randomState) {
    forward.setArgAttr(randomState.getArgNumber(), MpcDialect::kVariableAttr, symbol(kRandomState));
    forward.setResultAttr(results.size() - 1, MpcDialect::kUpdatesAttr, symbol(kRandomState));
    VariableOp::create(
        builder, location, kRandomState, llvm::cast<mlir::RankedTensorType>(randomState.getType()),
        VariableRole::Random, mlir::StringAttr(), InitializerAttr(), RegularizerAttr(),
        ConstraintAttr(), /*autocast=*/false, mlir::FlatSymbolRefAttr());
  }
}

} // namespace mpc::keras
