// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reads declarations and attributes of a module after the kernels phase.
#include "lib/Codegen/CPU/ModuleTables.h"
#include "dialects/mpc/IR/EntryNames.h"
#include "dialects/mpc/IR/Forms.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "dialects/mpcrt/IR/ServicesSize.h"
#include "mpc-rt/executable.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Support/Dtype.h"
#include "mpc/Support/InternalError.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/JSON.h"
#include <map>

using namespace mlir;
using namespace mpc;

static llvm::Expected<TensorEntry> readTensor(StringRef name, Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return internalError("'" + name + "' is no tensor");
  const std::optional<mpc_rt_dtype_t> code = runtimeDtypeOf(tensor.getElementType());
  TensorEntry entry;
  entry.name = name.str();
  entry.dtype = code ? kerasNameOf(*code).str() : "";
  entry.dtypeCode = code.value_or(0);
  if (entry.dtype.empty()) {
    std::string spelling;
    llvm::raw_string_ostream(spelling) << tensor.getElementType();
    return internalError("'" + name + "' has element type " + spelling +
                         ", which the runtime does not know");
  }
  for (int64_t extent : tensor.getShape())
    entry.dims.push_back(ShapedType::isDynamic(extent) ? -1 : extent);
  return entry;
}

static llvm::Error readTensors(ArrayAttr list, std::vector<TensorEntry> &entries) {
  for (auto dictionary : list.getAsRange<DictionaryAttr>()) {
    auto tensor = readTensor(dictionary.getAs<StringAttr>("name").getValue(),
                             dictionary.getAs<TypeAttr>("type").getValue());
    if (!tensor)
      return tensor.takeError();
    if (auto limit = dictionary.getAs<IntegerAttr>("index_limit"))
      tensor->indexLimit = limit.getInt();
    entries.push_back(std::move(*tensor));
  }
  return llvm::Error::success();
}

/// Extents are outputs, which are named.
static llvm::Error readForms(ArrayAttr list, const FunctionEntry &entry,
                             std::vector<TensorEntry> &tensors) {
  for (auto [tensor, dictionary] : llvm::zip_equal(tensors, list.getAsRange<DictionaryAttr>())) {
    Attribute forms = dictionary.get("forms");
    if (findForm<TextAttr>(forms))
      tensor.forms.push_back({MPC_RT_FORM_TEXT, uint32_t(tensor.dims.size() - 1), -1});
    auto bounded = findForm<BoundedAttr>(forms);
    if (!bounded)
      continue;
    auto extent = llvm::find_if(entry.outputs, [&](const TensorEntry &output) {
      return output.name == bounded.getExtent().getValue();
    });
    if (extent == entry.outputs.end())
      return internalError("'" + tensor.name + "' has an extent that is no output");
    tensor.forms.push_back({MPC_RT_FORM_BOUNDED, uint32_t(bounded.getAxis()),
                            int32_t(extent - entry.outputs.begin())});
  }
  return llvm::Error::success();
}

static llvm::Error readVariables(ModuleOp module, ModuleTables &tables) {
  auto seed = module->getAttrOfType<IntegerAttr>(MpcDialect::kSeedAttr);
  llvm::StringMap<int32_t> indices;
  for (VariableOp variable : module.getOps<VariableOp>()) {
    StringRef symbol = variable.getSymName(), name = symbol;
    if (variable.getRole() == VariableRole::Optimizer)
      name.consume_front("optimizer/");
    auto tensor = readTensor(name, variable.getType());
    if (!tensor)
      return tensor.takeError();
    VariableEntry entry;
    entry.tensor = std::move(*tensor);
    entry.symbol = symbol.str();
    entry.role = variable.getRole();
    if (auto initializer = variable.getInitializer()) {
      entry.initializer = initializer->getKind();
      entry.a = initializer->getA().getValueAsDouble();
      entry.b = initializer->getB().getValueAsDouble();
    }
    // The compile-time seed moves every variable to streams of its own.
    entry.stream = tables.variables.size() + (seed ? uint64_t(seed.getInt()) << 32 : 0);
    if (auto of = variable.getShadowOf())
      entry.shadowOf = indices.lookup(*of);
    if (variable.getInParts())
      entry.flags |= MPC_RT_VARIABLE_IN_PARTS;
    indices[symbol] = int32_t(tables.variables.size());
    tables.variables.push_back(std::move(entry));
  }
  for (MetricOp metric : module.getOps<MetricOp>()) {
    uint32_t kind = metric.getComputed() ? 2 : metric.getRoot() ? 1 : 0;
    MetricEntry entry{metric.getName().str(), kind, {}};
    for (auto state : metric.getStates().getAsRange<FlatSymbolRefAttr>())
      entry.states.push_back(uint32_t(indices.lookup(state.getValue())));
    tables.metrics.push_back(std::move(entry));
  }
  return llvm::Error::success();
}

