// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether what mpcc is about to write may take its place.
#ifndef MPC_LIB_DRIVER_CHECKOUTPUTS_H
#define MPC_LIB_DRIVER_CHECKOUTPUTS_H

#include "lib/Driver/Diagnostics.h"
#include "mpc/Driver/Compile.h"
#include "llvm/ADT/ArrayRef.h"

namespace mpc {

/// No file that was read is replaced.
ExitCode checkOutputs(const CompileOptions &options, DiagnosticPrinter &diagnostics,
                      llvm::StringRef directory, llvm::ArrayRef<std::string> names);

/// The same of the file of `--emit=archive`. A folder in its place, which is what mpcc writes under
/// the same name without that option, stays.
ExitCode checkArchive(const CompileOptions &options, DiagnosticPrinter &diagnostics,
                      llvm::StringRef path);

} // namespace mpc

#endif // MPC_LIB_DRIVER_CHECKOUTPUTS_H
