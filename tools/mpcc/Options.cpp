// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Options of mpcc (docs/tools.md).
#include "tools/mpcc/Options.h"
#include "mpc/Policy/PathPattern.h"
#include "mpc/Training/TrainingOptions.h"
#include "runtime/rules/batch_parts.h"
#include "runtime/untrusted/outlets.h"
#include "tools/ParseErrors.h"
#include "tools/mpcc/CacheFolder.h"
#include "tools/mpcc/LintOptions.h"
#include "tools/mpcc/ShapeOptions.h"
#include "tools/mpcc/Terminal.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/WithColor.h"

using namespace mpc;
namespace cl = llvm::cl;

namespace {
/// The options are made when they are parsed, after those that LLVM's libraries registered have
/// left.
struct CommandLine {
#define MPC_OPTION(TYPE, VARIABLE, NAME, ...)                                                      \
  cl::opt<TYPE> VARIABLE { NAME, cl::cat(category), __VA_ARGS__ }
  cl::OptionCategory category{"mpcc options"};

  cl::opt<std::string> model{cl::Positional, cl::desc("MODEL"), cl::cat(category)};
  MPC_OPTION(std::string, output, "o", cl::value_desc("DIR"),
             cl::desc("Output folder, or file of --emit=archive (default NAME.mpc)"));
  MPC_OPTION(std::string, name, "name", cl::value_desc("NAME"),
             cl::desc("Base of output names and symbol prefix (default: the file's stem)"));
  MPC_OPTION(
      std::string, policy, "policy",
      cl::value_desc(
          "mixed_bfloat16|mixed_float16|bfloat16|float16|float32|float64|auto|NAME|FILE"),
      cl::desc("Keras policy name, or JSON file with a policy or DTypePolicyMap; replaces "
               "every layer's. auto[:MODE,…]: searched per layer; MODE: a policy's name, speed, "
               "memory, proved"));
  MPC_OPTION(std::string, calibrate, "calibrate", cl::value_desc("D"),
             cl::desc("With --policy=auto: the data that a policy is judged by"));
  cl::list<std::string> metric{
      "metric", cl::cat(category), cl::value_desc("NAME:TOLERANCE"),
      cl::desc("With --policy=auto: how far a metric, the loss or `output` may be from what "
               "float32 gives; may be repeated (default loss:0.01, or output:0.01)")};
  MPC_OPTION(int64_t, searchSteps, "search-steps", cl::init(20), cl::value_desc("N"),
             cl::desc("With --policy=auto: steps of training behind which metrics are compared"));
  MPC_OPTION(uint64_t, seed, "seed", cl::init(0), cl::value_desc("S"),
             cl::desc("With --policy=auto: order of rows, and random layers, of these steps"));
  MPC_OPTION(std::string, outputGuard, "output-guard", cl::init("on"), cl::value_desc("on|off"),
             cl::desc("Keep outputs, final softmax and loss in float32"));
  MPC_OPTION(std::string, mode, "mode", cl::init("auto"), cl::value_desc("auto|train|infer"),
             cl::desc("train when a loss and an optimizer are known"));
  MPC_OPTION(std::string, loss, "loss", cl::value_desc("NAME|FILE"),
             cl::desc("Loss; replaces the file's"));
  MPC_OPTION(std::string, optimizer, "optimizer", cl::value_desc("NAME|FILE"),
             cl::desc("Optimizer; replaces the file's"));
  MPC_OPTION(std::string, metrics, "metrics", cl::value_desc("NAMES|FILE"),
             cl::desc("Metrics; replace the file's"));
  MPC_OPTION(std::string, learningRate, "learning-rate", cl::value_desc("R"),
             cl::desc("Learning rate; replaces the file's"));
  MPC_OPTION(std::string, trainable, "trainable", cl::value_desc("REGEX"),
             cl::desc("Variables whose whole path matches train, and no others; of ONNX models any "
                      "floating initializer"));
  MPC_OPTION(std::string, frozen, "frozen", cl::value_desc("REGEX"),
             cl::desc("Variables whose whole path matches do not train"));
  MPC_OPTION(std::string, lossScale, "loss-scale", cl::init("auto"),
             cl::value_desc("auto|none|fixed:N|dynamic:INITIAL:STEPS[:MIN:MAX]"),
             cl::desc("Loss scaling"));
  MPC_OPTION(std::string, initialize, "initialize", cl::ValueOptional, cl::value_desc("SEED"),
             cl::desc("Start from the layers' initializers, not the file's weights (SEED: 0)"));
  MPC_OPTION(std::string, batch, "batch", cl::init("dynamic"), cl::value_desc("dynamic|first|N"),
             cl::desc("Samples of every call: any number, or N and no others; first: any, and "
                      "arrays have them first where an ONNX file has them elsewhere"));
  cl::list<std::string> inputShapes{
      "input-shape", cl::cat(category), cl::value_desc("[NAME:]N,N…"),
      cl::desc("Extents behind the batch of an input that the file leaves open; given again for an "
               "input: one library for several shapes")};
  cl::list<std::string> textWidths{
      "text-width", cl::cat(category), cl::value_desc("[NAME:]N"),
      cl::desc("Characters that a text of an ONNX model's inputs has at most (64)")};
  MPC_OPTION(std::string, target, "target", cl::init("cpu"),
             cl::value_desc("cpu|cuda[:sm_N,…|:source]"),
             cl::desc("Device; cuda: sm_80, sm_90, sm_100, sm_120 and PTX of sm_80"));
  MPC_OPTION(std::string, emit, "emit", cl::init("library"), cl::value_desc("library|archive|cuda"),
             cl::desc("archive: one file, NAME.mpc or that of -o, instead of a folder; cuda: print "
                      "the source of the kernels instead"));
  MPC_OPTION(std::string, link, "link", cl::init("shared"), cl::value_desc("shared|static"),
             cl::desc("static: libNAME.a, for programs that have the model in them"));
  MPC_OPTION(bool, noKernelSource, "no-kernel-source",
             cl::desc("Keep no CUDA source of the kernels in the library"));
  MPC_OPTION(std::string, march, "march", cl::init("portable"),
             cl::value_desc("portable|native|x86-64-v2|x86-64-v3|x86-64-v4"),
             cl::desc("CPU levels to compile for"));
  MPC_OPTION(std::string, optimization, "O", cl::Prefix, cl::init("2"), cl::value_desc("0|2"),
             cl::desc("-O0: compile faster, to code that runs slower and gives the same bytes"));
  MPC_OPTION(std::string, fp32Precision, "fp32-precision", cl::init("ieee"),
             cl::value_desc("ieee|tf32|tf32x3"),
             cl::desc("float32 contractions on CUDA: as they are, rounded to TF32, or as three "
                      "products of TF32 with float32's digits"));
  MPC_OPTION(std::string, biasGradients, "bias-gradients", cl::init("kernels"),
             cl::value_desc("kernels|products"),
             cl::desc("Who sums gradients of biases on CUDA: mpc's kernels, or cuBLASLt's products "
                      "that make those of the weights"));
  MPC_OPTION(std::string, compileTo, "compile-to", cl::value_desc("PHASE"),
             cl::desc("Stop after a phase and print the IR, or write it to the folder of -o"));
  MPC_OPTION(std::string, compileFrom, "compile-from", cl::value_desc("PHASE"),
             cl::desc("MODEL is IR of that phase"));
  MPC_OPTION(std::string, explain, "explain", cl::ValueOptional, cl::value_desc("ops|passes|json"),
             cl::desc("Print what each layer runs in, and why; also its ops and memory; also what "
                      "passes decided; all for programs"));
  MPC_OPTION(
      std::string, lint, "lint", cl::ValueOptional, cl::value_desc("error|-NAME,…"),
      cl::desc("Warn of hazards of precision; error: exit 1 if any; -NAME: not of this one"));
  MPC_OPTION(std::string, html, "html", cl::value_desc("R.html"),
             cl::desc("With --lint: a page about the hazards"));
  MPC_OPTION(std::string, weights, "weights", cl::value_desc("external|embedded"),
             cl::desc("Where the initial variables go: beside the library, or into it (default: "
                      "external, with --link=static embedded)"));
  MPC_OPTION(std::string, customLoop, "custom-loop", cl::init("on"), cl::value_desc("on|off"),
             cl::desc("Also compile the stages of a custom training loop (NAME_forward, …)"));
  MPC_OPTION(
      bool, numerics, "numerics",
      cl::desc("Also compile what mpc-run numerics needs: entries that report their values"));
  MPC_OPTION(bool, distributed, "distributed",
             cl::desc("Train on several ranks (mpirun -np N mpc-run train): entries reduce over "
                      "them"));
  MPC_OPTION(int64_t, bucketBytes, "bucket-bytes", cl::init(4 << 20), cl::value_desc("N"),
             cl::desc("With --distributed: the largest message of several gradients"));
  MPC_OPTION(std::string, gradientDtype, "gradient-dtype", cl::init("float32"),
             cl::value_desc("float32|bfloat16"),
             cl::desc("With --distributed: gradients go between ranks in this; bfloat16 halves "
                      "their bytes and rounds each sum log2(ranks) + 1 times"));
  MPC_OPTION(int64_t, deterministicRanks, "deterministic-ranks", cl::value_desc("M"),
             cl::desc("With --distributed: a batch has M parts, a power of two; every number of "
                      "ranks that divides M leaves the same bytes"));
  MPC_OPTION(std::string, shard, "shard", cl::value_desc("optimizer[:LAYOUT.json]"),
             cl::desc("With --distributed: each rank keeps and updates its part of the variables, "
                      "or of those that a map of Keras's LayoutMap names"));
  MPC_OPTION(std::string, cache, "cache", cl::value_desc("DIR"),
             cl::desc("Where compiled functions are kept for the next time (default: the user's "
                      "cache folder); empty: nowhere"));
  MPC_OPTION(bool, verbose, "v", cl::desc("Say what is done"));
  MPC_OPTION(bool, quiet, "q", cl::desc("Only errors"));
#undef MPC_OPTION
};
} // namespace

