// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A context that computes its batch in parts (mpc_rt_context_set_parts). Each part has a context of
// its own, of one thread, and the rows that it has on any number of ranks: what it computes has the
// same bytes on any of them by construction, whatever its kernels do with rows. The parts read the
// weights of the context that they belong to, which updates them once.
#ifndef MPC_RUNTIME_EXECUTION_BATCH_PARTS_H
#define MPC_RUNTIME_EXECUTION_BATCH_PARTS_H

#include "mpc-rt/executable.h"
#include "mpc-rt/training.h"
#include "runtime/base/fork_watch.h"
#include "runtime/collectives/part_group.h"
#include "runtime/execution/part_threads.h"

namespace mpc::rt {

class TrainLoop;
struct CallTensors;

class BatchParts {
public:
  // `own` of the parts of all ranks are this rank's: a power of two. Without a communicator there
  // is one rank.
  BatchParts(mpc_rt_context_t &whole, Communicator *communicator, unsigned own);
  ~BatchParts();
  mpc_rt_status_t makeContexts();

  bool hasOtherRanks() const { return communicator.size() > 1; }
  // Whether the entry is one that parts compute.
  static bool takes(const mpc_rt_entry_info_t &entry);
  // Those of the whole context, with its rows: there may be none where there are other ranks.
  mpc_rt_status_t run(const mpc_rt_entry_info_t &entry, const void *const *inputs,
                      void *const *outputs, int64_t batch);
  mpc_rt_status_t forward(const void *const *inputs, void *const *outputs, int64_t batch);
  mpc_rt_status_t backward(void *const *gradients);
  mpc_rt_status_t unscale(void *const *gradients, int32_t *finite);
  mpc_rt_status_t apply(void *const *gradients, mpc_rt_applied_t *applied);

  // Takes the memory that a run of the entry would take.
  mpc_rt_status_t plan(const mpc_rt_entry_info_t &entry, int64_t batch);
  // Adds what the parts have.
  void addMemory(mpc_rt_memory_t &memory) const;

private:
  struct Part;

  // FAILED_PRECONDITION after a fork.
  mpc_rt_status_t checkThreads() const;
  mpc_rt_status_t openLoops();
  mpc_rt_status_t prepareRun();
  void copyVariables(Part &part, bool forUpdate);
  // Where a device has memory of its own each part has all variables there: they become those of
  // the whole context.
  mpc_rt_status_t giveVariables();
  void restartReductions();
  mpc_rt_status_t onParts(const std::function<mpc_rt_status_t(unsigned)> &body);
  mpc_rt_status_t applyOnce(void *const *gradients, mpc_rt_applied_t *applied);
  mpc_rt_status_t trainStep(const mpc_rt_entry_info_t &entry, const void *const *inputs,
                            void *const *outputs, int64_t batch);
  // The caller's tensors are checked.
  mpc_rt_status_t forwardParts(const void *const *inputs, void *const *outputs, int64_t batch);
  mpc_rt_status_t bind(unsigned part, const CallTensors &call, int64_t batch);
  mpc_rt_status_t planEntry(mpc_rt_context_t &context, const char *name, int64_t rows);
  mpc_rt_status_t planStep(unsigned index, int64_t rows);
  uint32_t indexOf(const char *entry) const;
  TrainLoop &loopOf(unsigned part);

  mpc_rt_context_t &whole;
  const bool isApart;                  // the device's memory
  std::unique_ptr<Communicator> alone; // without a communicator of the caller's
  Communicator &communicator;
  PartGroup group;
  std::vector<std::unique_ptr<Part>> parts;
  std::unique_ptr<PartThreads> threads;
  // The update reads rows, as those of an embedding's gradient: each part computes it, with copies
  // of all variables, of which the first one's stay.
  bool updatesByParts = false;
  const unsigned madeAfterForks = forksSeen();
};

} // namespace mpc::rt

#endif
