// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names of the phases and the passes of each, with the reason for its place.
#include "mpc/Pipelines/Phases.h"
#include "lib/Pipelines/CleanUp.h"
#include "mlir/Pass/PassRegistry.h"
#include "mpc/Autodiff/Passes.h"
#include "mpc/Buffers/Passes.h"
#include "mpc/Conversion/Passes.h"
#include "mpc/Numerics/Trace/Passes.h"
#include "mpc/Pipelines/Codegen.h"
#include "mpc/Training/Passes.h"
#include "mpc/Transforms/Passes.h"

using namespace mlir;
using namespace mpc;

std::string mpc::listPhases() {
  std::string list;
  for (uint32_t phase = 0; phase <= getMaxEnumValForPhase(); ++phase)
    list += (phase ? " " : "") + stringifyPhase(Phase(phase)).str();
  return list;
}

static void addPolicy(OpPassManager &manager, const PipelineOptions &options) {
  ApplyPolicyOptions policy;
  policy.policy = options.policy;
  manager.addPass(createApplyPolicy(policy));
  // After the policies, because the decision reads the layers' precision; before casts inline them.
  DecideLossScaleOptions scale;
  scale.option = options.lossScale;
  manager.addPass(createDecideLossScale(scale));
  manager.addPass(createVerifyPolicy());
}

static void addCasts(OpPassManager &manager, const PipelineOptions &options) {
  manager.addPass(createInsertCasts());
  // Before autodiff, so that the loss is float32 and its cotangent too.
  manager.addPass(createGuardOutputs({/*guard=*/options.outputGuard}));
  // After the guard, whose casts may meet those of the layers.
  manager.addPass(createSimplifyCasts());
  manager.addPass(createVerifyCasts({/*guard=*/options.outputGuard}));
}

static void addAutodiff(OpPassManager &manager, const PipelineOptions &options) {
  // Before all that looks for neighbours, in either direction; after the casts, which it passes,
  // too.
  manager.addPass(createSinkTransposes());
  // Before differentiation, because what is dead has no derivative to build. No CSE: layers that
  // narrow one tensor each have a cast of it, so that their gradients are summed in its dtype.
  simplify(manager);
  // Before differentiation, because attention has a derivative of its own; after the casts, which
  // decide in what it is computed.
  manager.addPass(createFormAttention({options.device}));
  // Before differentiation, too: what is kept for the derivative is then gelu's argument alone.
  if (options.isOnDevice())
    manager.addPass(createFormGelu());
  DifferentiateOptions differentiate;
  differentiate.customLoop = options.customLoop;
  manager.addPass(createDifferentiate(differentiate));
  cleanUp(manager);
  // Once more, because inference has no dropout, which on CUDA keeps attention from being one op.
  FormAttentionOptions late;
  late.device = options.device;
  late.late = true;
  manager.addPass(createFormAttention(late));
  manager.addPass(createVerifyAutodiff());
}

static void addScaling(OpPassManager &manager, const PipelineOptions &options) {
  // After autodiff: scaling only changes the seed and wraps the results.
  manager.addPass(createScaleLoss());
  // After it, because what tests gradients must see those of all ranks; before fusion, while each
  // sum over the batch is an op of its own.
  if (options.distributed) {
    manager.addPass(createDistribute({options.gradientDtype}));
    manager.addPass(createSendEarly());
  }
  manager.addPass(createVerifyScaling());
}

static void addFusion(OpPassManager &manager, const PipelineOptions &options) {
  // Behind all that decides about numbers; before anything joins ops, whose results it reports.
  if (options.numerics)
    manager.addPass(createTraceNumerics());
  // Behind them, too: what is reported keeps its shape. Before mpc-fuse, which joins neighbours.
  manager.addPass(createSinkResamples());
  // After scaling, because it extends the optimizer steps that scaling predicates; before anything
  // that could move a weight's cast into the op that reads it.
  manager.addPass(createShadowWeights());
  // Before mpc-fuse, which would put a bias between the sums and their scales. On a CPU the numbers
  // of float8 are multiplied in the type that computes.
  if (options.isOnDevice()) {
    manager.addPass(createFormFloat8());
    // After it, which finds largest magnitudes where numbers are rounded. Before memory is planned:
    // what waits for the end then has a place until there. Reports take what stands behind the last
    // gradient for the optimizer's.
    if (!options.numerics)
      manager.addPass(createSinkUpdates());
  }
  manager.addPass(createFuse());
  // Behind it: an epilogue reads the whole sum of its contraction.
  manager.addPass(createRaiseSlices());
  // After mpc-fuse, which finds an epilogue only next to its contraction: padding puts a slice
  // between them, but pads a bias that is already inside.
  PadDimsOptions pad;
  pad.device = options.device;
  manager.addPass(createPadDims(pad));
  cleanUp(manager);
  manager.addPass(createVerifyFusion());
}