static const char *kOverview =
    "mpcc: compile a model ahead of time to a library that predicts and trains\n\n"
    "EXAMPLES:\n"
    "  mpcc model.keras -o model.mpc\n"
    "  mpcc model.json --policy=mixed_bfloat16\n"
    "  mpcc model.keras --policy=map.json --explain\n"
    "  mpcc model.keras --policy=auto --calibrate=test.npz --metric=loss:0.01\n"
    "  mpcc model.keras --loss=sparse_categorical_crossentropy --optimizer=adam "
    "--metrics=accuracy\n"
    "  mpcc speech.json --input-shape=features:1200,36\n"
    "  mpcc model.keras --compile-to=casts\n\n"
    "--color=auto|always|never colors messages.\n";

namespace {
/// Collects usage errors, so that all are reported together.
struct UsageErrors {
  bool any = false;
  void report(const llvm::Twine &message) {
    llvm::WithColor::error(llvm::errs()) << untrusted::forLine(message.str()) << "\n";
    any = true;
  }
  void oneOf(llvm::StringRef option, llvm::StringRef value,
             llvm::ArrayRef<llvm::StringRef> allowed) {
    if (!llvm::is_contained(allowed, value))
      report("--" + option + "=" + value + ": expected one of " + llvm::join(allowed, ", "));
  }
};
} // namespace

