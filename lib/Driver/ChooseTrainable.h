// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which variables train: what --trainable and --frozen say of their paths, for every importer.
#ifndef MPC_LIB_DRIVER_CHOOSETRAINABLE_H
#define MPC_LIB_DRIVER_CHOOSETRAINABLE_H

#include "lib/Driver/Diagnostics.h"
#include "mlir/IR/BuiltinOps.h"

namespace mpc {

/// Gives the variables of a module of the phase import the roles that the options ask for.
/// `untrainable`: paths of those that no optimizer may update, whatever is asked (statistics,
/// counters).
ExitCode chooseTrainable(mlir::ModuleOp module, const CompileOptions &options,
                         llvm::ArrayRef<std::string> untrainable, DiagnosticPrinter &diagnostics);

} // namespace mpc

#endif // MPC_LIB_DRIVER_CHOOSETRAINABLE_H
