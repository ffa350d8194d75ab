// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// BenchSteps: one entry with its inputs in memory, ready to be run and timed.
#ifndef MPC_RUNTIME_COMMANDS_BENCH_STEPS_H
#define MPC_RUNTIME_COMMANDS_BENCH_STEPS_H

#include "commands/arguments.h"
#include "training/batcher.h"
#include "training/memory_plan.h"

namespace mpc::commands {

struct BenchOptions {
  training::SessionOptions session;
  int64_t batchSize = 0; // 0: what the model was compiled for, else 32
  int64_t steps = 20, warmup = 3;
  bool train = false, predict = false, serve = false, json = false, kernels = false;
  bool memory = false;
  std::string data; // "" = random values
};

class BenchSteps {
public:
  /// Loads the model, makes the inputs, runs the warm-up. Random floats are uniform in [-1, 1) for
  /// inputs and [0, 1) for targets; integers uniform below their index limit (or below 2); sample
  /// weights are 1. With data, steps go through its rows in order.
  static data::Result<std::unique_ptr<BenchSteps>> open(const BenchOptions &options);

  /// Runs one step; milliseconds of wall time for gathering rows and running the entry.
  data::Result<double> step();
  /// Loss of the last training step; nothing for inference.
  std::optional<float> loss() const;
  /// Which kernel computed each product and convolution, as mpc_rt_context_used_kernels() has it;
  /// "" unless asked for.
  const char *usedKernels() const;
  /// What every JSON result says about the run: mode, batch size, threads, instruction set, bytes.
  std::string describe() const;
  bool trains() const { return train_; }
  const char *mode() const { return train_ ? "train" : "predict"; }
  training::Session &session() { return *session_; }
  int64_t batchSize() const { return options_.batchSize; }
  const training::MemoryPlan &plan() const { return plan_; }

private:
  BenchSteps() = default;
  BenchOptions options_;
  bool train_ = false;
  std::unique_ptr<training::Session> session_;
  std::unique_ptr<training::Batcher> batcher_;
  data::Dataset data_;
  std::vector<int64_t> rows_, nextRows_;
  int64_t next_ = 0;
  training::MemoryPlan plan_;
};

/// bench --serve: READY, then `go N` and `quit` from `in`.
int serveSteps(BenchSteps &steps, FILE *in, class Console &console);

} // namespace mpc::commands
#endif