static std::optional<Phase> phaseOption(UsageErrors &errors, llvm::StringRef option,
                                        llvm::StringRef value) {
  if (value.empty())
    return std::nullopt;
  std::optional<Phase> phase = symbolizePhase(value);
  if (!phase)
    errors.report("--" + option + "=" + value + ": expected one of " + listPhases());
  return phase;
}

static void readCudaOptions(UsageErrors &errors, const CommandLine &line, CompileOptions &options) {
  errors.oneOf("emit", line.emit, {"library", "archive", "cuda"});
  if (line.target != "cpu") {
    options.cuda = parseCudaTarget(line.target);
    if (!options.cuda)
      errors.report("--target=" + line.target +
                    ": expected cpu, cuda, cuda:sm_N,… with N from 75, or cuda:source");
  }
  // checkChoices reports a text that is none of its values.
  const Fp32Precision fp32Precision =
      parseFp32Precision(line.fp32Precision).value_or(Fp32Precision::ieee);
  if (options.cuda) {
    options.pipeline.device = Device::cuda;
    options.cuda->fp32Precision = fp32Precision;
    options.cuda->keepSource = !line.noKernelSource;
  } else {
    auto belongs = [&](bool given, const llvm::Twine &what) {
      if (given)
        errors.report(what + " belongs to --target=cuda; add it");
    };
    belongs(fp32Precision != Fp32Precision::ieee, "--fp32-precision=" + line.fp32Precision);
    belongs(line.biasGradients == "products", "--bias-gradients=products");
    belongs(line.emit == "cuda", "--emit=cuda");
    belongs(line.noKernelSource, "--no-kernel-source");
  }
  options.emitCuda = line.emit == "cuda";
  if (options.emitCuda && !line.compileTo.empty() && line.compileTo != "kernels")
    errors.report("--emit=cuda stops after the phase kernels; leave --compile-to out");
  options.emitArchive = line.emit == "archive";
  if (options.emitArchive && !line.compileTo.empty() && line.compileTo != "module")
    errors.report("--emit=archive holds what the phase module makes; leave --compile-to out");
  if (options.emitArchive && line.link == "static")
    errors.report("--link=static makes a library to link programs with, which an archive is not "
                  "for; leave one of the two out");
}

