// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpcc/search/ModelRunner.h"
#include "runtime/data/npz.h"
#include "tools/DataErrors.h"
#include "tools/mpcc/search/Sensitivities.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"

using namespace mpc;

char PrintedError::ID = 0;

/// Names in the temporary folder.
static constexpr llvm::StringLiteral kLibrary = "trial", kMap = "map.json", kText = "stdout",
                                     kMessages = "stderr", kOutputs = "outputs.npz",
                                     kWeights = "trained.safetensors";

/// Steps of values that sensitivities are made of.
static constexpr int64_t kTracedSteps = 2;
/// Steps of which the median is a map's time, and steps before them, which measure kernels.
static constexpr const char *kTimedSteps = "100", *kUntimedSteps = "10";

llvm::Error ModelRunner::prepare() {
  static int anchor;
  const std::string self = llvm::sys::fs::getMainExecutable("mpcc", &anchor);
  const std::string beside = llvm::sys::path::parent_path(self).str();
  llvm::ErrorOr<std::string> found = llvm::sys::findProgramByName("mpc-run", {beside});
  if (!found)
    found = llvm::sys::findProgramByName("mpc-run");
  if (!found)
    return llvm::createStringError(
        found.getError(), "mpc-run: is missing, which --policy=auto runs compiled models by; "
                          "expected it beside mpcc or in PATH; install it");
  mpcRun = *found;
  return folder.make();
}

llvm::Expected<std::string> ModelRunner::writeMap(const std::string &policyMap) const {
  const std::string map = folder.pathOf(kMap);
  std::error_code code;
  llvm::raw_fd_ostream stream(map, code);
  if (!code)
    stream << policyMap;
  stream.flush();
  if (stream.has_error())
    code = stream.error();
  stream.clear_error();
  if (code)
    return llvm::createStringError(code, map + ": cannot be written: " + code.message());
  return map;
}

/// Compiles for this machine's CPU, whatever the target is: roundings are in the same places.
llvm::Error ModelRunner::compile(const std::string &policyMap, bool numerics) {
  llvm::Expected<std::string> map = writeMap(policyMap);
  if (!map)
    return map.takeError();
  CompileOptions trial = options;
  trial.moreInputShapes.clear(); // the first shape speaks for all
  trial.output = folder.pathOf(kLibrary);
  trial.name = "trial";
  trial.pipeline.policy = *map;
  trial.pipeline.customLoop = false;
  trial.pipeline.distributed = false;
  trial.pipeline.numerics = numerics;
  trial.pipeline.device = Device::cpu;
  trial.cuda.reset();
  trial.target = "cpu";
  trial.march = "native";
  trial.explain = Explain::Off;
  trial.lint = {};
  trial.quiet = true;
  trial.verbose = false;
  trial.progress = false;
  trial.emitArchive = trial.linkStatic = trial.embedWeights = false;
  const ExitCode result = compileModel(trial);
  return result == kExitDone ? llvm::Error::success() : llvm::make_error<PrintedError>(result);
}

/// The standard output of mpc-run. Its messages are passed on when it fails.
llvm::Expected<std::string> ModelRunner::run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), mpcRun);
  const std::string text = folder.pathOf(kText), messages = folder.pathOf(kMessages);
  const std::optional<llvm::StringRef> redirects[] = {llvm::StringRef(""), llvm::StringRef(text),
                                                      llvm::StringRef(messages)};
  // A file that is there keeps what the next process does not write over.
  folder.remove(kText);
  folder.remove(kMessages);
  std::string problem;
  const llvm::sys::ProcessInfo process = llvm::sys::ExecuteNoWait(
      mpcRun, llvm::SmallVector<llvm::StringRef>(arguments.begin(), arguments.end()), std::nullopt,
      redirects, /*MemoryLimit=*/0, &problem);
  if (!process.Pid)
    return llvm::createStringError(llvm::inconvertibleErrorCode(), mpcRun + ": " + problem);
  TemporaryFolder::setChild(process.Pid);
  const int status = llvm::sys::Wait(process, std::nullopt, &problem).ReturnCode;
  TemporaryFolder::setChild(0);
  auto read = [](const std::string &path) {
    auto buffer = llvm::MemoryBuffer::getFile(path);
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  };
  if (status == 0)
    return read(text);
  llvm::errs() << read(messages);
  if (status == kExitBadInput || status == kExitUsage)
    return llvm::make_error<PrintedError>(kExitBadInput);
  return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                 "mpc-run " + arguments[1] + " ended with " + llvm::Twine(status) +
                                     (problem.empty() ? "" : ": ") + problem);
}

