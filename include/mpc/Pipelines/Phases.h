// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The passes of each phase of the compiler (docs/pipeline.md).
#ifndef MPC_PIPELINES_PHASES_H
#define MPC_PIPELINES_PHASES_H

#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Pass/PassManager.h"
#include "mpc/Support/Device.h"
#include <string>

namespace mpc {

/// "import policy casts …", for messages.
std::string listPhases();

/// Everything that the passes of a pipeline can be told.
struct PipelineOptions {
  /// `--policy=`: a policy name or a JSON file; empty keeps what each layer says.
  std::string policy;
  bool outputGuard = true;
  /// `--loss-scale=`: auto, none, fixed:N, dynamic:INITIAL:GROWTH_STEPS[:MIN:MAX].
  std::string lossScale = "auto";
  /// `--custom-loop=`: the training step also in the stages of a custom training loop.
  bool customLoop = true;
  /// The device of the module decides on multiples of mpc-pad-dims and shapes of kernels.
  Device device = Device::cpu;
  /// `--bias-gradients=products`: sums of gradients of biases by the products that make the
  /// gradients of the weights; on the CPU always.
  bool biasGradientsInProducts = false;
  /// `--numerics`: entries that report their values.
  bool numerics = false;
  /// `--distributed`: entries reduce over the ranks of a job.
  bool distributed = false;
  /// `--bucket-bytes=`: the largest message of several gradients.
  int64_t bucketBytes = 4 << 20;
  /// `--gradient-dtype=`: float32 or bfloat16, what float32 gradients go between ranks in.
  std::string gradientDtype = "float32";
  bool isOnDevice() const { return device == Device::cuda; }
};

/// Appends the passes that lead from the phase before to `phase`, and its verifier.
void addPhase(mlir::OpPassManager &manager, Phase phase, const PipelineOptions &options);

/// Appends `mpc-verify-<phase>` alone.
void addVerification(mlir::OpPassManager &manager, Phase phase);

/// Registers `mpc-to-<phase>`: everything from import to the phase, with options.
void registerPhasePipelines();

} // namespace mpc

#endif // MPC_PIPELINES_PHASES_H
