// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// All that changes while a model runs.
#ifndef MPC_RUNTIME_EXECUTION_CONTEXT_H
#define MPC_RUNTIME_EXECUTION_CONTEXT_H

#include "mpc-rt/model.h"
#include "runtime/base/fork_watch.h"
#include "runtime/base/memory.h"
#include "runtime/drivers/driver.h"
#include "runtime/execution/batch_parts.h"
#include "runtime/execution/context_use.h"
#include "runtime/execution/part_of_call.h"
#include "runtime/execution/rank_reductions.h"
#include "runtime/execution/traced_elements.h"
#include "runtime/execution/train_loop.h"
#include "runtime/execution/value_watch.h"
#include "runtime/execution/variable_layout.h"
#include "runtime/execution/variable_parts.h"
#include "runtime/execution/variable_values.h"
#include "runtime/module/model.h"
#include "runtime/numerics/trace_record.h"
#include "runtime/threads/thread_team.h"

#include <memory>
#include <vector>

struct mpc_rt_context_t {
  mpc_rt_context_t(mpc_rt_model_t *model, unsigned threads, const mpc::rt::Allocator &allocator)
      : model(mpc::rt::retain(model)), hostTeam(threads), allocator(allocator),
        variableArena(allocator), arena(allocator) {}
  ~mpc_rt_context_t() { mpc_rt_model_release(model); }
  mpc_rt_context_t(const mpc_rt_context_t &) = delete;
  mpc_rt_context_t &operator=(const mpc_rt_context_t &) = delete;

  const mpc_rt_executable_t &executable() const { return *model->executable; }

  mpc_rt_model_t *model;
  std::atomic<unsigned> references{1}; // the creator's, and one of each tensor given out
  // Initializers and shadows run on the host, whatever the driver computes.
  mpc::rt::ThreadTeam hostTeam;
  int isa = 0;
  const mpc_rt_kernel_fn *kernels = nullptr;
  mpc_rt_services_t services = {};
  mpc::rt::VariableLayout layout;
  mpc::rt::Allocator allocator;
  mpc::rt::Buffer variableArena, arena;
  int cudaOrdinal = -1; // of the GPU; -1 on other devices
  // A fork that happened during a run leaves a context half way; a GPU does not survive any.
  const unsigned madeAfterForks = mpc::rt::forksSeen();
  unsigned runsAfterForks = 0; // of the run in progress
  bool isRunning = false;
  mpc::rt::ContextUser user;
  bool isReserving = false;      // services take memory and compute nothing
  bool isOneOfParts = false;     // of a batch, the first of which alone has results
  std::vector<void *> variables; // where each is now
  mpc::rt::VariableValues values;
  mpc::rt::Buffer consumedResult; // of a few rows by a shadow that waits
  uint64_t arenaPlanned = 0;
  std::string kernelChoicesText, usedKernelsText; // what mpc_rt_context_kernel_choices() returned
  std::unique_ptr<mpc::rt::TrainLoop> trainLoop;
  std::unique_ptr<mpc::rt::ValueWatch> valueWatch;         // null: nobody watches
  std::unique_ptr<mpc::rt::TraceRecord> traceRecord;       // null: nothing that is reported is kept
  std::unique_ptr<mpc::rt::TracedElements> tracedElements; // null: they are on the host
  std::unique_ptr<mpc::rt::RankReductions> rankReductions; // null: one rank
  std::unique_ptr<mpc::rt::VariableParts> variableParts;   // null: all variables are whole
  std::unique_ptr<mpc::rt::PartOfCall> noRows;             // the calls of a rank that has none
  std::unique_ptr<mpc::rt::BatchParts> batchParts;         // null: a batch is one part
  std::unique_ptr<mpc::rt::Driver> driver; // last: it may hold device memory of the above
};