/// Entries that change no weights (the runtime's WeightUse::constant).
static bool onlyReadsWeights(StringRef entry) {
  const std::optional<EntryRole> role = roleOfEntryName(entry);
  return role == EntryRole::Predict || role == EntryRole::Evaluate ||
         role == EntryRole::MetricResults;
}

/// Keras's name of the plain policy with these types, which are in MLIR's spelling.
static std::string policyName(StringRef compute, StringRef variable) {
  auto keras = [](StringRef spelling) {
#define MPC_RT_DTYPE(enumerator, value, bytes, keras, mlir, safetensors, numpy)                    \
  if (spelling == mlir)                                                                            \
    return std::string(keras);
#include "mpc-rt/dtype.inc"
#undef MPC_RT_DTYPE
    return spelling.str();
  };
  return (compute == variable ? "" : "mixed_") + keras(compute);
}

/// The plain policy that most layers have.
static std::string mostCommonPolicy(const std::vector<LayerEntry> &layers) {
  std::map<std::pair<StringRef, StringRef>, size_t> counts;
  for (const LayerEntry &layer : layers)
    ++counts[{layer.compute, layer.variable}];
  auto most = llvm::max_element(counts, llvm::less_second());
  return most == counts.end() ? "float32" : policyName(most->first.first, most->first.second);
}

static float readLossScale(ModuleOp module) {
  for (LossScaleOp scale : module.getOps<LossScaleOp>())
    return float(scale.getInitial().convertToDouble());
  for (OptimizerOp optimizer : module.getOps<OptimizerOp>())
    if (auto scale = optimizer.getStaticScale())
      return float(scale->convertToDouble());
  return 1;
}

/// How Keras's predict hands the outputs out where that is neither one array nor a list of them.
/// The text of a module is not trusted to be JSON.
static llvm::Expected<std::string> readOutputStructure(ModuleOp module,
                                                       ArrayRef<std::string> names) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  if (auto nested = module->getAttrOfType<StringAttr>(MpcDialect::kOutputStructureAttr)) {
    llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(nested.getValue());
    if (!parsed)
      return parsed.takeError();
    stream << *parsed;
  } else if (module->hasAttr(MpcDialect::kOutputDictionaryAttr)) {
    llvm::json::OStream json(stream); // in the order of the outputs, as an Object would not be
    json.object([&] {
      for (auto [i, name] : llvm::enumerate(names))
        json.attribute(name, int64_t(i));
    });
  }
  return text;
}

