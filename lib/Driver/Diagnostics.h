// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Messages of the compiler tools: "error: FILE[:PLACE]: what is wrong; what was expected; what to
// do".
#ifndef MPC_LIB_DRIVER_DIAGNOSTICS_H
#define MPC_LIB_DRIVER_DIAGNOSTICS_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mpc/Driver/Compile.h"
#include "llvm/Support/Error.h"

namespace mpc {

class ProgressLine;

/// A hazard that was told.
struct ToldFinding {
  std::string rule, place, text; ///< the place is a layer's path or a part of one; empty: the model
};

/// Prints MLIR diagnostics in the tools' form; PLACE is the layer path of the location. A message
/// that is reported twice is printed once. Each is one line, in which the names of the model are
/// shown (untrusted/outlets.h), never acted upon by a terminal.
class DiagnosticPrinter {
public:
  /// `progress` is erased before each message.
  DiagnosticPrinter(mlir::MLIRContext &context, const CompileOptions &options,
                    ProgressLine &progress);

  /// Prints each error of a list as a message of its own. The text names file and place itself.
  void error(llvm::Error failure);
  void error(const llvm::Twine &message);
  void warning(const llvm::Twine &message);
  void note(const llvm::Twine &message);
  bool hasErrors() const { return errors > 0; }
  /// Leaves out warnings and notes that `other` has told so far.
  void leaveOut(const DiagnosticPrinter &other) { toldBefore = other.told; }
  /// The hazards that were told, or would have been but for -q.
  llvm::ArrayRef<ToldFinding> getFindings() const { return findings; }

private:
  void print(mlir::DiagnosticSeverity severity, const llvm::Twine &message);
  mlir::LogicalResult handle(mlir::Diagnostic &diagnostic);

  bool isTold(llvm::StringRef lint) const;

  const CompileOptions &options;
  std::string last;
  std::set<std::string> told, toldBefore; ///< warnings and notes
  ProgressLine &progress;
  unsigned errors = 0;
  std::vector<ToldFinding> findings;
  mlir::ScopedDiagnosticHandler handler;
};

/// The layer path of a location: the innermost name, else "line:column" of IR text, else empty.
std::string placeOf(mlir::Location loc);

} // namespace mpc

#endif // MPC_LIB_DRIVER_DIAGNOSTICS_H
