// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// MLIR prints diagnostics as they are, with names and places of the input in them, which are
// hostile: here each one becomes what a terminal shows before MLIR's own handler gets it.
#ifndef MPC_TOOLS_SHOWN_DIAGNOSTICS_H
#define MPC_TOOLS_SHOWN_DIAGNOSTICS_H

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/MLIRContext.h"
#include "runtime/untrusted/outlets.h"

#include <memory>

namespace mpc {

/// `loc` with names of files, functions and layers as a terminal shows them.
inline mlir::Location shownLocation(mlir::Location loc) {
  mlir::AttrTypeReplacer replacer;
  replacer.addReplacement([](mlir::StringAttr text) -> mlir::Attribute {
    return mlir::StringAttr::get(text.getContext(), untrusted::forLine(text.getValue()));
  });
  replacer.addReplacement([](mlir::FileLineColRange range) -> mlir::Attribute {
    return mlir::FileLineColLoc::get(range.getContext(),
                                     untrusted::forLine(range.getFilename().getValue()),
                                     range.getStartLine(), range.getStartColumn());
  });
  return mlir::cast<mlir::LocationAttr>(replacer.replace(loc));
}

/// The same diagnostic as a terminal shows it.
inline mlir::Diagnostic shownDiagnostic(mlir::Diagnostic &diagnostic) {
  mlir::Diagnostic shown(shownLocation(diagnostic.getLocation()), diagnostic.getSeverity());
  shown << untrusted::forTerminal(diagnostic.str());
  for (mlir::Diagnostic &note : diagnostic.getNotes())
    shown.attachNote(shownLocation(note.getLocation())) << untrusted::forTerminal(note.str());
  return shown;
}

inline bool isShown(mlir::Diagnostic &diagnostic) {
  auto isSame = [](mlir::Diagnostic &part) {
    const std::string text = part.str();
    return untrusted::forTerminal(text) == text &&
           shownLocation(part.getLocation()) == part.getLocation();
  };
  return isSame(diagnostic) && llvm::all_of(diagnostic.getNotes(), isSame);
}

/// To be called where MLIR's handlers exist: the last one that is registered gets a diagnostic
/// first. One that is not safe to show starts again as one that is.
inline void showDiagnostics(mlir::MLIRContext *context) {
  mlir::DiagnosticEngine &engine = context->getDiagEngine();
  engine.registerHandler([&engine](mlir::Diagnostic &diagnostic) {
    if (isShown(diagnostic))
      return mlir::failure();
    engine.emit(shownDiagnostic(diagnostic));
    return mlir::success();
  });
}

/// Lets every context made with `registry` show its diagnostics. The extension runs with each
/// dialect that the input names, when MLIR's handler is there; that which comes with the context is
/// none of them. Contexts follow each other at one address, so that nothing is remembered of them.
inline void showDiagnostics(mlir::DialectRegistry &registry) {
  struct Extension final : mlir::DialectExtensionBase {
    Extension() : DialectExtensionBase(/*dialectNames=*/{}) {}
    void apply(mlir::MLIRContext *context, mlir::MutableArrayRef<mlir::Dialect *>) const override {
      showDiagnostics(context);
    }
    std::unique_ptr<DialectExtensionBase> clone() const override {
      return std::make_unique<Extension>();
    }
  };
  registry.addExtension(mlir::TypeID::get<Extension>(), std::make_unique<Extension>());
}

} // namespace mpc

#endif // MPC_TOOLS_SHOWN_DIAGNOSTICS_H
