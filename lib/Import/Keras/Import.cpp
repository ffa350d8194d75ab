// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From a file to an ImportedModel: reads, parses, builds the graph, matches the weights.
#include "mpc/Import/Keras/Import.h"

#include "lib/Import/Keras/GraphImporter.h"
#include "lib/Import/Keras/Legacy/Config.h"
#include "lib/Import/Keras/Legacy/Version.h"
#include "lib/Import/Keras/ModelWeights.h"
#include "lib/Import/Keras/Quantization/LowRank.h"
#include "mpc/Import/Keras/Archive.h"
#include "mpc/Import/Keras/InputError.h"

namespace mpc::keras {
namespace {

namespace json = llvm::json;

/// The contents of a model file of any kind.
struct ModelFile {
  FileKind kind = FileKind::Other;
  Archive archive;       ///< Zip, Json
  Hdf5File hdf5;         ///< Hdf5
  std::string config;    ///< text of the architecture
  bool isLegacy = false; ///< the text is not what config.json would hold
  KerasVersion version;  ///< whose formulas and defaults it means
  TrainingRules trainingRules;
};

llvm::Expected<ModelFile> readModelFile(llvm::MemoryBufferRef file) {
  ModelFile result;
  result.kind = sniffContent(file.getBuffer());
  switch (result.kind) {
  case FileKind::Hdf5: {
    llvm::Expected<Hdf5File> read = readHdf5(file);
    if (!read)
      return read.takeError();
    result.hdf5 = std::move(*read);
    result.config = result.hdf5.textAt("", "model_config");
    if (result.config.empty())
      return inputError(file.getBufferIdentifier(),
                        "the HDF5 file holds no model_config: weights alone; bring them together "
                        "with their architecture: mpc-convert FILE --model ARCHITECTURE.json -o "
                        "MODEL.keras");
    return result;
  }
  case FileKind::Json:
    result.config = file.getBuffer().str();
    return result;
  case FileKind::Zip:
  case FileKind::Other: // the archive reader says best what is wrong with it
    break;
  }
  llvm::Expected<Archive> read = readArchive(file);
  if (!read)
    return read.takeError();
  result.archive = std::move(*read);
  result.config = std::move(result.archive.config);
  return result;
}

/// The version that the file states, as text.
std::string statedVersion(const ModelFile &file, const json::Object &model) {
  for (llvm::StringRef key : {llvm::StringRef(kSemanticsKey), llvm::StringRef("keras_version")})
    if (std::optional<llvm::StringRef> version = model.getString(key))
      return version->str();
  for (llvm::StringRef group : {"", "model_weights"})
    if (std::string version = file.hdf5.textAt(group, "keras_version"); !version.empty())
      return version;
  llvm::Expected<json::Value> metadata = json::parse(file.archive.metadata);
  if (!metadata) {
    llvm::consumeError(metadata.takeError());
    return "";
  }
  const json::Object *object = metadata->getAsObject();
  return object ? object->getString("keras_version").value_or("").str() : "";
}

/// Which Keras the file means; with a warning where it does not say so.
KerasVersion findVersion(const ModelFile &file, const json::Object &model, llvm::StringRef fileName,
                         std::vector<std::string> &warnings) {
  if (std::optional<KerasVersion> version = parseVersion(statedVersion(file, model)))
    return *version;
  KerasVersion assumed;
  if (looksLikeKeras2(model)) {
    assumed.major = 2;
    assumed.minor = 16;
    warnings.push_back((fileName + " does not say which version of Keras wrote it; its layers are "
                                   "written as Keras 2 does, and are taken to mean Keras 2's "
                                   "formulas (docs/keras-2.md)")
                           .str());
  }
  return assumed;
}

/// Config object and compile config, in today's spelling.
llvm::Expected<json::Value> readConfig(ModelFile &file, llvm::StringRef fileName,
                                       std::vector<std::string> &warnings) {
  llvm::Expected<json::Value> value = parsePythonJson(file.config, fileName);
  if (!value)
    return value;
  json::Object *object = value->getAsObject();
  if (!object || !object->get("class_name"))
    return value;
  file.version = findVersion(file, *object, fileName, warnings);
  if (!file.version.isKeras2() && !isLegacyModel(*object))
    return value;
  file.isLegacy = true;
  std::optional<LegacyLossScale> scale;
  json::Object model = modernizeModel(*object, file.version, scale);
  if (const json::Object *compiled = model.getObject("compile_config")) {
    file.trainingRules = findTrainingRules(file.version, compiled->get("optimizer"));
    json::Object today = modernizeCompileConfig(*compiled);
    model["compile_config"] = std::move(today);
  }
  std::string training = file.hdf5.textAt("", "training_config");
  if (!training.empty()) {
    llvm::Expected<json::Value> parsed =
        parsePythonJson(training, (fileName + ":training_config").str());
    if (!parsed)
      return parsed;
    if (const json::Object *legacy = parsed->getAsObject()) {
      file.trainingRules = findTrainingRules(file.version, legacy->get("optimizer_config"));
      json::Object today = modernizeTraining(*legacy, scale);
      if (file.version.isKeras2() && !file.version.isBefore(2, 4))
        takeOutputNamesOff(today, namesOfOutputs(model));
      if (file.trainingRules.isBefore23)
        spellMetricsOut(today);
      model["compile_config"] = std::move(today);
    }
  }
  if (file.version.isKeras2())
    file.trainingRules.outputNames = namesOfOutputs(model);
  return json::Value(std::move(model));
}

StoredTensor makeZeros(llvm::ArrayRef<int64_t> shape) {
  uint64_t elements = 1; // the importer bounds the shapes of variables
  for (int64_t extent : shape)
    elements *= uint64_t(extent);
  StoredTensor zeros;
  zeros.dtype = MPC_RT_FLOAT32;
  zeros.dims.assign(shape.begin(), shape.end());
  zeros.bytes.resize(elements * sizeof(float));
  return zeros;
}

/// Where the files of weights have the variables.
void recordPlaces(const GraphImporter &importer, ImportedModel &model) {
  for (const ModelVariable &variable : importer.variables.getAll()) {
    if (!variable.stateful && !variable.derived)
      model.datasets.emplace(variable.dataset, variable.path);
    if (!variable.copy.empty())
      model.datasets.emplace(variable.copy, variable.path);
    if (!variable.mayTrain)
      model.untrainable.push_back(variable.path);
  }
  for (const auto &[layer, group] : importer.tree.getGroups())
    model.groups.emplace(group, layer->name);
}

void recordMerges(const GraphImporter &importer, ImportedModel &model) {
  for (const ModelVariable &variable : importer.variables.getAll())
    if (variable.merge)
      model.merges.push_back(
          [merge = variable.merge, path = variable.path, scale = variable.scalePath,
           zero = variable.zeroPath, a = variable.firstFactorPath, b = variable.secondFactorPath](
              WeightFile &values) { merge->apply(values, path, scale, zero, a, b); });
}

void recordLayers(const ModelConfig &config, const GraphImporter &importer, ImportedModel &model) {
  for (const LayerConfig &layer : config.layers) {
    auto &entry = model.layers.emplace_back(layer.name, std::vector<std::string>());
    for (const ModelVariable *variable : variablesOf(layer, importer))
      entry.second.push_back(variable->path);
  }
}

/// Methods that a class overrides are Python code, which mpc does not run.
void warnOfOwnClasses(const ModelConfig &config, llvm::StringRef path,
                      std::vector<std::string> &warnings) {
  if (!config.ownClass.empty())
    warnings.push_back((path.empty() ? std::string("the model") : ("'" + path + "'").str()) +
                       " is of the class '" + config.ownClass +
                       "', whose Python code is not in the file: it is compiled as the graph of "
                       "layers that the file holds, with Keras's own training step; where the "
                       "class overrides call, train_step or compute_loss, results differ");
  for (const LayerConfig &layer : config.layers)
    if (layer.model)
      warnOfOwnClasses(*layer.model, path.empty() ? layer.name : (path + "/" + layer.name).str(),
                       warnings);
}

/// The structure of the outputs with their numbers, which follow Argument::tensors.
json::Value numberOutputs(const Argument &structure, int64_t &next) {
  if (structure.kind == Argument::Kind::Tensor)
    return next++;
  json::Array list;
  json::Object dictionary;
  for (const auto &[i, item] : llvm::enumerate(structure.items))
    if (structure.kind == Argument::Kind::Dict)
      dictionary[structure.keys[i]] = numberOutputs(item, next);
    else
      list.push_back(numberOutputs(item, next));
  return structure.kind == Argument::Kind::Dict ? json::Value(std::move(dictionary))
                                                : json::Value(std::move(list));
}

void recordOutputs(const ModelConfig &config, ImportedModel &model) {
  const bool areTensors = llvm::all_of(config.outputs.items, [](const Argument &item) {
    return item.kind == Argument::Kind::Tensor;
  });
  model.outputsAreDictionary = config.outputs.kind == Argument::Kind::Dict && areTensors;
  if (config.kind == ModelConfig::Kind::Sequential)
    model.outputNames.push_back(config.layers.back().name);
  else if (model.outputsAreDictionary) // Keras then prefers its keys
                                       // (keras/src/trainers/compile_utils.py)
    model.outputNames = config.outputs.keys;
  else
    for (const TensorRef *tensor : config.outputs.tensors())
      model.outputNames.push_back(tensor->layer);
  int64_t outputs = 0;
  if (!areTensors)
    model.outputStructure = numberOutputs(config.outputs, outputs);
}

/// A file of weights beside the model's.
llvm::Error readGivenWeights(llvm::MemoryBufferRef file, const ModelConfig &config,
                             const GraphImporter &importer, ImportedModel &model) {
  llvm::Expected<Hdf5File> weights = readHdf5(file);
  if (!weights)
    return weights.takeError();
  const llvm::StringRef name = file.getBufferIdentifier();
  const bool legacy = !weights->listAt("", "layer_names").empty() ||
                      !weights->listAt("model_weights", "layer_names").empty();
  return legacy ? takeLegacyWeights(*weights, config, name, importer, model)
                : takeWeights(weights->datasets, name, importer, model);
}

/// The weights in the model's own file.
llvm::Error readOwnWeights(ModelFile &file, llvm::StringRef fileName, const ModelConfig &config,
                           const GraphImporter &importer, ImportedModel &model) {
  if (file.kind == FileKind::Hdf5)
    return takeLegacyWeights(file.hdf5, config, fileName, importer, model);
  if (file.kind != FileKind::Zip)
    return llvm::Error::success();
  if (!file.archive.weights)
    return inputError(fileName, "the archive has no model.weights.h5; expected a .keras archive "
                                "as Model.save writes it, or start from initializers "
                                "(--initialize)");
  llvm::Expected<WeightFile> weights = readWeights(*file.archive.weights);
  if (!weights)
    return weights.takeError();
  return takeWeights(*weights, fileName, importer, model);
}

/// Keras's files hold no states of stateful layers; a model that is loaded starts from zeros.
void startOthers(const GraphImporter &importer, ImportedModel &model) {
  if (!model.hasWeights)
    return;
  for (const ModelVariable &variable : importer.variables.getAll())
    if (variable.stateful)
      model.weights.emplace(variable.path, makeZeros(variable.type.getShape()));
    else if (variable.derived && !model.weights.count(variable.path)) {
      // Scales of float8 start as 1, histories and the factors of LoRA as 0.
      StoredTensor &start =
          model.weights.emplace(variable.path, makeZeros(variable.type.getShape())).first->second;
      const float one = 1;
      if (variable.overwrite && variable.type.getRank() == 0)
        std::memcpy(start.bytes.data(), &one, sizeof(one));
    }
}

} // namespace

llvm::Expected<ImportedModel> importKeras(llvm::StringRef path, const ImportOptions &options,
                                          mlir::MLIRContext &context) {
  // Volatile: read into memory, so that a file that changes meanwhile cannot end the process.
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                          /*RequiresNullTerminator=*/false, /*IsVolatile=*/true);
  if (!file)
    return inputError(path, "cannot read the file: " + file.getError().message());
  return importKeras(**file, options, context);
}

