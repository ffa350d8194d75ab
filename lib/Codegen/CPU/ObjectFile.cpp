// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Optimisation and object code.
#include "lib/Codegen/CPU/ObjectFile.h"
#include "mpc/Support/InternalError.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace mpc;

static llvm::Expected<std::unique_ptr<llvm::TargetMachine>>
createTargetMachine(llvm::CodeGenOptLevel level) {
  static const bool initialized = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  (void)initialized;
  llvm::Triple triple("x86_64-unknown-linux-gnu");
  std::string message;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, message);
  if (!target)
    return internalError(message);
  llvm::TargetOptions options;
  // A product and a sum that the IR keeps apart round apart.
  options.AllowFPOpFusion = llvm::FPOpFusion::Standard;
  return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
      triple, "x86-64-v2", "", options, llvm::Reloc::PIC_, std::nullopt, level));
}

static llvm::PipelineTuningOptions tuning() {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  // The loops are vectorised across their iterations, with as many copies as hide latencies;
  // straight-line code to pack and remainder loops to unroll would only cost time and space.
  tuning.SLPVectorization = false;
  tuning.LoopUnrolling = false;
  return tuning;
}

struct CodeGenerator::Passes {
  Passes(std::unique_ptr<llvm::TargetMachine> machine, std::unique_ptr<llvm::TargetMachine> least)
      : target(std::move(machine)), leastTarget(std::move(least)), builder(target.get(), tuning()) {
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
  }

  /// Pipelines are made for each module: some passes keep parts of the last one.
  void run(llvm::ModulePassManager pipeline, llvm::Module &module) {
    pipeline.run(module, modules);
    // The next module may lie where this one does.
    modules.clear();
    components.clear();
    functions.clear();
    loops.clear();
  }

  std::unique_ptr<llvm::TargetMachine> target;
  std::unique_ptr<llvm::TargetMachine> leastTarget; ///< for Effort::Least
  llvm::PassBuilder builder;
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
};

CodeGenerator::CodeGenerator(std::unique_ptr<Passes> passes) : passes(std::move(passes)) {}
CodeGenerator::~CodeGenerator() = default;

llvm::Expected<std::unique_ptr<CodeGenerator>> CodeGenerator::create() {
  auto target = createTargetMachine(llvm::CodeGenOptLevel::Default);
  if (!target)
    return target.takeError();
  auto least = createTargetMachine(llvm::CodeGenOptLevel::None);
  if (!least)
    return least.takeError();
  return std::unique_ptr<CodeGenerator>(
      new CodeGenerator(std::make_unique<Passes>(std::move(*target), std::move(*least))));
}

void CodeGenerator::prepare(llvm::Module &module) const {
  module.setDataLayout(passes->target->createDataLayout());
  module.setTargetTriple(passes->target->getTargetTriple());
}

void CodeGenerator::simplify(llvm::Module &module) {
  passes->run(passes->builder.buildModuleSimplificationPipeline(llvm::OptimizationLevel::O2,
                                                                llvm::ThinOrFullLTOPhase::None),
              module);
}

void CodeGenerator::vectorize(llvm::Module &module) {
  passes->run(passes->builder.buildModuleOptimizationPipeline(llvm::OptimizationLevel::O2,
                                                              llvm::ThinOrFullLTOPhase::None),
              module);
}

/// Models are hardened as the tools' own code is (cmake/MpcOptions.cmake): landing pads and shadow
/// stacks (-fcf-protection=full), canaries (-fstack-protector-strong). The linker marks a library
/// so only where each of its objects has the flags.
static void harden(llvm::Module &module) {
  for (llvm::StringRef flag : {"cf-protection-branch", "cf-protection-return"})
    module.setModuleFlag(llvm::Module::Min, flag, 1);
  for (llvm::Function &function : module)
    if (!function.isDeclaration())
      function.addFnAttr(llvm::Attribute::StackProtectStrong);
}

llvm::Expected<std::string> CodeGenerator::emitObject(llvm::Module &module, Effort effort) {
  harden(module);
  llvm::TargetMachine &target = effort == Effort::Full ? *passes->target : *passes->leastTarget;
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream stream(bytes);
  llvm::legacy::PassManager manager;
  if (target.addPassesToEmitFile(manager, stream, nullptr, llvm::CodeGenFileType::ObjectFile))
    return internalError("no object code for this target");
  manager.run(module);
  return std::string(bytes.begin(), bytes.end());
}
