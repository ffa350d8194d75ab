// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Units of code: one function of the module each, with the constants that it reads.
#ifndef MPC_LIB_CODEGEN_CPU_CODEUNITS_H
#define MPC_LIB_CODEGEN_CPU_CODEUNITS_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace mpc {

/// A function of the LLVM dialect in a module of its own.
struct CodeUnit {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::string name; ///< of the function
  /// Functions of other units that this one names, in the order in which it does.
  std::vector<std::string> callees;
  bool isKernel = false;
  /// Another unit names the function, not only a table of kernels.
  bool isNamed = false;
  size_t ops = 0;
};

/// Takes the module's functions apart; it keeps what no function reads. Functions of one unit are
/// not seen by the optimiser while it works on another.
llvm::Expected<std::vector<CodeUnit>> takeApart(mlir::ModuleOp module,
                                                llvm::ArrayRef<std::string> kernels);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CPU_CODEUNITS_H
