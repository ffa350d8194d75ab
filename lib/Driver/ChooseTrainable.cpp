// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Driver/ChooseTrainable.h"

#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mpc/Policy/PathPattern.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpc;

namespace {

/// One of the two options, and whether it has said anything about the model.
class PathChoice {
public:
  PathChoice(StringRef option, StringRef text) : option(option), text(text), pattern(text) {}

  bool isGiven() const { return !text.empty(); }
  /// Nothing after an error.
  std::optional<bool> matches(StringRef path, DiagnosticPrinter &diagnostics) {
    if (!isGiven())
      return false;
    llvm::Expected<bool> match = pattern.fullMatch(path);
    if (!match) {
      diagnostics.error("--" + option + "=" + text + ": " + llvm::toString(match.takeError()));
      return std::nullopt;
    }
    hasMatched |= *match;
    return *match;
  }
  std::string spell() const { return ("--" + option + "=" + text).str(); }

  bool hasMatched = false;

private:
  const StringRef option, text;
  const PathPattern pattern;
};

/// Paths in a message, of which there may be thousands.
std::string listSome(ArrayRef<StringRef> paths) {
  constexpr size_t most = 8;
  return llvm::join(paths.take_front(most), ", ") + (paths.size() > most ? ", …" : "");
}

/// The variables that the forward pass renews itself: training moves them, no optimizer.
llvm::StringSet<> collectRenewed(ModuleOp module) {
  llvm::StringSet<> renewed;
  if (auto forward = module.lookupSymbol<func::FuncOp>("forward"))
    for (unsigned i = 0; i < forward.getNumResults(); ++i)
      if (auto name = forward.getResultAttrOfType<FlatSymbolRefAttr>(i, MpcDialect::kUpdatesAttr))
        renewed.insert(name.getValue());
  return renewed;
}

bool mayTrain(VariableOp variable) {
  return (variable.getRole() == VariableRole::Trainable ||
          variable.getRole() == VariableRole::NonTrainable) &&
         isa<FloatType>(variable.getType().getElementType());
}

} // namespace

ExitCode mpc::chooseTrainable(ModuleOp module, const CompileOptions &options,
                              ArrayRef<std::string> untrainable, DiagnosticPrinter &diagnostics) {
  PathChoice wanted("trainable", options.trainable), frozen("frozen", options.frozen);
  if (!wanted.isGiven() && !frozen.isGiven())
    return kExitDone;
  llvm::StringSet<> fixed = collectRenewed(module);
  for (const std::string &path : untrainable)
    fixed.insert(path);
  SmallVector<StringRef> paths;
  for (VariableOp variable : module.getOps<VariableOp>()) {
    const StringRef path = variable.getSymName();
    // The gradient of a float8 scale is its new value: no optimizer has a part in it.
    if (!mayTrain(variable) || fixed.contains(path) || variable.getOverwriteWithGradient())
      continue;
    paths.push_back(path);
    const std::optional<bool> isWanted = wanted.matches(path, diagnostics),
                              isFrozen = frozen.matches(path, diagnostics);
    if (!isWanted || !isFrozen)
      return kExitBadInput;
    const bool trains =
        (wanted.isGiven() ? *isWanted : variable.getRole() == VariableRole::Trainable) &&
        !*isFrozen;
    variable.setRole(trains ? VariableRole::Trainable : VariableRole::NonTrainable);
  }
  for (const PathChoice *choice : {&wanted, &frozen})
    if (choice->isGiven() && !choice->hasMatched)
      diagnostics.error(options.model + ": " + choice->spell() +
                        " matches the path of no variable that could train; expected a regular "
                        "expression of a whole path, of these: " +
                        listSome(paths));
  return diagnostics.hasErrors() ? kExitBadInput : kExitDone;
}
