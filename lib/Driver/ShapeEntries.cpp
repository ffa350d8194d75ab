// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Driver/ShapeEntries.h"
#include "dialects/mpc/IR/EntryNames.h"
#include "lib/Driver/Compilation.h"
#include "mlir/Parser/Parser.h"
#include "mpc/Analysis/EntryRole.h"

using namespace mlir;
using namespace mpc;

/// Whether a run of the entry writes the variable.
static bool updates(func::FuncOp entry, StringAttr variable) {
  for (unsigned result = 0; result < entry.getNumResults(); ++result)
    if (auto symbol =
            entry.getResultAttrOfType<FlatSymbolRefAttr>(result, MpcDialect::kUpdatesAttr);
        symbol && symbol.getAttr() == variable)
      return true;
  return false;
}

static bool haveEqualValues(const WeightStore &a, const WeightStore &b, const std::string &name) {
  const auto one = a.all().find(name), other = b.all().find(name);
  if (one == a.all().end() || other == b.all().end())
    return one == a.all().end() && other == b.all().end();
  return one->second.dtype == other->second.dtype && one->second.dims == other->second.dims &&
         one->second.bytes == other->second.bytes;
}

/// A name that no symbol of the module has.
static std::string nameForShape(ModuleOp module, StringRef name, size_t number) {
  std::string text = (name + " (shape " + Twine(number) + ")").str();
  while (module.lookupSymbol(text))
    text += "'";
  return text;
}

namespace {
/// The module of one more shape on its way into that of the first.
class ShapeMerge {
public:
  ShapeMerge(ModuleOp module, WeightStore &weights, ModuleOp other, const WeightStore &otherWeights,
             size_t number)
      : module(module), weights(weights), other(other), otherWeights(otherWeights), number(number),
        predict(findEntry(other, EntryRole::Predict)) {}

  /// Says what is wrong; empty when all is merged.
  std::string run();

private:
  std::string takeVariable(VariableOp variable);

  ModuleOp module;
  WeightStore &weights;
  ModuleOp other;
  const WeightStore &otherWeights;
  size_t number;
  func::FuncOp predict;
};
} // namespace

std::string ShapeMerge::takeVariable(VariableOp variable) {
  const std::string name = variable.getSymName().str();
  auto known = module.lookupSymbol<VariableOp>(name);
  if (known && known.getType() == variable.getType() && known.getRole() == variable.getRole() &&
      haveEqualValues(weights, otherWeights, name))
    return ""; // shared
  std::string own = name;
  if (known) {
    if (updates(predict, variable.getSymNameAttr()))
      return name + ": predictions change this variable, whose shape depends on the input's; "
                    "expected one shape for a model that keeps state";
    own = nameForShape(module, name, number);
    if (failed(SymbolTable::replaceAllSymbolUses(variable, StringAttr::get(other.getContext(), own),
                                                 other)))
      return name + ": cannot be renamed for another shape; expected ops that mpc knows";
    variable.setSymName(own);
  }
  if (auto value = otherWeights.all().find(name); value != otherWeights.all().end())
    weights.add(own, value->second);
  variable->moveBefore(&module.getBody()->front());
  return "";
}

std::string ShapeMerge::run() {
  for (VariableOp variable : llvm::make_early_inc_range(other.getOps<VariableOp>()))
    if (std::string problem = takeVariable(variable); !problem.empty())
      return problem;
  predict.setSymName(rules::entryForShape(predict.getSymName().str(), number));
  predict->moveAfter(&module.getBody()->back());
  return "";
}

ExitCode ShapeEntries::add(size_t number, const InputShapes &shapes) {
  CompileOptions own = first.options;
  own.inputShapes = shapes;
  own.moreInputShapes.clear();
  own.mode = Mode::Infer;
  own.explain = Explain::Off;
  own.compileTo = Phase::Autodiff;
  Compilation compilation(own);
  compilation.diagnostics.leaveOut(first.diagnostics);
  compilation.file = llvm::MemoryBuffer::getMemBuffer(first.file->getMemBufferRef(), false);
  if (ExitCode code = compilation.load(); code != kExitDone)
    return code;
  if (ExitCode code = compilation.runPhases(); code != kExitDone)
    return code;
  // Text is what two contexts have in common.
  ParserConfig config(&first.context);
  OwningOpRef<ModuleOp> other = parseSourceString<ModuleOp>(compilation.printIR(), config);
  if (!other)
    return first.reportInternalError(Phase::Autodiff, "the module of another shape cannot be read");
  const std::string problem =
      ShapeMerge(*first.module, first.weights, *other, compilation.weights, number).run();
  if (problem.empty())
    return kExitDone;
  first.diagnostics.error(first.options.model + ":" + problem);
  return kExitBadInput;
}

ExitCode ShapeEntries::add() {
  for (const auto &[i, shapes] : llvm::enumerate(first.options.moreInputShapes)) {
    first.progress.show("shape " + Twine(i + 2));
    if (ExitCode code = add(i + 2, shapes); code != kExitDone)
      return code;
  }
  return kExitDone;
}

ExitCode ShapeEntries::check() {
  const CompileOptions &options = first.options;
  if (options.moreInputShapes.empty())
    return kExitDone;
  const std::string what = "--input-shape: " + std::to_string(options.moreInputShapes.size() + 1) +
                           " shapes of an input";
  if (options.mode == Mode::Train || !options.loss.empty() || !options.optimizer.empty()) {
    first.diagnostics.error(what +
                            ": a library of several shapes only predicts; expected one shape for "
                            "training; compile a library of its own to train");
    return kExitUsage;
  }
  if (options.compileTo && *options.compileTo < Phase::Scaling) {
    first.diagnostics.error("--compile-to=" + stringifyPhase(*options.compileTo) + ": " + what +
                            " are one module from the phase scaling on; expected one shape, or "
                            "that phase or a later one");
    return kExitUsage;
  }
  return kExitDone;
}

bool ShapeEntries::onlyPredicts(const llvm::json::Object &fileConfig) {
  const CompileOptions &options = first.options;
  if (options.mode == Mode::Infer || options.moreInputShapes.empty())
    return options.mode == Mode::Infer;
  if (!fileConfig.empty())
    first.diagnostics.warning(options.model +
                              ": was compiled to train, which a library of several shapes cannot; "
                              "compiled for inference alone (--mode=infer)");
  return true;
}
