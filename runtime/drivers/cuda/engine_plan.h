// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How cuDNN is to execute one operation graph: the engine that was chosen for it.
#ifndef MPC_RUNTIME_DRIVERS_CUDA_ENGINE_PLAN_H
#define MPC_RUNTIME_DRIVERS_CUDA_ENGINE_PLAN_H

#include "runtime/drivers/cuda/cudnn_descriptions.h"

#include <utility>
#include <vector>

namespace mpc::rt::cuda::dnn {

// Which engines may be chosen.
struct EngineRules {
  // Products of float32 may round their operands to TF32.
  bool tf32 = false;
  // Engines that cuDNN promises no speed of are allowed, too.
  bool slow = false;
  int64_t workspaceBytes = 0; // at most
  size_t candidates = 1;      // to be made ready of each mode of the heuristics, at most
};

// The heuristics of cuDNN order engines by speed: of those that the rules allow, that can be made
// ready and whose workspace fits the first one is taken, or the first few are candidates.
class EnginePlan {
public:
  explicit EnginePlan(const Api &library) : library(library), choice(library) {}

  // False where no engine computes the graph by the rules.
  bool choose(Handle handle, Descriptor graph, bool isFloat32, const EngineRules &rules);
  // Puts the graph on the handle's stream; a status of cuDNN. An address for each tensor (by id)
  // that is not virtual, of memory of the host for those by value.
  int execute(Handle handle, const std::vector<std::pair<int64_t, void *>> &addresses,
              void *workspace) const;
  int64_t workspaceBytes() const { return candidates[taken].workspace; }
  // cuDNN's number of the engine among those for such graphs.
  int64_t engine() const { return candidates[taken].index; }
  // Another candidate may be taken instead of the first one.
  size_t candidateCount() const { return candidates.size(); }
  void take(size_t candidate) { taken = candidate; }

private:
  void addCandidates(Handle handle, Descriptor graph, HeuristicMode mode, bool isFloat32,
                     const EngineRules &rules);

  const Api &library;
  Descriptions choice;
  struct Candidate {
    Descriptor plan = nullptr;
    int64_t workspace = 0, index = -1;
  };
  std::vector<Candidate> candidates;
  size_t taken = 0;
};

} // namespace mpc::rt::cuda::dnn

#endif