static void printVersion(llvm::raw_ostream &os) { os << "mpcc " MPC_VERSION "\n"; }

/// LLVM's own --color knows no "auto", so ours is taken out before it looks.
static std::string takeColor(std::vector<const char *> &arguments) {
  std::string value = "auto";
  llvm::erase_if(arguments, [&](llvm::StringRef argument) {
    if (!argument.consume_front("--color=") && !argument.consume_front("-color="))
      return false;
    value = argument.str();
    return true;
  });
  return value;
}

static void refuseEmpty(UsageErrors &errors, const CommandLine &line) {
  if (line.model.empty())
    errors.report("no MODEL given; try mpcc --help");
  // An empty one is a script's unset variable more often than a wish for the default.
  for (const cl::opt<std::string> *option :
       {&line.output, &line.name, &line.policy, &line.loss, &line.optimizer, &line.metrics,
        &line.compileTo, &line.compileFrom, &line.trainable, &line.frozen, &line.html})
    if (option->getNumOccurrences() && option->empty())
      errors.report((option->ArgStr.size() > 1 ? "--" : "-") + option->ArgStr +
                    ": is empty; expected " + option->ValueStr + ", or leave the option out");
}

static bool searches(const CommandLine &line) {
  return line.policy == "auto" || llvm::StringRef(line.policy).starts_with("auto:");
}

/// Says before anything is compiled where the runtime refuses parts (mpc_rt_context_set_parts).
static void checkParts(const CommandLine &line, UsageErrors &errors) {
  const int64_t parts = line.deterministicRanks;
  if (!rules::areBatchParts(parts))
    errors.report("--deterministic-ranks=" + std::to_string(parts) +
                  ": expected a power of two up to " + std::to_string(rules::mostBatchParts));
  if (line.batch != "dynamic" && line.batch != "first")
    errors.report("--deterministic-ranks: a fixed batch has no parts; leave --batch out");
  if (line.customLoop == "off")
    errors.report("--deterministic-ranks: parts are computed by the stages of the custom loop; "
                  "leave --custom-loop=off out");
}

