// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The memory that the process of a session will use, known before the first run.
#ifndef MPC_RUNTIME_TRAINING_MEMORY_PLAN_H
#define MPC_RUNTIME_TRAINING_MEMORY_PLAN_H

#include "runtime/data/bind.h"
#include "runtime/training/session.h"

namespace mpc::training {

/// In bytes; together what the process will have resident at its peak.
struct MemoryPlan {
  uint64_t program = 0;    ///< the program, its libraries, and what they have made ready
  uint64_t variables = 0;  ///< those that the entry touches
  uint64_t arena = 0;      ///< the compiler's plan for this batch
  uint64_t workspaces = 0; ///< of the kernels that this CPU takes: packed operands, sums, scratch
  uint64_t data = 0;       ///< arrays of the data, the batch and its outputs
  uint64_t total() const { return program + variables + arena + workspaces + data; }
};

/// Takes the memory that `entry` will need for batches of `rows` rows of `data`, whose pages come
/// when they are used. `inOrder`: rows that follow each other make a batch, so that none is copied.
data::Result<MemoryPlan> planMemory(Session &session, const mpc_rt_entry_info_t &entry,
                                    int64_t rows, const data::Dataset &data, bool inOrder);

/// "271.4"
std::string formatMegabytes(uint64_t bytes);
/// "271.4 MB planned: program 17.1, variables 200.4, ..."
std::string describe(const MemoryPlan &plan);

/// The memory that this process has resident now, and the most that it ever had.
uint64_t residentBytes();
uint64_t peakBytes();

} // namespace mpc::training
#endif
