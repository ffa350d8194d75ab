// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Options of mpc-convert.
#include "tools/mpc-convert/Options.h"
#include "mpc/Training/TrainingOptions.h"
#include "runtime/untrusted/outlets.h"
#include "tools/ParseErrors.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/WithColor.h"
#include <cmath>

using namespace mpc;
namespace cl = llvm::cl;

namespace {
/// Made when the options are parsed, after those that LLVM's libraries registered have left.
struct CommandLine {
#define MPC_OPTION(VARIABLE, NAME, ...)                                                            \
  cl::opt<std::string> VARIABLE { NAME, cl::cat(category), __VA_ARGS__ }
  cl::OptionCategory category{"mpc-convert options"};

  cl::opt<std::string> input{cl::Positional, cl::desc("IN"), cl::cat(category)};
  MPC_OPTION(output, "o", cl::value_desc("OUT"),
             cl::desc("File to write; its suffix says which kind: .keras, .h5, .weights.h5, "
                      ".safetensors, .npz or .onnx"));
  MPC_OPTION(model, "model", cl::value_desc("MODEL"),
             cl::desc("Architecture, policies and training config of what is written: .keras, .h5 "
                      "or JSON (default: IN, when it is a model); .onnx: the model whose "
                      "initializers take the values"));
  MPC_OPTION(loss, "loss", cl::value_desc("NAME|FILE"), cl::desc("As given to mpcc"));
  MPC_OPTION(optimizer, "optimizer", cl::value_desc("NAME|FILE"), cl::desc("As given to mpcc"));
  MPC_OPTION(metrics, "metrics", cl::value_desc("NAMES|FILE"), cl::desc("As given to mpcc"));
  MPC_OPTION(learningRate, "learning-rate", cl::value_desc("R"), cl::desc("As given to mpcc"));
  MPC_OPTION(lossScale, "loss-scale", cl::init("auto"), cl::value_desc("as for mpcc"),
             cl::desc("As given to mpcc (auto: scaled when IN holds a loss scale)"));
#undef MPC_OPTION
};
} // namespace

static const char *kOverview =
    "mpc-convert: weights, optimizer state and loss-scale state between files of Keras and mpc,\n"
    "and weights back into ONNX models\n\n"
    "EXAMPLES:\n"
    "  mpc-convert trained.safetensors --model model.keras -o trained.keras\n"
    "  mpc-convert tuned.safetensors --model model.onnx -o tuned.onnx\n"
    "  mpc-convert model.h5 -o model.keras\n"
    "  mpc-convert model.weights.h5 --model architecture.json -o model.keras\n"
    "  mpc-convert model.keras -o weights.npz\n";

static void printVersion(llvm::raw_ostream &os) { os << "mpc-convert " MPC_VERSION "\n"; }

std::optional<ConvertOptions> mpc::parseConvertOptions(int argc, char **argv, ExitCode &code) {
  cl::ResetCommandLineParser();
  CommandLine line;
  cl::HideUnrelatedOptions(line.category);
  cl::SetVersionPrinter(printVersion);
  code = kExitUsage;
  bool good = true;
  auto report = [&](const llvm::Twine &message) {
    llvm::WithColor::error(llvm::errs()) << untrusted::forLine(message.str()) << "\n";
    good = false;
  };
  std::string parseErrors;
  llvm::raw_string_ostream parseStream(parseErrors);
  if (reportMissingValue("mpc-convert", llvm::ArrayRef<const char *>(argv, argc)))
    return std::nullopt;
  if (!cl::ParseCommandLineOptions(argc, argv, kOverview, &parseStream)) {
    reportParseErrors("mpc-convert", parseErrors);
    return std::nullopt;
  }
  if (line.input.empty())
    report("no IN given; try mpc-convert --help");
  if (line.output.empty())
    report("no -o OUT given; try mpc-convert --help");
  for (const cl::opt<std::string> *option :
       {&line.model, &line.loss, &line.optimizer, &line.metrics})
    if (option->getNumOccurrences() && option->empty())
      report("--" + option->ArgStr + ": is empty; expected " + option->ValueStr +
             ", or leave the option out");
  if (!isLossScaleOption(line.lossScale))
    report("--loss-scale=" + line.lossScale + ": expected " + kLossScaleForms.str());
  ConvertOptions options;
  if (line.learningRate.getNumOccurrences()) {
    options.compile.learningRate = parseLearningRate(line.learningRate);
    if (!options.compile.learningRate)
      report("--learning-rate=" + line.learningRate +
             ": expected a number that is finite in float32");
  }
  if (!good)
    return std::nullopt;
  options.input = line.input;
  options.output = line.output;
  options.compile.model = line.model;
  options.compile.loss = line.loss;
  options.compile.optimizer = line.optimizer;
  options.compile.metrics = line.metrics;
  options.compile.pipeline.lossScale = line.lossScale;
  return options;
}
