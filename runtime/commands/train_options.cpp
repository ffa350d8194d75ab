// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Reading the options of mpc-run train.
#include "runtime/commands/train_options.h"

#include "runtime/commands/commands.h"
#include "runtime/rules/batch_parts.h"
#include "runtime/training/metric_direction.h"

#include <cmath>

namespace mpc::commands {

void TrainOptions::keepToOneself() {
  othersSave = !save.empty();
  othersCheckpoint = !checkpoint.empty();
  for (std::string *file : {&save, &checkpoint, &csvLog, &jsonLog, &tensorBoard, &trace,
                            &numerics.page, &numerics.tensorBoard})
    file->clear();
  memory = json = false;
  quiet = true;
}

std::string TrainOptions::describe() const {
  std::string text = "--epochs " + std::to_string(epochs) + " --batch-size " +
                     std::to_string(batchSize) + " --steps " + std::to_string(steps) + " --seed " +
                     std::to_string(session.seed) + " --shuffle " + training::shuffleName(shuffle) +
                     " --validation-split " + std::to_string(validationSplit);
  if (deterministicRanks)
    text += " --deterministic-ranks=" + std::to_string(deterministicRanks);
  if (!traceEvents.empty())
    text += " --trace-events";
  if (!validationData.empty())
    text += " --validation-data";
  if (!resume.empty())
    text += " --resume";
  if (session.initialize)
    text += " --initialize=" + std::to_string(session.initializeSeed);
  if (earlyStop)
    text += " --early-stop";
  if (reduceLearningRate)
    text += " --reduce-lr";
  if (!numerics.folder.empty())
    text += std::string(numerics.withErrors ? " --numerics-errors" : "") +
            " --numerics --numerics-every " + std::to_string(numerics.every);
  return text;
}

namespace {

/// Reads the values of one `key=value,...` option.
class Pairs {
public:
  Pairs(Arguments &arguments, const std::string &option, const std::vector<std::string> &keys)
      : arguments_(arguments), option_(option), values_(arguments.pairs(option, keys)) {}