llvm::Expected<ImportedModel> importKeras(llvm::MemoryBufferRef file, const ImportOptions &options,
                                          mlir::MLIRContext &context) {
  context.loadDialect<MpcDialect, mlir::func::FuncDialect>();
  const llvm::StringRef fileName = file.getBufferIdentifier();
  llvm::Expected<ModelFile> read = readModelFile(file);
  if (!read)
    return read.takeError();
  ImportedModel model;
  llvm::Expected<json::Value> object = readConfig(*read, fileName, model.warnings);
  if (!object)
    return object.takeError();
  llvm::Expected<ModelConfig> config = parseModelObject(*object, fileName, read->version);
  if (!config)
    return config.takeError();

  warnOfOwnClasses(*config, "", model.warnings);
  ImportOptions withValues = options;
  withValues.readWeights =
      options.weights || (options.readWeights && sniffContent(file.getBuffer()) != FileKind::Json);
  GraphImporter importer(context, *config, fileName, withValues, read->archive.vocabularies);
  model.name = config->name;
  model.module = importer.run();
  if (llvm::Error errors = importer.report.takeErrors())
    return std::move(errors);
  llvm::append_range(model.warnings, importer.report.getWarnings());
  recordOutputs(*config, model);
  recordPlaces(importer, model);
  recordMerges(importer, model);
  recordLayers(*config, importer, model);

  llvm::Error errors =
      options.weights       ? readGivenWeights(*options.weights, *config, importer, model)
      : options.readWeights ? readOwnWeights(*read, fileName, *config, importer, model)
                            : llvm::Error::success();
  if (errors)
    return std::move(errors);
  startOthers(importer, model);
  model.inferenceOnly = importer.report.getInferenceOnly().vec();
  if (!read->isLegacy)
    model.configText = std::move(read->config);
  model.config = std::move(*object);
  model.metadata = std::move(read->archive.metadata);
  model.vocabularies = std::move(read->archive.vocabularies);
  model.compileConfig = std::move(config->compileConfig);
  model.trainingRules = read->trainingRules;
  return model;
}

} // namespace mpc::keras