/// Whether a tolerance is about outputs, or about metrics.
bool ModelRunner::needs(bool outputs) const {
  return llvm::any_of(search.metrics, [&](const MetricTolerance &metric) {
    return (metric.name == kOutputMetric) == outputs;
  });
}

llvm::Expected<MeasuredStage> ModelRunner::measureStage(const std::string &when,
                                                        const std::string &weights) {
  MeasuredStage stage;
  stage.when = when;
  std::vector<std::string> common;
  if (options.batch)
    common = {"--batch-size", std::to_string(*options.batch)};
  if (!weights.empty())
    common.insert(common.end(), {"--weights", weights});
  auto call = [&](std::vector<std::string> words) {
    words.insert(words.end(), common.begin(), common.end());
    return run(std::move(words));
  };
  const std::string library = folder.pathOf(kLibrary);
  if (needs(/*outputs=*/false)) {
    llvm::Expected<std::string> text = call({"evaluate", library, "--data", search.data, "--json"});
    if (!text)
      return text.takeError();
    auto metrics = readMetrics(*text);
    if (!metrics)
      return metrics.takeError();
    stage.metrics = std::move(*metrics);
  }
  if (needs(/*outputs=*/true)) {
    const std::string outputs = folder.pathOf(kOutputs);
    llvm::Expected<std::string> text =
        call({"predict", library, "--inputs", search.data, "--outputs", outputs});
    if (!text)
      return text.takeError();
    data::Result<data::NamedArrays> arrays = data::readNpz(outputs);
    if (!arrays)
      return toError(arrays.failure());
    stage.outputs = std::move(*arrays);
  }
  return stage;
}

/// Steps run on random data: times do not depend on it. Kernels are those that are the fastest
/// here.
llvm::Expected<double> ModelRunner::measureStepTime() {
  std::vector<std::string> words = {
      "bench",    folder.pathOf(kLibrary), "--steps", kTimedSteps, trains ? "--train" : "--predict",
      "--warmup", kUntimedSteps,           "--tune",  "--json"};
  if (options.batch)
    words.insert(words.end(), {"--batch-size", std::to_string(*options.batch)});
  llvm::Expected<std::string> text = run(std::move(words));
  if (!text)
    return text.takeError();
  return readStepTime(*text);
}

llvm::Expected<Measurement> ModelRunner::measure(const std::string &policyMap) {
  if (llvm::Error error = compile(policyMap, /*numerics=*/false))
    return std::move(error);
  Measurement measurement;
  const bool trainsFirst = trains && search.steps > 0;
  // Metrics of weights that nobody trained say nothing.
  if (hasWeights || !trainsFirst) {
    llvm::Expected<MeasuredStage> stage = measureStage("", "");
    if (!stage)
      return stage.takeError();
    measurement.stages.push_back(std::move(*stage));
  }
  if (trainsFirst) {
    const std::string weights = folder.pathOf(kWeights);
    llvm::Expected<std::string> text = run({"train", folder.pathOf(kLibrary), "--data", search.data,
                                            "--steps", std::to_string(search.steps), "--batch-size",
                                            std::to_string(options.batch.value_or(32)), "--seed",
                                            std::to_string(search.seed), "--save", weights});
    if (!text)
      return text.takeError();
    llvm::Expected<MeasuredStage> stage =
        measureStage(" after " + std::to_string(search.steps) + " steps", weights);
    if (!stage)
      return stage.takeError();
    measurement.stages.push_back(std::move(*stage));
  }
  if (search.isMeasured) {
    llvm::Expected<double> time = measureStepTime();
    if (!time)
      return time.takeError();
    measurement.stepTime = *time;
  }
  folder.remove(kLibrary);
  return measurement;
}

llvm::Expected<std::map<std::string, double>>
ModelRunner::measureSensitivities(const std::string &policyMap) {
  if (llvm::Error error = compile(policyMap, /*numerics=*/true))
    return std::move(error);
  std::vector<std::string> words = {"numerics", folder.pathOf(kLibrary),      "--data", search.data,
                                    "--steps",  std::to_string(kTracedSteps), "--json"};
  if (options.batch)
    words.insert(words.end(), {"--batch-size", std::to_string(*options.batch)});
  llvm::Expected<std::string> text = run(std::move(words));
  folder.remove(kLibrary);
  if (!text)
    return text.takeError();
  return readSensitivities(*text);
}
