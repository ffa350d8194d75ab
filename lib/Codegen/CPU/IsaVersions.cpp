// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One clone of each kernel per x86-64 level, told apart by function attributes; the code generator
// then selects instructions per function, so one module and one object hold them all.
#include "lib/Codegen/CPU/IsaVersions.h"
#include "lib/Codegen/CPU/BFloatRoundings.h"
#include "lib/Codegen/CPU/ConstantDivisions.h"
#include "lib/Codegen/CPU/HalfConversions.h"
#include "lib/Codegen/CPU/RoundedConversions.h"
#include "mpc-rt/executable.h"
#include "runtime/rules/isa_versions.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace mpc;
using llvm::StringRef;

/// Each level has those before it.
static const IsaLevel kLevels[] = {
    {MPC_RT_ISA_X86_64_V2, "x86-64-v2", ".v2", "128", false},
    {MPC_RT_ISA_X86_64_V3, "x86-64-v3", ".v3", "256", true},
    {MPC_RT_ISA_X86_64_V4, "x86-64-v4", ".v4", "512", true},
    {rules::isaV4WithBFloat16, "x86-64-v4", ".v4.bf16", "512", true, "+avx512bf16"}};

/// Highest level that this machine has.
static uint32_t hostIsa(const llvm::StringMap<bool> &features) {
  auto has = [&](std::initializer_list<StringRef> names) {
    return llvm::all_of(names, [&](StringRef name) { return features.lookup(name); });
  };
  if (!has({"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"}))
    return MPC_RT_ISA_X86_64_V2;
  return has({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) ? MPC_RT_ISA_X86_64_V4
                                                                          : MPC_RT_ISA_X86_64_V3;
}

/// The highest level of this machine, and its version with more features where the machine has
/// these.
static bool isOfHost(const IsaLevel &level) {
  static const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  const uint32_t highest = hostIsa(features);
  if (level.isa == rules::isaV4WithBFloat16)
    return highest == MPC_RT_ISA_X86_64_V4 && features.lookup("avx512bf16");
  return level.isa == highest;
}

static void setLevel(llvm::Function &function, const IsaLevel &level) {
  function.addFnAttr("target-cpu", level.cpu);
  function.addFnAttr("prefer-vector-width", level.vectorWidth);
  lowerHalfConversions(function, level.hasF16C);
  lowerRoundedConversions(function);
  if (level.isa >= MPC_RT_ISA_X86_64_V4)
    lowerConstantDivisions(function);
}

static llvm::Function *cloneAs(llvm::Function &function, const llvm::Twine &name) {
  llvm::ValueToValueMapTy mapping;
  llvm::Function *clone = llvm::CloneFunction(&function, mapping);
  clone->setName(name);
  return clone;
}

std::vector<IsaLevel> mpc::listLevels(StringRef march) {
  std::vector<IsaLevel> levels;
  for (const IsaLevel &level : kLevels)
    if (march == "native" ? isOfHost(level) : march == "portable" || march == level.cpu)
      levels.push_back(level);
  return levels;
}

void mpc::setBaseline(llvm::Function &function) { setLevel(function, kLevels[0]); }

void mpc::cloneForLevels(llvm::Function &kernel, llvm::ArrayRef<IsaLevel> levels) {
  for (const IsaLevel &level : levels)
    if (level.features.empty()) {
      llvm::Function *clone = cloneAs(kernel, kernel.getName() + level.suffix);
      setLevel(*clone, level);
    }
}

void mpc::cloneForFeatures(llvm::Module &module, StringRef kernel,
                           llvm::ArrayRef<IsaLevel> levels) {
  llvm::Function *ofLevel = nullptr;
  for (const IsaLevel &level : levels) {
    const std::string name = (kernel + level.suffix).str();
    if (level.features.empty()) {
      ofLevel = module.getFunction(name);
    } else if (hasBFloatRoundings(*ofLevel)) {
      llvm::Function *clone = cloneAs(*ofLevel, name);
      clone->addFnAttr("target-features", level.features);
      lowerBFloatRoundings(*clone);
    } else {
      auto *same = llvm::GlobalAlias::create(name, ofLevel);
      same->setVisibility(ofLevel->getVisibility());
      same->setDSOLocal(ofLevel->isDSOLocal());
    }
  }
}