static void checkChoices(UsageErrors &errors, const CommandLine &line, llvm::StringRef color) {
  errors.oneOf("output-guard", line.outputGuard, {"on", "off"});
  errors.oneOf("mode", line.mode, {"auto", "train", "infer"});
  errors.oneOf("march", line.march, {"portable", "native", "x86-64-v2", "x86-64-v3", "x86-64-v4"});
  if (line.optimization != "0" && line.optimization != "2")
    errors.report("-O" + line.optimization + ": expected -O0 or -O2");
  errors.oneOf("fp32-precision", line.fp32Precision, fp32PrecisionNames);
  errors.oneOf("bias-gradients", line.biasGradients, {"kernels", "products"});
  errors.oneOf("color", color, {"auto", "always", "never"});
  errors.oneOf("custom-loop", line.customLoop, {"on", "off"});
  if (line.weights.getNumOccurrences())
    errors.oneOf("weights", line.weights, {"external", "embedded"});
  errors.oneOf("link", line.link, {"shared", "static"});
  if (line.bucketBytes < 0)
    errors.report("--bucket-bytes: expected a number of bytes, 0 or more");
  errors.oneOf("gradient-dtype", line.gradientDtype, {"float32", "bfloat16"});
  const cl::Option *const ofRanks[] = {&line.bucketBytes, &line.gradientDtype, &line.shard,
                                       &line.deterministicRanks};
  for (const cl::Option *option : ofRanks)
    if (option->getNumOccurrences() && !line.distributed)
      errors.report("--" + option->ArgStr.str() + ": is for several ranks; add --distributed");
  if (!line.shard.empty())
    errors.oneOf("shard", llvm::StringRef(line.shard).split(':').first, {"optimizer"});
  if (!line.shard.empty() && line.numerics)
    errors.report("--shard: reports of values (--numerics) read whole variables; leave one out");
  if (line.deterministicRanks.getNumOccurrences())
    checkParts(line, errors);
  if (!line.shard.empty() && llvm::StringRef(line.target).starts_with("cuda"))
    errors.report(
        "--shard: ranks share the memory of CPUs; with --target=cuda it is not there yet");
  if (line.calibrate.getNumOccurrences() && !searches(line))
    errors.report(
        "--calibrate=" + line.calibrate +
        ": nothing to calibrate; int8 scales each row of activations as it comes, int4 has "
        "floating ones, float8 learns its scales in training; for gptq and awq calibrate with "
        "model.quantize in Keras and compile the file that it saves");
  if (!line.explain.empty())
    errors.oneOf("explain", line.explain, {"ops", "passes", "json"});
}

static void readShapes(UsageErrors &errors, const CommandLine &line, CompileOptions &options) {
  int64_t batch = 0;
  options.batchFirst = line.batch == "first";
  if (line.batch == "dynamic" || options.batchFirst)
    options.batch.reset();
  else if (llvm::StringRef(line.batch).getAsInteger(10, batch) || batch <= 0 || batch > INT32_MAX)
    errors.report("--batch=" + line.batch + ": expected dynamic, first or a positive integer");
  else
    options.batch = batch;
  readInputShapes(
      std::vector<std::string>(line.inputShapes.begin(), line.inputShapes.end()),
      [&](const llvm::Twine &message) { errors.report(message); }, options);
  readTextWidths(
      std::vector<std::string>(line.textWidths.begin(), line.textWidths.end()),
      [&](const llvm::Twine &message) { errors.report(message); }, options);
}