llvm::Expected<ModuleTables> mpc::readModuleTables(ModuleOp module) {
  ModuleTables tables;
  if (auto hash = module->getAttrOfType<StringAttr>(MpcDialect::kSourceHashAttr))
    tables.sourceHash = hash.str();
  if (llvm::Error error = readVariables(module, tables))
    return error;
  llvm::StringSet<> read; // by code of entries that change no weights
  for (Operation &op : *module.getBody()) {
    auto info = op.getAttrOfType<DictionaryAttr>(mpcrt::MpcrtDialect::kEntryTableAttr);
    if (!info)
      continue;
    FunctionEntry entry;
    entry.name = SymbolTable::getSymbolName(&op).str();
    const auto inputs = info.getAs<ArrayAttr>("inputs"), outputs = info.getAs<ArrayAttr>("outputs");
    if (llvm::Error error = readTensors(inputs, entry.inputs))
      return error;
    if (llvm::Error error = readTensors(outputs, entry.outputs))
      return error;
    if (llvm::Error error = readForms(inputs, entry, entry.inputs))
      return error;
    if (llvm::Error error = readForms(outputs, entry, entry.outputs))
      return error;
    entry.arenaFixed = uint64_t(info.getAs<IntegerAttr>("arena_fixed").getInt());
    entry.arenaPerSample = uint64_t(info.getAs<IntegerAttr>("arena_per_sample").getInt());
    if (onlyReadsWeights(entry.name))
      for (auto symbol : info.getAs<ArrayAttr>("variables_read").getAsRange<FlatSymbolRefAttr>())
        read.insert(symbol.getValue());
    tables.entries.push_back(std::move(entry));
  }
  if (tables.entries.empty())
    return llvm::createStringError(
        "the module has no entries; expected a function that mpcc can call");
  for (VariableEntry &variable : tables.variables)
    if (variable.role == VariableRole::Shadow && !read.contains(variable.symbol))
      variable.flags |= MPC_RT_VARIABLE_ONLY_CONTRACTED;
  auto version = module->getAttrOfType<IntegerAttr>(mpcrt::MpcrtDialect::kAbiVersionAttr);
  if (version && version.getInt() != MPC_RT_ABI_VERSION)
    return llvm::createStringError(
        "the module was lowered for version %d of the runtime's ABI; expected version %u; compile "
        "it again from a phase before 'module'",
        int(version.getInt()), MPC_RT_ABI_VERSION);
  if (auto size = module->getAttrOfType<IntegerAttr>(mpcrt::kServicesSizeAttr))
    tables.servicesSize = size.getInt();
  tables.isDistributed = module->hasAttr(mpcrt::kDistributedAttr);
  if (auto kernels = module->getAttrOfType<ArrayAttr>(mpcrt::MpcrtDialect::kKernelsAttr))
    for (auto kernel : kernels.getAsRange<FlatSymbolRefAttr>())
      tables.kernels.push_back(kernel.getValue().str());
  if (auto names = module->getAttrOfType<ArrayAttr>(MpcDialect::kOutputNamesAttr))
    for (auto name : names.getAsRange<StringAttr>())
      tables.outputNames.push_back(name.str());
  auto structure = readOutputStructure(module, tables.outputNames);
  if (!structure)
    return structure.takeError();
  tables.outputStructure = std::move(*structure);
  if (auto layers = module->getAttrOfType<ArrayAttr>(MpcDialect::kLayersAttr))
    for (auto layer : layers.getAsRange<DictionaryAttr>()) {
      auto text = [&](StringRef key) { return layer.getAs<StringAttr>(key).str(); };
      // Only those of quantized layers say more than the types.
      auto policy = layer.getAs<StringAttr>("policy");
      tables.layers.push_back(
          {text("path"), text("class"),
           policy ? policy.str() : policyName(text("compute"), text("variable")), text("compute"),
           text("variable"), text("accumulate"), text("rule"), std::nullopt});
      if (auto output = layer.getAs<DenseI64ArrayAttr>("output"))
        tables.layers.back().output.emplace(output.asArrayRef().begin(), output.asArrayRef().end());
    }
  tables.policy = mostCommonPolicy(tables.layers);
  tables.lossScale = readLossScale(module);
  for (LossScaleOp scale : module.getOps<LossScaleOp>())
    tables.lossScaleRule = scale.getRule();
  return tables;
}

llvm::Error mpc::checkNames(const ModuleTables &tables, StringRef file) {
  llvm::Error errors = llvm::Error::success();
  auto check = [&](StringRef name, const Twine &what) {
    if (name.contains('\0'))
      errors = llvm::joinErrors(
          std::move(errors),
          llvm::createStringError(file + ":" + name + ": this name of " + what +
                                  " has a null character, where C strings end; expected a name "
                                  "without; rename it in the model"));
  };
  for (const VariableEntry &variable : tables.variables)
    check(variable.tensor.name, "a variable");
  for (const MetricEntry &metric : tables.metrics)
    check(metric.name, "a metric");
  for (const std::string &name : tables.outputNames)
    check(name, "an output");
  if (errors)
    return errors;
  for (const FunctionEntry &entry : tables.entries)
    for (const auto *tensors : {&entry.inputs, &entry.outputs})
      for (const TensorEntry &tensor : *tensors)
        check(tensor.name, "an input or output of " + Twine(entry.name));
  return errors;
}
