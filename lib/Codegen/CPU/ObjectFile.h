// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From an LLVM module to the bytes of a shared library.
#ifndef MPC_LIB_CODEGEN_CPU_OBJECTFILE_H
#define MPC_LIB_CODEGEN_CPU_OBJECTFILE_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
} // namespace llvm

namespace mpc {

/// The x86-64 target with position-independent code; functions carry their own level.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine();

/// Inlining and scalar optimisation, for any instruction set. Functions must be visible from
/// outside or used.
void simplify(llvm::Module &module, llvm::TargetMachine &target);

/// Loop vectorisation for each function's instruction set and what follows it.
void vectorize(llvm::Module &module, llvm::TargetMachine &target);

llvm::Expected<std::string> emitObject(llvm::Module &module, llvm::TargetMachine &target);

/// Vectorizes the module and makes objects of it, on as many threads as the machine has. What is in
/// which object depends on the module alone. Functions keep their names; local ones may become
/// visible to the other objects.
llvm::Expected<std::vector<std::string>> compileInParts(llvm::Module &module);

/// Links objects to a shared library that needs at most libc and libm. Everything undefined
/// beyond them is an error that lists the symbols.
llvm::Expected<std::string> linkSharedLibrary(llvm::ArrayRef<std::string> objects,
                                              llvm::StringRef name);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CPU_OBJECTFILE_H