static void readTrainingOptions(UsageErrors &errors, const CommandLine &line,
                                CompileOptions &options) {
  if (!isLossScaleOption(line.lossScale))
    errors.report("--loss-scale=" + line.lossScale + ": expected " + kLossScaleForms.str());
  if (line.learningRate.getNumOccurrences()) {
    options.learningRate = parseLearningRate(line.learningRate);
    if (!options.learningRate)
      errors.report("--learning-rate=" + line.learningRate +
                    ": expected a number that is finite in float32");
  }
}

/// Keys of policy maps are patterns of the same kind.
static void readPatterns(UsageErrors &errors, const CommandLine &line, CompileOptions &options) {
  for (const cl::opt<std::string> *option : {&line.trainable, &line.frozen})
    if (llvm::Expected<bool> match = PathPattern(*option).fullMatch(""); !match)
      errors.report("--" + option->ArgStr + "=" + *option + ": " +
                    llvm::toString(match.takeError()) +
                    "; expected a regular expression of Python");
  options.trainable = line.trainable;
  options.frozen = line.frozen;
}

static void readPhases(UsageErrors &errors, const CommandLine &line, CompileOptions &options) {
  options.compileTo =
      options.emitCuda ? Phase::Kernels : phaseOption(errors, "compile-to", line.compileTo);
  options.compileFrom = phaseOption(errors, "compile-from", line.compileFrom);
  if (options.compileTo && options.compileFrom && *options.compileTo < *options.compileFrom)
    errors.report("--compile-to=" + line.compileTo +
                  " comes before --compile-from=" + line.compileFrom);
}

/// Standard output takes text: IR, or the source of kernels.
static void checkOutput(UsageErrors &errors, const CommandLine &line,
                        const CompileOptions &options) {
  if (line.output != "-" || (options.compileTo && *options.compileTo != Phase::Module))
    return;
  errors.report(
      llvm::Twine("-o -: standard output takes text; expected ") +
      (options.emitArchive ? "a file for the archive" : "a folder for the library and its files") +
      "; --compile-to=PHASE writes IR there");
}

static void readSeed(UsageErrors &errors, const CommandLine &line, CompileOptions &options) {
  if (!line.initialize.getNumOccurrences())
    return;
  uint64_t seed = 0;
  if (!line.initialize.empty() && llvm::StringRef(line.initialize).getAsInteger(10, seed))
    errors.report("--initialize=" + line.initialize + ": expected a seed, a non-negative integer");
  options.initialize = seed;
}

/// Options that have no meaning for a search, or none without it.
static void checkSearch(UsageErrors &errors, const CommandLine &line) {
  if (!searches(line)) {
    for (auto [name, given] : {std::pair("--metric", line.metric.getNumOccurrences()),
                               {"--search-steps", line.searchSteps.getNumOccurrences()},
                               {"--seed", line.seed.getNumOccurrences()}})
      if (given)
        errors.report(llvm::StringRef(name) + ": belongs to --policy=auto; add it, or leave " +
                      name + " out");
    return;
  }
  if (line.calibrate.empty())
    errors.report("--policy=" + line.policy +
                  ": judges policies by data; add --calibrate=D, data with the model's inputs");
  if (!line.compileTo.empty() || !line.compileFrom.empty() || line.emit == "cuda")
    errors.report("--policy=" + line.policy +
                  ": runs what it compiles, from the model to the library; leave --compile-to, "
                  "--compile-from and --emit=cuda out");
  if (line.searchSteps < 0)
    errors.report("--search-steps=" + llvm::Twine(int64_t(line.searchSteps)) +
                  ": expected a number of steps, 0 or more");
}

static void readSearch(UsageErrors &errors, const CommandLine &line, CommandOptions &options) {
  checkSearch(errors, line);
  if (!searches(line))
    return;
  SearchOptions &search = options.search.emplace();
  if (llvm::Error error = parseSearchModes(llvm::StringRef(line.policy).drop_front(4), search))
    errors.report("--policy=" + line.policy + ": " + llvm::toString(std::move(error)));
  for (const std::string &text : line.metric) {
    llvm::Expected<MetricTolerance> metric = parseMetric(text);
    if (metric)
      search.metrics.push_back(std::move(*metric));
    else
      errors.report("--metric=" + text + ": " + llvm::toString(metric.takeError()));
  }
  search.data = line.calibrate;
  search.steps = line.searchSteps;
  search.seed = line.seed;
}