  bool has(const char *key) const { return values_.count(key) != 0; }
  std::string text(const char *key, const std::string &otherwise) {
    auto at = values_.find(key);
    return at == values_.end() ? otherwise : at->second;
  }
  int64_t integer(const char *key, int64_t otherwise) {
    auto at = values_.find(key);
    if (at == values_.end())
      return otherwise;
    std::optional<int64_t> value = parseInteger(at->second);
    if (value && *value >= 0)
      return *value;
    wrong(key, at->second, "a natural number");
    return otherwise;
  }
  double real(const char *key, double otherwise) {
    auto at = values_.find(key);
    if (at == values_.end())
      return otherwise;
    std::optional<double> value = parseReal(at->second);
    if (value && std::isfinite(*value))
      return *value;
    wrong(key, at->second, "a number");
    return otherwise;
  }
  /// Whether larger values of the monitored metric are better, if that is known.
  std::optional<bool> larger(const std::string &monitor) {
    std::string mode = text("mode", "auto");
    if (mode != "auto" && mode != "min" && mode != "max")
      wrong("mode", mode, "auto, min or max");
    return mode == "auto" ? training::largerIsBetter(monitor) : mode == "max";
  }
  void wrong(const char *key, const std::string &value, const char *expected) {
    arguments_.fault("--" + option_ + ": " + key + " is '" + value + "'; expected " + expected);
  }

private:
  Arguments &arguments_;
  std::string option_;
  std::map<std::string, std::string> values_;
};

training::EarlyStopOptions earlyStop(Arguments &arguments) {
  training::EarlyStopOptions options;
  Pairs pairs(arguments, "early-stop",
              {"monitor", "patience", "min_delta", "mode", "start_from_epoch", "baseline",
               "restore_best_weights"});
  options.monitor = pairs.text("monitor", options.monitor);
  options.patience = pairs.integer("patience", options.patience);
  options.minDelta = std::fabs(pairs.real("min_delta", options.minDelta));
  options.startFromEpoch = pairs.integer("start_from_epoch", 0);
  if (pairs.has("baseline"))
    options.baseline = pairs.real("baseline", 0);
  const std::string restores = pairs.text("restore_best_weights", "false");
  if (restores != "true" && restores != "false")
    pairs.wrong("restore_best_weights", restores, "true or false");
  options.restoreBestWeights = restores == "true";
  options.larger = pairs.larger(options.monitor);
  return options;
}

training::ReduceLearningRateOptions reduceLearningRate(Arguments &arguments) {
  training::ReduceLearningRateOptions options;
  Pairs pairs(arguments, "reduce-lr",
              {"monitor", "factor", "patience", "min_delta", "mode", "cooldown", "min_lr"});
  options.monitor = pairs.text("monitor", options.monitor);
  options.factor = pairs.real("factor", options.factor);
  if (!(options.factor > 0 && options.factor < 1))
    pairs.wrong("factor", pairs.text("factor", ""), "a number between 0 and 1");
  options.patience = pairs.integer("patience", options.patience);
  options.minDelta = std::fabs(pairs.real("min_delta", options.minDelta));
  options.cooldown = pairs.integer("cooldown", options.cooldown);
  options.minimum = pairs.real("min_lr", options.minimum);
  options.larger = pairs.larger(options.monitor);
  return options;
}

} // namespace

TrainOptions trainOptions(Arguments &arguments) {
  TrainOptions options;
  options.session = sessionOptions(arguments);
  arguments.require("data", "D");
  options.data = arguments.text("data");
  options.validationData = arguments.text("validation-data");
  options.validationSplit = arguments.real("validation-split", 0, 0, 1);
  if (!options.validationData.empty() && options.validationSplit > 0)
    arguments.fault("--validation-data and --validation-split exclude each other");
  options.epochs = arguments.integer("epochs", 1, 1, INT64_MAX);
  options.batchSize = arguments.integer("batch-size", 0, 1, INT32_MAX);
  const int64_t parts = arguments.integer("deterministic-ranks", 0, 1, rules::mostBatchParts);
  if (parts && !rules::areBatchParts(parts))
    arguments.fault("--deterministic-ranks is " + std::to_string(parts) +
                    "; expected a power of two");
  options.deterministicRanks = static_cast<uint32_t>(parts);
  options.steps = arguments.integer("steps", 0, 1, INT64_MAX / INT32_MAX);
  // Keras's fit repeats one permutation when its generator is seeded (docs/training.md).
  if (arguments.choice("shuffle", {"on", "off"}) == "off")
    options.shuffle = training::Shuffle::Off;
  else if (arguments.has("seed"))
    options.shuffle = training::Shuffle::Once;
  options.save = arguments.text("save");
  options.checkpoint = arguments.text("checkpoint");
  options.resume = arguments.text("resume");
  if (arguments.text("save-freq", "epoch") != "epoch")
    options.saveEvery = arguments.integer("save-freq", 0, 1, INT64_MAX);
  options.keep = arguments.integer("keep", 2, 1, INT32_MAX);
  for (const std::string option : {"save-freq", "keep"})
    if (arguments.has(option) && options.checkpoint.empty())
      arguments.fault("--" + option + " belongs to --checkpoint; add --checkpoint DIR");
  options.csvLog = arguments.text("csv-log");
  options.jsonLog = arguments.text("json-log");
  options.tensorBoard = arguments.text("tensorboard");
  options.trace = arguments.text("trace");
  options.traceEvents = arguments.text("trace-events");
  options.numerics.folder = arguments.text("numerics");
  options.numerics.every = arguments.integer("numerics-every", 100, 1, INT32_MAX);
  options.numerics.withErrors = arguments.has("numerics-errors");
  options.numerics.withElements = arguments.has("numerics-dump");
  options.numerics.page = arguments.text("html");
  if (!options.tensorBoard.empty())
    options.numerics.tensorBoard = options.tensorBoard + "/numerics";
  for (const std::string option : {"numerics-every", "numerics-errors", "numerics-dump", "html"})
    if (arguments.has(option) && !arguments.has("numerics"))
      arguments.fault("--" + option + " belongs to --numerics DIR; add it");
  options.classWeight = arguments.text("class-weight");
  options.terminateOnNaN = arguments.has("terminate-on-nan");
  options.json = arguments.has("json");
  if (arguments.has("early-stop"))
    options.earlyStop = earlyStop(arguments);
  if (arguments.has("reduce-lr"))
    options.reduceLearningRate = reduceLearningRate(arguments);
  if (arguments.has("initialize")) {
    options.session.initialize = true;
    if (!arguments.text("initialize").empty())
      options.session.initializeSeed = arguments.seed("initialize", 0);
    if (!options.session.weights.empty())
      arguments.fault("--initialize and --weights exclude each other");
  }
  if (!options.resume.empty()) {
    if (options.session.initialize || !options.session.weights.empty())
      arguments.fault("--resume brings its own weights; leave out --initialize and --weights");
    options.session.initialize = true; // the checkpoint overwrites everything
  }
  for (const char *file : {"csv-log", "json-log"})
    arguments.requirePath(file, "a file");
  for (const char *folder : {"checkpoint", "tensorboard", "numerics"})
    arguments.requirePath(folder, "a folder");
  arguments.requireSuffix("save", {".safetensors"});
  arguments.requireSuffix("trace", {".npz"});
  arguments.requireSuffix("trace-events", {".json"});
  arguments.requireSuffix("html", {".html", ".htm"});
  if (options.data == "-" && options.validationData == "-")
    arguments.fault("--data and --validation-data both name standard input; expected one of them "
                    "to be a file; --validation-split takes rows of --data");
  arguments.requireDistinct(
      {"save", "trace", "trace-events", "csv-log", "json-log", "html"},
      {"data", "validation-data", "class-weight", "weights", "resume", "checkpoint"},
      /*mayReplace=*/{"save", "weights"}); // goes on in their place
  options.deterministic = arguments.has("deterministic");
  options.memory = arguments.has("memory");
  return options;
}

} // namespace mpc::commands
