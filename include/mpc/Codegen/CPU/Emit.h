// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Phase module: from LLVM-dialect IR to the compiled folder.
#ifndef MPC_CODEGEN_CPU_EMIT_H
#define MPC_CODEGEN_CPU_EMIT_H

#include "mlir/IR/BuiltinOps.h"
#include "mpc/Codegen/CUDA/Target.h"
#include "mpc/Support/WeightStore.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace mpc {

struct EmitOptions {
  /// Base of every output name and symbol prefix; a C identifier.
  std::string name;
  /// The model's file, for messages.
  std::string model;
  /// The folder, or the archive.
  std::string output;
  /// Writes library, header, manifest and weights as one file (lib/Target/Archive.h).
  bool isArchive = false;
  /// portable, native, x86-64-v2, x86-64-v3 or x86-64-v4: the versions of each kernel.
  std::string march = "portable";
  /// Without it code is generated in a fifth of the time; kernels run longer, to the same bytes.
  bool optimize = true;
  /// Kernels for these devices, too; the module must come from phases for CUDA.
  std::optional<CudaTarget> cuda;
  /// libNAME.a for programs that have the model in them, instead of libNAME.so.
  bool isStatic = false;
  std::string compilerVersion;
  /// Puts the variables' values into the library instead of NAME.safetensors.
  bool embedWeights = false;
  /// Parts of a batch (mpc_rt_context_set_parts) that contexts on ranks have; 0: none.
  uint32_t batchParts = 0;
  /// Where compiled functions are kept for the next time; empty: nowhere.
  std::string cacheFolder;
  /// Names and contents of further files, which appear with the others.
  std::vector<std::pair<std::string, std::string>> extraFiles;
  /// Receives warnings about that folder, whose faults are no errors.
  std::function<void(const llvm::Twine &)> warn;
  /// Receives how many of the functions are compiled, from one thread at a time.
  std::function<void(size_t done, size_t all)> progress;
};

/// The names of what emitModule writes, but for example.c.
llvm::SmallVector<std::string> listOutputs(const EmitOptions &options);

/// libNAME.so, or libNAME.a.
std::string libraryName(llvm::StringRef name, bool isStatic);

/// Writes libNAME.so (or libNAME.a), NAME.h, NAME.json, NAME.safetensors, NAMEConfig.cmake and,
/// where the folder has none but this model's, example.c. The folder is made if missing; files of
/// other models in it are not touched; each file is replaced as a whole or not at all. The same
/// module and options give the same bytes. An archive is one file, of the first four.
///
/// Expects the exit of mpcrt-to-llvm: `mpcrt.kernels` (kernel symbols in table order) on the
/// module, `mpcrt.entry` on each entry (docs/pipeline.md), the mpc declarations for the tables.
llvm::Error emitModule(mlir::ModuleOp module, const WeightStore &weights,
                       const EmitOptions &options);

} // namespace mpc

#endif // MPC_CODEGEN_CPU_EMIT_H
