// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Printing of diagnostics.
#include "lib/Driver/Diagnostics.h"
#include "lib/Driver/ProgressLine.h"
#include "mlir/IR/Location.h"
#include "mpc/Analysis/LintName.h"
#include "mpc/Numerics/Lint/Lint.h"
#include "runtime/untrusted/outlets.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/WithColor.h"

using namespace mlir;
using namespace mpc;

/// The file that a location means as a whole: line 0 of it.
static std::optional<StringRef> wholeFileOf(Location loc) {
  auto line = dyn_cast<FileLineColLoc>(loc);
  return line && line.getLine() == 0 ? std::optional(line.getFilename().strref()) : std::nullopt;
}

std::string mpc::placeOf(Location loc) {
  std::string place;
  loc->walk([&](Location inner) {
    if (auto named = dyn_cast<NameLoc>(inner)) {
      place = named.getName().str();
      return WalkResult::interrupt();
    }
    if (auto line = dyn_cast<FileLineColLoc>(inner); line && line.getLine() > 0)
      place = std::to_string(line.getLine()) + ":" + std::to_string(line.getColumn());
    return WalkResult::advance();
  });
  return place;
}

DiagnosticPrinter::DiagnosticPrinter(MLIRContext &context, const CompileOptions &options,
                                     ProgressLine &progress)
    : options(options), progress(progress),
      handler(&context, [this](Diagnostic &diagnostic) { return handle(diagnostic); }) {}

void DiagnosticPrinter::print(DiagnosticSeverity severity, const Twine &message) {
  if (severity != DiagnosticSeverity::Error) {
    if (toldBefore.count(message.str()))
      return;
    told.insert(message.str());
  }
  progress.erase();
  auto mode = options.color ? llvm::ColorMode::Enable : llvm::ColorMode::Disable;
  if (severity == DiagnosticSeverity::Error) {
    ++errors;
    llvm::WithColor(llvm::errs(), llvm::HighlightColor::Error, mode) << "error: ";
  } else if (severity == DiagnosticSeverity::Warning) {
    llvm::WithColor(llvm::errs(), llvm::HighlightColor::Warning, mode) << "warning: ";
  } else {
    llvm::WithColor(llvm::errs(), llvm::HighlightColor::Note, mode) << "note: ";
  }
  llvm::errs() << untrusted::forLine(message.str()) << '\n';
}

/// A hazard of the model is told always where it is one whatever the data, else with --lint.
bool DiagnosticPrinter::isTold(StringRef lint) const {
  const LintChoice &choice = options.lint;
  const LintRule *rule = findLintRule(lint);
  if (choice.silenced.count(lint.str()))
    return false;
  // Who asks for no scale knows of it.
  const bool isAsked =
      rule == findLintRule("no-loss-scale") && options.pipeline.lossScale == "none";
  return choice.isOn || (rule && rule->isAlwaysTold && !isAsked);
}

LogicalResult DiagnosticPrinter::handle(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
    return success();
  const StringRef lint = lintNameOf(diagnostic);
  if (!lint.empty() && !isTold(lint))
    return success();
  const bool isQuiet = options.quiet && diagnostic.getSeverity() != DiagnosticSeverity::Error;
  if (isQuiet && lint.empty())
    return success();
  std::string place = placeOf(diagnostic.getLocation());
  if (place == options.model) // the location of the module itself
    place.clear();
  // The model's, or one that an option names.
  std::string message = wholeFileOf(diagnostic.getLocation()).value_or(options.model).str() +
                        (place.empty() ? "" : ":" + place) + ": " + diagnostic.str() +
                        (lint.empty() ? std::string() : " [lint-" + lint.str() + "]");
  if (message == last)
    return success();
  last = message;
  if (!lint.empty())
    findings.push_back({lint.str(), place, diagnostic.str()});
  if (isQuiet)
    return success();
  print(diagnostic.getSeverity(), message);
  for (Diagnostic &note : diagnostic.getNotes()) {
    std::string notePlace = placeOf(note.getLocation());
    print(DiagnosticSeverity::Note,
          options.model + (notePlace.empty() ? "" : ":" + notePlace) + ": " + note.str());
  }
  return success();
}

void DiagnosticPrinter::error(llvm::Error failure) {
  llvm::handleAllErrors(std::move(failure), [&](const llvm::ErrorInfoBase &one) {
    print(DiagnosticSeverity::Error, one.message());
  });
}

void DiagnosticPrinter::error(const Twine &message) { print(DiagnosticSeverity::Error, message); }
void DiagnosticPrinter::warning(const Twine &message) {
  if (!options.quiet)
    print(DiagnosticSeverity::Warning, message);
}
void DiagnosticPrinter::note(const Twine &message) {
  if (!options.quiet)
    print(DiagnosticSeverity::Note, message);
}
