// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// From an LLVM module to the bytes of a shared library.
#ifndef MPC_LIB_CODEGEN_CPU_OBJECTFILE_H
#define MPC_LIB_CODEGEN_CPU_OBJECTFILE_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace mpc {

struct ObjectFile {
  std::string name; ///< for the linker's messages
  std::string content;
};

/// How much of LLVM's work code is worth.
enum class Effort {
  Full, ///< kernels and loops, where a step's time goes
  Least ///< what runs once in a step, and everything with -O0: LLVM selects instructions one by
        ///< one, without a look at others
};

/// LLVM's passes for x86-64. What they need to know of the target is found out once, so that one is
/// kept for many modules; by one thread at a time.
class CodeGenerator {
public:
  static llvm::Expected<std::unique_ptr<CodeGenerator>> create();
  ~CodeGenerator();

  /// Gives the module the target, with position-independent code; functions carry their own level.
  void prepare(llvm::Module &module) const;

  /// Inlining and scalar optimisation, for any instruction set. Functions must be visible from
  /// outside or used.
  void simplify(llvm::Module &module);

  /// Loop vectorisation for each function's instruction set and what follows it.
  void vectorize(llvm::Module &module);

  llvm::Expected<std::string> emitObject(llvm::Module &module, Effort effort);

private:
  struct Passes;
  explicit CodeGenerator(std::unique_ptr<Passes> passes);
  std::unique_ptr<Passes> passes;
};

/// Links objects to a shared library that needs at most libc and libm. Everything undefined
/// beyond them is an error that lists the symbols.
llvm::Expected<std::string> linkSharedLibrary(llvm::ArrayRef<ObjectFile> objects,
                                              llvm::StringRef name);

/// The same as libNAME.a, for programs that have the model in them. Its only global symbol is
/// NAME_executable_query.
llvm::Expected<std::string> linkStaticLibrary(llvm::ArrayRef<ObjectFile> objects,
                                              llvm::StringRef name);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CPU_OBJECTFILE_H
