// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The name of a lint is metadata of its diagnostic: what prints it appends the name.
#include "mpc/Analysis/LintName.h"

using namespace mlir;

/// Marks the metadata as ours.
static constexpr llvm::StringLiteral kKey = "mpc-lint";

InFlightDiagnostic mpc::emitLint(Location loc, llvm::StringRef name) {
  InFlightDiagnostic warning = emitWarning(loc);
  auto &metadata = warning.getUnderlyingDiagnostic()->getMetadata();
  // Arguments refer to text: an attribute's lives as long as the context.
  for (llvm::StringRef text : {llvm::StringRef(kKey), name})
    metadata.push_back(DiagnosticArgument(StringAttr::get(loc.getContext(), text)));
  return warning;
}

llvm::StringRef mpc::lintNameOf(Diagnostic &diagnostic) {
  auto textOf = [&](size_t index) {
    auto &argument = diagnostic.getMetadata()[index];
    auto text = argument.getKind() == DiagnosticArgument::DiagnosticArgumentKind::Attribute
                    ? dyn_cast<StringAttr>(argument.getAsAttribute())
                    : StringAttr();
    return text ? text.getValue() : llvm::StringRef();
  };
  if (diagnostic.getMetadata().size() != 2 || textOf(0) != kKey)
    return {};
  return textOf(1);
}
