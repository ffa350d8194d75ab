// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How cuDNN is to compute one convolution: its graph, and the engine that was chosen for it.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_CONVOLUTION_PLAN_H
#define MPC_RUNTIME_DRIVERS_CUDA_CONVOLUTION_PLAN_H

#include "runtime/drivers/cuda/convolution_graph.h"
#include "runtime/drivers/cuda/engine_plan.h"

#include <memory>

namespace mpc::rt::cuda::dnn {

class ConvolutionPlan {
public:
  using Addresses = std::array<void *, convolutionTensors>;

  // Null where no engine computes this convolution by the rules.
  static std::unique_ptr<ConvolutionPlan> make(const Api &library, Handle handle,
                                               const Convolution &c,
                                               const ConvolutionAlignments &alignments,
                                               bool epilogue, const EngineRules &rules);

  // Puts the convolution on the handle's stream; a status of cuDNN. A null address is no tensor of
  // the graph.
  int execute(Handle handle, const Addresses &addresses, void *workspace) const;
  int64_t workspaceBytes() const { return choice.workspaceBytes(); }
  // cuDNN's number of the engine among those for such graphs.
  int64_t engine() const { return choice.engine(); }
  size_t candidateCount() const { return choice.candidateCount(); }
  void take(size_t candidate) { choice.take(candidate); }
  // Whether bias and relu are part of it.
  bool hasEpilogue() const { return epilogue; }

private:
  ConvolutionPlan(const Api &library, bool epilogue)
      : description(library), choice(library), epilogue(epilogue) {}

  Descriptions description; // of the graph
  EnginePlan choice;
  bool epilogue;
};

} // namespace mpc::rt::cuda::dnn

#endif
