// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One clone of each kernel per x86-64 level, told apart by function attributes; the code generator
// then selects instructions per function, so one module and one object hold them all.
#include "lib/Codegen/CPU/IsaVersions.h"
#include "mpc-rt/executable.h"
#include "mpc/Support/InternalError.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mpc;
using llvm::StringRef;

namespace {
struct Level {
  uint32_t isa;
  StringRef cpu;
  StringRef suffix;
  /// AVX-512 code would otherwise use 256-bit vectors.
  StringRef vectorWidth;
};
} // namespace

/// Each level has those before it.
static const Level kLevels[] = {{MPC_RT_ISA_X86_64_V2, "x86-64-v2", ".v2", "128"},
                                {MPC_RT_ISA_X86_64_V3, "x86-64-v3", ".v3", "256"},
                                {MPC_RT_ISA_X86_64_V4, "x86-64-v4", ".v4", "512"}};

/// Highest level that this machine has.
static uint32_t hostIsa() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto has = [&](std::initializer_list<StringRef> names) {
    return llvm::all_of(names, [&](StringRef name) { return features.lookup(name); });
  };
  if (!has({"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"}))
    return MPC_RT_ISA_X86_64_V2;
  return has({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) ? MPC_RT_ISA_X86_64_V4
                                                                          : MPC_RT_ISA_X86_64_V3;
}

static void setLevel(llvm::Function &function, const Level &level) {
  function.addFnAttr("target-cpu", level.cpu);
  function.addFnAttr("prefer-vector-width", level.vectorWidth);
}

llvm::Expected<KernelVersions> mpc::buildKernelVersions(llvm::Module &module,
                                                        const std::vector<std::string> &kernels,
                                                        StringRef march,
                                                        std::vector<std::string> &targets) {
  llvm::SmallVector<const Level *> levels;
  for (const Level &level : kLevels)
    if (march == "native" ? level.isa == hostIsa() : march == "portable" || march == level.cpu)
      levels.push_back(&level);
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      setLevel(function, kLevels[0]);
  KernelVersions versions;
  for (const Level *level : levels) {
    targets.push_back(level->cpu.str());
    versions.push_back({level->isa, {}});
  }
  for (const std::string &name : kernels) {
    llvm::Function *kernel = module.getFunction(name);
    if (!kernel)
      return internalError("no kernel named " + name);
    for (auto [level, version] : llvm::zip_equal(levels, versions)) {
      llvm::ValueToValueMapTy mapping;
      llvm::Function *clone = llvm::CloneFunction(kernel, mapping);
      clone->setName(name + level->suffix);
      setLevel(*clone, *level);
      version.functions.push_back(clone->getName().str());
    }
  }
  // The original stays only if code calls it directly.
  for (const std::string &name : kernels)
    if (llvm::Function *kernel = module.getFunction(name); kernel->use_empty())
      kernel->eraseFromParent();
  return versions;
}
