// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One conversion, from the two files' kinds to the written file.
#include "tools/mpc-convert/Convert.h"

#include "mpc/Import/Keras/Config.h"
#include "mpc/Support/InputFile.h"
#include "runtime/untrusted/outlets.h"
#include "tools/mpc-convert/KerasText.h"
#include "tools/mpc-convert/OnnxModel.h"
#include "tools/mpc-convert/StateFile.h"

#include "llvm/Support/WithColor.h"

using namespace mpc;
using keras::WeightFile;
using llvm::StringRef;

namespace {

class Conversion {
public:
  explicit Conversion(const ConvertOptions &options) : options(options) {}
  ExitCode run();

private:
  ExitCode fail(const llvm::Twine &message, ExitCode code = kExitBadInput) {
    llvm::WithColor::error(llvm::errs()) << untrusted::forLine(message.str()) << "\n";
    return code;
  }
  ExitCode fail(llvm::Error errors) {
    llvm::handleAllErrors(std::move(errors),
                          [&](const llvm::ErrorInfoBase &error) { (void)fail(error.message()); });
    return kExitBadInput;
  }
  ExitCode readInput();
  ExitCode loadModel(const std::string &path, const llvm::MemoryBuffer *weights, bool keepsValues);
  ExitCode fit();
  ExitCode write();
  ExitCode writeOnnx();

  bool needsModel() const {
    return to == StateFileKind::Keras || to == StateFileKind::Legacy ||
           to == StateFileKind::WeightsOnly;
  }
  bool overrides() const {
    return !options.compile.loss.empty() || !options.compile.optimizer.empty() ||
           !options.compile.metrics.empty() || options.compile.learningRate;
  }

  const ConvertOptions &options;
  StateFileKind from = StateFileKind::Unknown, to = StateFileKind::Unknown;
  WeightFile values;
  std::optional<ModelState> model;
};

} // namespace

/// `keepsValues`: the values are those of the file, too.
ExitCode Conversion::loadModel(const std::string &path, const llvm::MemoryBuffer *weights,
                               bool keepsValues) {
  CompileOptions compile = options.compile;
  compile.model = path;
  compile.name = "model";
  if (!keepsValues)
    compile.initialize = 0;
  // The state says whether the loss was scaled; the layers of a model do not always.
  const bool hasState = llvm::any_of(
      values, [](const auto &value) { return StringRef(value.first).starts_with("optimizer/"); });
  const bool hasScale = values.count("optimizer/loss_scale_optimizer/dynamic_scale");
  if (compile.pipeline.lossScale == "auto" && hasState && !hasScale)
    compile.pipeline.lossScale = "none";
  ModelState state;
  if (ExitCode code = loadModelState(compile, weights, state); code != kExitDone)
    return code;
  if (compile.pipeline.lossScale == "auto" && hasScale && !state.layout.scalesLoss) {
    compile.pipeline.lossScale = "dynamic:32768:2000";
    state = ModelState();
    if (ExitCode code = loadModelState(compile, weights, state); code != kExitDone)
      return code;
  }
  if (keepsValues)
    for (const auto &[name, weight] : state.values.all())
      values[name] = {weight.dtype, weight.dims, weight.bytes};
  model = std::move(state);
  return kExitDone;
}

ExitCode Conversion::readInput() {
  if (options.input == "-")
    return fail("-: formats of weights are read in no order; name a file, not standard input",
                kExitUsage);
  auto file = readInputFile(options.input, /*isVolatile=*/true);
  if (!file)
    return fail(options.input + ": cannot be read: " + file.getError().message() +
                "; expected .keras, .h5, .weights.h5, .safetensors or .npz");
  from = sniffStateFile(**file);
  const std::string &path = options.compile.model;
  switch (from) {
  case StateFileKind::Keras:
  case StateFileKind::Legacy:
    if (ExitCode code = loadModel(options.input, nullptr, true); code != kExitDone || path.empty())
      return code;
    return loadModel(path, nullptr, false);
  case StateFileKind::WeightsOnly:
    if (path.empty())
      return fail(options.input + ": holds weights without an architecture; add --model MODEL",
                  kExitUsage);
    return loadModel(path, file->get(), true);
  case StateFileKind::Safetensors:
  case StateFileKind::Npz: {
    llvm::Expected<WeightFile> read = readValues(from, options.input);
    if (!read)
      return fail(read.takeError());
    values = std::move(*read);
    // An ONNX model has nothing to say about values alone.
    if (!path.empty() && (needsModel() || !StringRef(path).ends_with(".onnx")))
      return loadModel(path, nullptr, false);
    if (needsModel())
      return fail(options.input + ": holds values without an architecture; add --model MODEL",
                  kExitUsage);
    return kExitDone;
  }
  case StateFileKind::Onnx:
  case StateFileKind::Unknown:
    break;
  }
  return fail(options.input + ": is of no known kind; expected .keras, .h5, .weights.h5, "
                              ".safetensors or .npz");
}

