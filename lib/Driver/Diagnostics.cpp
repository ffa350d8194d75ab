// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Printing of diagnostics.
#include "lib/Driver/Diagnostics.h"
#include "lib/Driver/ProgressLine.h"
#include "mlir/IR/Location.h"
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

DiagnosticPrinter::DiagnosticPrinter(MLIRContext &context, std::string file, bool color, bool quiet,
                                     ProgressLine &progress)
    : file(std::move(file)), color(color), quiet(quiet), progress(progress),
      handler(&context, [this](Diagnostic &diagnostic) { return handle(diagnostic); }) {}

void DiagnosticPrinter::print(DiagnosticSeverity severity, const Twine &message) {
  progress.erase();
  auto mode = color ? llvm::ColorMode::Enable : llvm::ColorMode::Disable;
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

LogicalResult DiagnosticPrinter::handle(Diagnostic &diagnostic) {
  if (diagnostic.getSeverity() == DiagnosticSeverity::Remark)
    return success();
  if (quiet && diagnostic.getSeverity() != DiagnosticSeverity::Error)
    return success();
  std::string place = placeOf(diagnostic.getLocation());
  if (place == file) // the location of the module itself
    place.clear();
  // The model's, or one that an option names.
  std::string message = wholeFileOf(diagnostic.getLocation()).value_or(file).str() +
                        (place.empty() ? "" : ":" + place) + ": " + diagnostic.str();
  if (message == last)
    return success();
  last = message;
  print(diagnostic.getSeverity(), message);
  for (Diagnostic &note : diagnostic.getNotes()) {
    std::string notePlace = placeOf(note.getLocation());
    print(DiagnosticSeverity::Note,
          file + (notePlace.empty() ? "" : ":" + notePlace) + ": " + note.str());
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
  if (!quiet)
    print(DiagnosticSeverity::Warning, message);
}
void DiagnosticPrinter::note(const Twine &message) {
  if (!quiet)
    print(DiagnosticSeverity::Note, message);
}
