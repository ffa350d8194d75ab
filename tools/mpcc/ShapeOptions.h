// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// --input-shape and --text-width of mpcc.
#ifndef MPC_TOOLS_MPCC_SHAPEOPTIONS_H
#define MPC_TOOLS_MPCC_SHAPEOPTIONS_H

#include "mpc/Driver/Compile.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"

namespace mpc {

/// Reads all options of that name. The k-th shapes of all inputs go together; an input with one
/// shape has it every time.
void readInputShapes(llvm::ArrayRef<std::string> texts,
                     llvm::function_ref<void(const llvm::Twine &)> report, CompileOptions &options);

/// Reads all options of that name: "N", or "NAME:N".
void readTextWidths(llvm::ArrayRef<std::string> texts,
                    llvm::function_ref<void(const llvm::Twine &)> report, CompileOptions &options);

} // namespace mpc

#endif // MPC_TOOLS_MPCC_SHAPEOPTIONS_H