ExitCode Conversion::fit() {
  if (!model)
    return kExitDone;
  std::vector<std::string> leftOut;
  llvm::Expected<WeightFile> fitted = fitValues(values, *model, options.input, leftOut);
  if (!fitted)
    return fail(fitted.takeError());
  if (!leftOut.empty())
    llvm::WithColor::warning(llvm::errs())
        << options.input << ": " << leftOut.size() << " optimizer variables are left out, '"
        << untrusted::forLine(leftOut.front())
        << "' for one: the model is not compiled with that optimizer; add --loss and --optimizer "
           "as given to mpcc\n";
  values = std::move(*fitted);
  return kExitDone;
}

ExitCode Conversion::write() {
  if (!needsModel()) {
    llvm::Error error = writeValues(to, options.output, values);
    return error ? fail(std::move(error)) : kExitDone;
  }
  llvm::Expected<std::string> config = makeConfigText(*model, overrides());
  if (!config)
    return fail(options.output + ": " + llvm::toString(config.takeError()));
  if (to == StateFileKind::Legacy) {
    llvm::Expected<llvm::json::Value> object = keras::parsePythonJson(*config, options.output);
    if (!object)
      return fail(object.takeError());
    llvm::Expected<std::string> file = keras::makeLegacyFile(
        model->layout, values, *object->getAsObject(), kerasVersionOf(*model));
    if (!file)
      return fail(options.output + ": " + llvm::toString(file.takeError()));
    llvm::Error error = writeBytes(options.output, *file);
    return error ? fail(std::move(error)) : kExitDone;
  }
  for (const auto &merge : model->merges)
    merge(values);
  llvm::Expected<std::string> weights = keras::makeWeightsFile(model->layout, values);
  if (!weights)
    return fail(options.output + ": " + llvm::toString(weights.takeError()));
  llvm::Error error = to == StateFileKind::WeightsOnly
                          ? writeBytes(options.output, *weights)
                          : writeArchive(options.output, makeMetadataText(*model), *config,
                                         *weights, model->vocabularies);
  return error ? fail(std::move(error)) : kExitDone;
}

/// An ONNX model is no Keras model: its file is kept as it is but for the values.
ExitCode Conversion::writeOnnx() {
  const std::string &path = options.compile.model;
  if (path.empty())
    return fail(options.output + ": takes its graph from a model; add --model MODEL.onnx",
                kExitUsage);
  auto file = readInputFile(options.input, /*isVolatile=*/true);
  from = file ? sniffStateFile(**file) : StateFileKind::Unknown;
  if (from != StateFileKind::Safetensors && from != StateFileKind::Npz)
    return fail(options.input + ": cannot be read, or is of no kind whose values an ONNX model "
                                "takes; expected .safetensors or .npz");
  llvm::Expected<WeightFile> read = readValues(from, options.input);
  if (!read)
    return fail(read.takeError());
  llvm::Expected<std::string> content = fillOnnxModel(*read, options.input, path);
  if (!content)
    return fail(content.takeError());
  llvm::Error error = writeBytes(options.output, *content);
  return error ? fail(std::move(error)) : kExitDone;
}

ExitCode Conversion::run() {
  to = kindOfSuffix(options.output);
  if (to == StateFileKind::Unknown)
    return fail(options.output + ": unknown suffix; expected .keras, .h5, .weights.h5, "
                                 ".safetensors, .npz or .onnx",
                kExitUsage);
  if (to == StateFileKind::Onnx)
    return writeOnnx();
  for (ExitCode (Conversion::*step)() :
       {&Conversion::readInput, &Conversion::fit, &Conversion::write})
    if (ExitCode code = (this->*step)(); code != kExitDone)
      return code;
  return kExitDone;
}

ExitCode mpc::convertState(const ConvertOptions &options) { return Conversion(options).run(); }
