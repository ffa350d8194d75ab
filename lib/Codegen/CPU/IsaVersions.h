// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Versions of kernels for x86-64 levels.
#ifndef MPC_LIB_CODEGEN_CPU_ISAVERSIONS_H
#define MPC_LIB_CODEGEN_CPU_ISAVERSIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Function.h"
#include <vector>

namespace mpc {

/// An x86-64 level that kernels are compiled for.
struct IsaLevel {
  uint32_t isa; ///< mpc_rt_isa_t
  llvm::StringRef cpu;
  /// The end of the names of a kernel's versions.
  llvm::StringRef suffix;
  /// AVX-512 code would otherwise use 256-bit vectors.
  llvm::StringRef vectorWidth;
  bool hasF16C; ///< instructions that convert float16
  /// Features beyond the level's, which comes before: of a version for CPUs that have more.
  llvm::StringRef features = "";
};

/// The levels that `march` asks for, each of which has those before it.
std::vector<IsaLevel> listLevels(llvm::StringRef march);

/// Gives the function, whose conversions of float16 are hidden, the level that everything but
/// kernels has.
void setBaseline(llvm::Function &function);

/// Clones such a kernel for each level, with the level's suffix behind its name.
void cloneForLevels(llvm::Function &kernel, llvm::ArrayRef<IsaLevel> levels);

/// Clones the level's version of the kernel, whose loops have vectors, for those with more features
/// than the level has. Where these change nothing, that is another name of the same code.
void cloneForFeatures(llvm::Module &module, llvm::StringRef kernel,
                      llvm::ArrayRef<IsaLevel> levels);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CPU_ISAVERSIONS_H
