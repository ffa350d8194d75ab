// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A convolution's graph and its engine.
#include "runtime/drivers/cuda/convolution_plan.h"

namespace mpc::rt::cuda::dnn {

std::unique_ptr<ConvolutionPlan> ConvolutionPlan::make(const Api &library, Handle handle,
                                                       const Convolution &c,
                                                       const ConvolutionAlignments &alignments,
                                                       bool epilogue, const EngineRules &rules) {
  std::unique_ptr<ConvolutionPlan> made(new ConvolutionPlan(library, epilogue));
  Descriptor graph = describeConvolution(made->description, handle, c, alignments, epilogue);
  if (!graph || !made->choice.choose(handle, graph, c.lhs == MPC_RT_FLOAT32, rules))
    return nullptr;
  return made;
}

int ConvolutionPlan::execute(Handle handle, const Addresses &addresses, void *workspace) const {
  std::vector<std::pair<int64_t, void *>> tensors;
  for (int64_t id = images; id < convolutionTensors; ++id)
    if (addresses[id])
      tensors.emplace_back(id, addresses[id]);
  return choice.execute(handle, tensors, workspace);
}

} // namespace mpc::rt::cuda::dnn
