// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels that a memory plan meets.
#include "commands/planned_kernels.h"

#include "checkpoint/checkpoint_folder.h"
#include "mpc-rt/tuning.h"
#include "training/batcher.h"

#include <sstream>

namespace mpc::commands {

using data::Failure;
using data::Result;
using data::Status;
using training::Session;

namespace {

// A context of its own, whose list has nothing of other entries.
Result<std::unique_ptr<Session>> openForPlan(const std::string &library,
                                             const PlannedKernelsOptions &options,
                                             const checkpoint::KernelRecord &record) {
  training::SessionOptions sessionOptions;
  sessionOptions.library = library;
  sessionOptions.threads = options.threads;
  sessionOptions.tuning = options.tuning;
  Result<std::unique_ptr<Session>> session = Session::openContext(sessionOptions);
  if (!session)
    return session;
  mpc_rt_context_t *context = (*session)->context();
  if (!options.resume.empty() && mpc_rt_context_set_kernel_choices(context, record.kernels.c_str()))
    return Failure(options.resume + ":kernels: " + mpc_rt_last_error());
  if (mpc_rt_status_t status = mpc_rt_context_record_kernels(context))
    return (*session)->runtimeFailure(status);
  return session;
}

} // namespace

Result<std::vector<PlannedKernels>> planKernels(const Session &tables,
                                                const PlannedKernelsOptions &options,
                                                std::vector<std::string> &notes) {
  checkpoint::KernelRecord record;
  if (!options.resume.empty()) {
    Result<checkpoint::KernelRecord> found =
        checkpoint::CheckpointFolder(options.resume, /*keep=*/1).readKernels(tables, notes);
    if (!found)
      return found.failure();
    record = *found;
  }
  std::vector<PlannedKernels> planned;
  for (const char *name : {"predict", "train_step"}) {
    Result<std::unique_ptr<Session>> session = openForPlan(tables.path(), options, record);
    if (!session)
      return session.failure();
    if (planned.empty())
      notes.insert(notes.end(), (*session)->notes().begin(), (*session)->notes().end());
    const mpc_rt_entry_info_t *entry = (*session)->findEntry(name);
    if (!entry)
      continue;
    const int64_t fixed = (*session)->fixedBatch(*entry);
    int64_t batch = options.batchSize ? options.batchSize : fixed ? fixed : record.batchSize;
    if (batch == 0)
      batch = 32;
    if (Status status = training::checkFixedBatch(fixed, batch, 0, (*session)->path()); !status)
      return status.failure();
    mpc_rt_memory_t memory = {};
    memory.struct_size = sizeof memory;
    if (mpc_rt_status_t status = mpc_rt_context_plan_memory(
            (*session)->context(), static_cast<uint32_t>(entry - (*session)->executable().entries),
            batch, &memory))
      return (*session)->runtimeFailure(status);
    PlannedKernels kernels{name, batch, {}};
    std::istringstream lines(mpc_rt_context_used_kernels((*session)->context()));
    for (std::string line; std::getline(lines, line);)
      kernels.lines.push_back(line);
    planned.push_back(std::move(kernels));
  }
  return planned;
}

} // namespace mpc::commands
