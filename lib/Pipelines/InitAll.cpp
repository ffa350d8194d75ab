// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Registration of everything that the tools know.
#include "mpc/InitAll.h"
#include "dialects/mpc/IR/Mpc.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mpc/Autodiff/Passes.h"
#include "mpc/Buffers/Passes.h"
#include "mpc/Conversion/Passes.h"
#include "mpc/Interpreter/Passes.h"
#include "mpc/Numerics/Lint/Passes.h"
#include "mpc/Numerics/Ranges/Ranges.h"
#include "mpc/Numerics/Trace/Passes.h"
#include "mpc/Pipelines/Codegen.h"
#include "mpc/Pipelines/Phases.h"
#include "mpc/Training/Passes.h"
#include "mpc/Transforms/Passes.h"

void mpc::registerAllDialects(mlir::DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  registry.insert<MpcDialect, mpcrt::MpcrtDialect>();
  mpcrt::registerBufferizableOpInterfaceExternalModels(registry);
  registerRangeModels(registry);
}

void mpc::registerAllPasses() {
  registerMpcAutodiffPasses();
  registerMpcBuffersPasses();
  registerMpcConversionPasses();
  registerMpcInterpreterPasses();
  registerMpcLintPasses();
  registerMpcTracePasses();
  registerMpcTrainingPasses();
  registerMpcTransformsPasses();
  registerPhasePipelines();
  mlir::PassPipelineRegistration<>(
      "mpc-buffers", "the phase buffers alone, from tensors",
      [](mlir::OpPassManager &manager) { buildBuffersPipeline(manager); });
  mlir::PassPipelineRegistration<>(
      "mpc-kernels", "the phase kernels alone, from buffers",
      [](mlir::OpPassManager &manager) { buildKernelsPipeline(manager); });
}