/// Takes the options that need no more checks.
static void takeOptions(const CommandLine &line, CompileOptions &options) {
  options.model = line.model;
  options.output = line.output;
  options.name = line.name;
  options.pipeline.policy = line.policy;
  options.pipeline.outputGuard = line.outputGuard == "on";
  options.pipeline.lossScale = line.lossScale;
  options.pipeline.customLoop = line.customLoop == "on";
  options.pipeline.numerics = line.numerics;
  options.pipeline.distributed = line.distributed;
  options.pipeline.bucketBytes = line.bucketBytes;
  options.pipeline.gradientDtype = line.gradientDtype;
  options.shard = line.shard;
  options.batchParts = static_cast<uint32_t>(line.deterministicRanks);
  options.target = line.target;
  options.pipeline.biasGradientsInProducts = line.biasGradients == "products";
  options.mode = line.mode == "auto"    ? Mode::Auto
                 : line.mode == "train" ? Mode::Train
                                        : Mode::Infer;
  options.loss = line.loss;
  options.optimizer = line.optimizer;
  options.metrics = line.metrics;
  options.march = line.march;
  options.optimize = line.optimization == "2";
  options.linkStatic = line.link == "static";
  options.embedWeights =
      line.weights.getNumOccurrences() ? line.weights == "embedded" : options.linkStatic;
  options.compilerVersion = MPC_VERSION;
  options.explain = !line.explain.getNumOccurrences() ? Explain::Off
                    : line.explain == "json"          ? Explain::Json
                    : line.explain == "passes"        ? Explain::Passes
                    : line.explain == "ops"           ? Explain::Ops
                                                      : Explain::Layers;
  options.verbose = line.verbose;
  options.quiet = line.quiet;
  options.cacheFolder = findCacheFolder(
      line.cache.getNumOccurrences() ? std::optional<std::string>(line.cache) : std::nullopt);
  options.progress = !line.quiet && canRewriteLines();
}

std::optional<CommandOptions> mpc::parseCommandLine(int argc, char **argv, ExitCode &code) {
  std::vector<const char *> arguments(argv, argv + argc);
  std::string color = takeColor(arguments);
  cl::ResetCommandLineParser();
  CommandLine line;
  cl::HideUnrelatedOptions(line.category);
  cl::SetVersionPrinter(printVersion);
  std::string parseErrors;
  llvm::raw_string_ostream parseStream(parseErrors);
  code = kExitUsage;
  if (reportMissingValue("mpcc", arguments))
    return std::nullopt;
  if (!cl::ParseCommandLineOptions(int(arguments.size()), arguments.data(), kOverview,
                                   &parseStream)) {
    reportParseErrors("mpcc", parseErrors);
    return std::nullopt;
  }
  CommandOptions options;
  UsageErrors errors;
  refuseEmpty(errors, line);
  checkChoices(errors, line, color);
  readCudaOptions(errors, line, options);
  readShapes(errors, line, options);
  readTrainingOptions(errors, line, options);
  readPatterns(errors, line, options);
  readPhases(errors, line, options);
  checkOutput(errors, line, options);
  readSeed(errors, line, options);
  if (line.lint.getNumOccurrences() || line.html.getNumOccurrences())
    options.lint =
        readLint(line.lint.getNumOccurrences() ? std::optional(line.lint.getValue()) : std::nullopt,
                 line.html, [&](const llvm::Twine &text) { errors.report(text); });
  readSearch(errors, line, options);
  if (errors.any)
    return std::nullopt;
  takeOptions(line, options);
  if (options.search)
    options.pipeline.policy.clear(); // the search decides
  options.color = wantsColor(color);
  return options;
}