static void addTensors(OpPassManager &manager, const PipelineOptions &options) {
  ConvertMpcToLinalgOptions convert;
  convert.reluMasks = true;
  if (options.isOnDevice()) {
    // A product of a few terms is no work for cuBLASLt: as a kernel it is part of what comes before
    // and after.
    convert.shortProducts = true;
    convert.gelu = true;
    // Unless the products are asked for them, the sums are stages of other kernels
    // (docs/decisions/0058).
    convert.columnSums = options.biasGradientsInProducts;
    convert.roundedSums = true;
    // Reports of a step have numbers in the order of their tensors.
    convert.turnedOperands = !options.numerics;
  } else {
    // cuBLASLt multiplies operands of one type, and does not find the largest element of what it
    // writes.
    convert.narrowWeights = true;
    convert.finiteTests = true;
    convert.columnSums = true;
    convert.inputCasts = true;
  }
  manager.addPass(createConvertMpcToLinalg(convert));
  // Equal ops become one where kernels are merged.
  simplify(manager);
  manager.addPass(createFuseLinalg({options.device}));
  // After the kernels are whole: what one keeps for another is known then, and no later CSE finds
  // both computing the same. GPUs have far more arithmetic for a byte.
  manager.addPass(createRematerialize({/*workPerByte=*/options.isOnDevice() ? 64 : 8}));
  cleanUp(manager);
  manager.addPass(createVerifyTensors());
}

/// The passes that lead to the phase, and its verifier.
static void addPasses(OpPassManager &manager, Phase phase, const PipelineOptions &options) {
  switch (phase) {
  case Phase::Import:
    return addVerification(manager, phase);
  case Phase::Policy:
    return addPolicy(manager, options);
  case Phase::Casts:
    return addCasts(manager, options);
  case Phase::Autodiff:
    return addAutodiff(manager, options);
  case Phase::Scaling:
    return addScaling(manager, options);
  case Phase::Fusion:
    return addFusion(manager, options);
  case Phase::Tensors:
    return addTensors(manager, options);
  case Phase::Buffers:
    return buildBuffersPipeline(manager, options.device, options.bucketBytes);
  case Phase::Kernels:
    return buildKernelsPipeline(manager, options.device, options.bucketBytes, options.numerics);
  case Phase::Module:
    return buildLLVMPipeline(manager);
  }
}

void mpc::addPhase(OpPassManager &manager, Phase phase, const PipelineOptions &options) {
  addPasses(manager, phase, options);
  // Behind the verifier: the IR says what holds.
  manager.addPass(createMarkPhase({stringifyPhase(phase).str()}));
}

void mpc::addVerification(OpPassManager &manager, Phase phase) {
  switch (phase) {
  case Phase::Import:
    return manager.addPass(createVerifyImport());
  case Phase::Policy:
    return manager.addPass(createVerifyPolicy());
  case Phase::Casts:
    return manager.addPass(createVerifyCasts({/*guard=*/false})); // which asks for less
  case Phase::Autodiff:
    return manager.addPass(createVerifyAutodiff());
  case Phase::Scaling:
    manager.addPass(createVerifyAutodiff()); // which still holds
    return manager.addPass(createVerifyScaling());
  case Phase::Fusion:
    manager.addPass(createVerifyAutodiff()); // which still holds
    return manager.addPass(createVerifyFusion());
  case Phase::Tensors:
    manager.addPass(createVerifyAutodiff()); // which still holds
    return manager.addPass(createVerifyTensors());
  case Phase::Buffers:
    return manager.addPass(createVerifyBuffers());
  case Phase::Kernels:
    return manager.addPass(createVerifyKernels());
  case Phase::Module:
    return manager.addPass(createVerifyModule());
  }
}

namespace {
enum class OutputGuard { on, off };

/// The options of `mpc-to-<phase>` on the command line of mpc-opt.
struct PhaseOptions : PassPipelineOptions<PhaseOptions> {
  Option<std::string> policy{*this, "policy",
                             llvm::cl::desc("policy name or JSON file for every layer")};
  Option<OutputGuard> guard{
      *this, "output-guard", llvm::cl::desc("whether outputs and loss are float32 at least"),
      llvm::cl::init(OutputGuard::on),
      llvm::cl::values(clEnumValN(OutputGuard::on, "on", "they are"),
                       clEnumValN(OutputGuard::off, "off", "they are what the policies say"))};
  Option<std::string> lossScale{*this, "loss-scale", llvm::cl::desc("as mpcc --loss-scale"),
                                llvm::cl::init("auto")};
  Option<bool> distributed{*this, "distributed", llvm::cl::desc("as mpcc --distributed")};
  Option<Device> device{*this, "target", llvm::cl::desc("cpu, cuda or cuda:sm_N,…"),
                        llvm::cl::init(Device::cpu)};
};
} // namespace

void mpc::registerPhasePipelines() {
  for (int last = int(Phase::Import); last <= int(Phase::Module); ++last) {
    std::string name = ("mpc-to-" + stringifyPhase(Phase(last))).str();
    std::string description =
        ("All passes from import to the end of phase " + stringifyPhase(Phase(last))).str();
    PassPipelineRegistration<PhaseOptions>(
        name, description, [last](OpPassManager &manager, const PhaseOptions &given) {
          PipelineOptions options;
          options.policy = given.policy;
          options.outputGuard = given.guard == OutputGuard::on;
          options.lossScale = given.lossScale;
          options.device = given.device;
          options.distributed = given.distributed;
          // A later pass that fails on other IR would seem to be at fault itself.
          for (int phase = int(Phase::Import); phase <= last; ++phase)
            addPhase(manager, Phase(phase), options);
        });
  }
}