namespace mpc::rt {

inline mpc_rt_context_t *retain(mpc_rt_context_t *context) {
  context->references.fetch_add(1, std::memory_order_relaxed);
  return context;
}

// The entry of that number; null, and INVALID_ARGUMENT is reported, when the model has none.
const mpc_rt_entry_info_t *findEntry(const mpc_rt_context_t &context, uint32_t entry);
// The same for a call with so many inputs and outputs, at these arrays.
const mpc_rt_entry_info_t *findEntry(const mpc_rt_context_t &context, uint32_t entry,
                                     const void *inputs, uint32_t inputCount, const void *outputs,
                                     uint32_t outputCount);

// A context of one thread for a part of the batch: of the whole one's model and kernels, with no
// variables of its own but for copies on a device that has memory of its own.
mpc_rt_status_t makePartContext(mpc_rt_context_t &whole, std::unique_ptr<mpc_rt_context_t> &part);

// The context's loop of a custom training, made by the first call that needs it.
mpc_rt_status_t openLoop(mpc_rt_context_t &context);

// FAILED_PRECONDITION for a model whose entries reduce nothing.
mpc_rt_status_t checkDistributed(const mpc_rt_context_t &context);

// Waits for what a run has left under way between ranks: around whatever reads or writes variables
// that is no run.
mpc_rt_status_t settleRanks(mpc_rt_context_t &context);

// From now on the rank may have parts of variables only, those of this communicator's ranks; with
// null or one rank all of them. FAILED_PRECONDITION where it has parts already.
mpc_rt_status_t shareVariables(mpc_rt_context_t &context, Communicator *communicator);
// FAILED_PRECONDITION where the rank has a part of the variable only.
mpc_rt_status_t checkWhole(const mpc_rt_context_t &context, uint32_t variable);

// Behind a run: what the device has counted goes to the record.
mpc_rt_status_t collectCounts(mpc_rt_context_t &context);

// A run calls these in this order. The first one checks whether a fork left the context as it
// should be.
mpc_rt_status_t checkForks(const mpc_rt_context_t &context, const mpc_rt_entry_info_t &entry);
// Until it goes, a fork finds the context in use.
class RunMark {
public:
  explicit RunMark(mpc_rt_context_t &context) : context(context) {
    context.runsAfterForks = forksSeen();
    context.isRunning = true;
  }
  ~RunMark() { context.isRunning = false; }

private:
  mpc_rt_context_t &context;
};
// The first outputs of an entry, whose others the runtime has itself.
mpc_rt_status_t checkPointers(const mpc_rt_context_t &context, const mpc_rt_entry_info_t &entry,
                              const void *const *inputs, void *const *outputs, uint32_t outputCount,
                              int64_t batch);
mpc_rt_status_t reserveArena(mpc_rt_context_t &context, const mpc_rt_entry_info_t &entry,
                             int64_t batch);
mpc_rt_status_t runEntry(mpc_rt_context_t &context, const mpc_rt_entry_info_t &entry,
                         const void *const *inputs, void *const *outputs, void *const *variables,
                         int64_t batch, const DeviceTensors *onDevice = nullptr);
// mpc_rt_context_run and _run_checked with tensors on the device (null: none).
mpc_rt_status_t runContext(mpc_rt_context_t &context, const mpc_rt_entry_info_t &entry,
                           const void *const *inputs, void *const *outputs, int64_t batch,
                           const DeviceTensors *onDevice);
mpc_rt_status_t runChecked(mpc_rt_context_t &context, const mpc_rt_entry_info_t &entry,
                           const mpc_rt_buffer_t *inputs, const mpc_rt_buffer_t *outputs,
                           const DeviceTensors *onDevice);

// A shadow again from its master, which is there; all of them, with their masters.
void refreshShadow(mpc_rt_context_t &context, uint32_t shadow);
mpc_rt_status_t refreshShadows(mpc_rt_context_t &context);
// Around the host's own reading and writing of a variable. For writing, all of it.
mpc_rt_status_t fetchVariable(mpc_rt_context_t &context, uint32_t variable);
mpc_rt_status_t fetchForWriting(mpc_rt_context_t &context, uint32_t variable);
mpc_rt_status_t storeVariable(mpc_rt_context_t &context, uint32_t variable);

} // namespace mpc::rt

#endif
