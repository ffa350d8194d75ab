// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries "train_forward", "train_backward" and "train_apply" as one loop: what goes from one
// to the next, and in which order they may be called.
#ifndef MPC_RUNTIME_EXECUTION_TRAIN_LOOP_H
#define MPC_RUNTIME_EXECUTION_TRAIN_LOOP_H

#include "mpc-rt/training.h"
#include "runtime/base/memory.h"

#include <vector>

namespace mpc::rt {

// An output of the entry "train_backward" that is a gradient; `variable` is its variable's index.
struct GradientEntry {
  const mpc_rt_tensor_info_t *tensor;
  uint32_t variable;
};
// Empty for a model without the entry.
std::vector<GradientEntry> findGradients(const mpc_rt_executable_t &executable);

class TrainLoop {
public:
  explicit TrainLoop(const Allocator &allocator)
      : keptMemory(allocator), gradientMemory(allocator) {}

  // Reads the tables; FAILED_PRECONDITION when the model has no such entries.
  mpc_rt_status_t open(const mpc_rt_executable_t &executable);

  mpc_rt_status_t forward(mpc_rt_context_t &context, const void *const *inputs,
                          void *const *outputs, int64_t batch);
  mpc_rt_status_t backward(mpc_rt_context_t &context, void *const *gradients);
  mpc_rt_status_t unscale(mpc_rt_context_t &context, void *const *gradients, int32_t *finite);
  mpc_rt_status_t apply(mpc_rt_context_t &context, void *const *gradients,
                        mpc_rt_applied_t *applied);
  // Memory for what forward keeps and for the context's own gradients.
  uint64_t bytes() const { return keptMemory.size() + gradientMemory.size(); }
  // The sizes of both for `rows` samples; false on overflow.
  bool keptBytes(int64_t rows, uint64_t &bytes);
  uint64_t gradientBytes() const { return gradientOffsets.back(); }
  void *ownGradient(const char *what, uint32_t index);

private:
  // Where an input or output of a stage is.
  struct Location {
    enum Kind { caller, kept, gradient, scale, rate, finite } kind;
    uint32_t index;
  };
  struct Kept {
    const mpc_rt_tensor_info_t *tensor;
    bool isGradient; // rows of one: unscaled with the others
    uint64_t offset;
  };
  struct Stage {
    uint32_t entry;
    std::vector<Location> inputs, outputs;
    std::vector<const void *> from;
    std::vector<void *> to;
  };
  enum class Next { forward, backward, unscale, apply };

  bool bind(const mpc_rt_executable_t &executable, const char *name, Stage &stage);
  Location locationOf(const mpc_rt_tensor_info_t &tensor, uint32_t callers);
  mpc_rt_status_t layOutKept(int64_t batch);
  mpc_rt_status_t takeGradients(const char *what, void *const *given);
  void *address(Location location);
  mpc_rt_status_t run(mpc_rt_context_t &context, Stage &stage, const void *const *inputs,
                      void *const *outputs);
  bool divideAll(mpc_rt_context_t &context, float divisor);

  Stage stages[3];
  std::vector<GradientEntry> gradients;
  std::vector<Kept> keptTensors;
  Buffer keptMemory, gradientMemory;
  std::vector<uint64_t> gradientOffsets;
  std::vector<void *> current; // the gradients' buffers of the running call
  const char *model = "";
  int64_t batch = 0;
  float scaleUsed = 1, rateUsed = 0;
  uint8_t isFinite = 1;
  bool isScaled = false, isDynamic = false; // has a loss scale; has one that moves
  Next next = Next::forward;
};

} // namespace mpc::rt

#endif
