// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One call of an entry.
#include "runtime/base/status.h"
#include "runtime/execution/context.h"
#include "runtime/rules/entry_names.h"
#include "runtime/rules/entry_use.h"

#include <algorithm>
#include <cstring>

using namespace mpc::rt;

namespace {

// Packed weights are dropped after an entry that may update them.
WeightUse weightUse(const mpc_rt_entry_info_t &entry) {
  const auto use = mpc::rules::entryUse(mpc::rules::entryWithoutShape(entry.name));
  return use.updatesWeights ? WeightUse::updated : WeightUse::constant;
}

// Means over no rows are NaN, which training would write into the model, and evaluation into the
// metrics.
bool needsRows(const mpc_rt_entry_info_t &entry) {
  return mpc::rules::entryUse(entry.name).takesMeans &&
         std::any_of(entry.inputs, entry.inputs + entry.input_count, hasRows);
}

// A rank without rows still takes part in the means of the others, but for stages, which keep rows:
// in these it takes part where the batch is cut into parts.
bool mayLackRows(const mpc_rt_context_t &context, const mpc_rt_entry_info_t &entry) {
  const bool isWatched = std::strcmp(entry.name, "watched_step") == 0;
  if (!context.batchParts)
    return context.rankReductions && (isWatched || BatchParts::takes(entry));
  const bool isStage = std::strcmp(entry.name, "train_forward") == 0;
  return context.batchParts->hasOtherRanks() && (isStage || BatchParts::takes(entry));
}

} // namespace

mpc_rt_status_t mpc::rt::checkPointers(const mpc_rt_context_t &context,
                                       const mpc_rt_entry_info_t &entry, const void *const *inputs,
                                       void *const *outputs, uint32_t outputCount, int64_t batch) {
  if (batch < 0)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: batch %lld; expected at least 0", entry.name,
                static_cast<long long>(batch));
  if (batch == 0 && needsRows(entry) && !mayLackRows(context, entry))
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: batch 0; expected at least 1 row to take means of",
                entry.name);
  const bool fetched = !inputs && context.driver->deviceMemory().hasInputs(entry, batch);
  if ((entry.input_count && !inputs && !fetched) || (outputCount && !outputs))
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: the array of inputs or outputs is null", entry.name);
  auto empty = [batch](const mpc_rt_tensor_info_t &tensor) {
    return std::any_of(tensor.dims, tensor.dims + tensor.rank, [batch](int64_t extent) {
      return extent == 0 || (extent == MPC_RT_DYNAMIC && batch == 0);
    });
  };
  for (uint32_t i = 0; i < entry.input_count && !fetched; ++i)
    if (!inputs[i] && !empty(entry.inputs[i]))
      return fail(MPC_RT_INVALID_ARGUMENT, "%s: input '%s' is null", entry.name,
                  entry.inputs[i].name);
  for (uint32_t i = 0; i < outputCount; ++i)
    if (!outputs[i] && !empty(entry.outputs[i]))
      return fail(MPC_RT_INVALID_ARGUMENT, "%s: output '%s' is null", entry.name,
                  entry.outputs[i].name);
  return MPC_RT_OK;
}

mpc_rt_status_t mpc::rt::checkForks(const mpc_rt_context_t &context,
                                    const mpc_rt_entry_info_t &entry) {
  if (context.cudaOrdinal >= 0 && context.madeAfterForks != forksSeen())
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: the process forked after the context was made, and GPUs do not survive fork; "
                "fork before the first use of a GPU and make a context there",
                entry.name);
  if (context.isRunning && context.runsAfterForks != forksSeen())
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: the process forked while another thread ran this context, which was left half "
                "way; make a new context after fork",
                entry.name);
  return MPC_RT_OK;
}

mpc_rt_status_t mpc::rt::reserveArena(mpc_rt_context_t &context, const mpc_rt_entry_info_t &entry,
                                      int64_t batch) {
  uint64_t bytes = 0;
  if (!arenaBytes(entry, batch, bytes))
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: batch %lld overflows the scratch memory's size",
                entry.name, static_cast<long long>(batch));
  if (!context.driver->ownsMemory() && !context.arena.reserve(bytes))
    return failToAllocate(entry.name, bytes, context.arena.problem());
  context.arenaPlanned = std::max(context.arenaPlanned, bytes);
  return MPC_RT_OK;
}

mpc_rt_status_t mpc::rt::runEntry(mpc_rt_context_t &context, const mpc_rt_entry_info_t &entry,
                                  const void *const *inputs, void *const *outputs,
                                  void *const *variables, int64_t batch,
                                  const DeviceTensors *onDevice) {
  if (auto status = context.driver->begin(weightUse(entry)))
    return status;
  mpc_rt_call_t call = {};
  call.struct_size = sizeof(call);
  call.batch = batch;
  call.inputs = inputs;
  call.outputs = outputs;
  call.variables = variables;
  call.arena = context.arena.data();
  call.kernels = context.kernels;
  call.services = &context.services;
  call.context = &context;
  uint64_t arena = 0;
  arenaBytes(entry, batch, arena); // as reserveArena() found
  unsigned long failuresBefore = failureCount();
  mpc_rt_status_t status =
      context.driver->run(entry, call, context.executable().variable_count, arena, onDevice);
  if (ValueCounter *counter = status ? context.driver->deviceMemory().valueCounter() : nullptr)
    counter->discard();
  else if (!status)
    status = collectCounts(context);
  context.driver->end();
  if (status && failureCount() == failuresBefore)
    return fail(static_cast<mpc_rt_status_code_t>(status),
                "%s: the compiled code failed with status %d and gave no reason; please report it",
                entry.name, status);
  return status;
}

static mpc_rt_status_t runRows(mpc_rt_context_t &context, const mpc_rt_entry_info_t &entry,
                               const void *const *inputs, void *const *outputs, int64_t batch,
                               const DeviceTensors *onDevice) {
  if (auto status = checkForks(context, entry))
    return status;
  RunMark mark(context);
  if (auto status = reserveArena(context, entry, batch))
    return status;
  if (context.rankReductions)
    if (auto status = context.rankReductions->enter(entry))
      return status;
  if (auto status = readyForRun(context, weightUse(entry) == WeightUse::updated))
    return status;
  if (auto status =
          runEntry(context, entry, inputs, outputs, context.variables.data(), batch, onDevice))
    return status;
  // A program that has the address of a shadow may read it now.
  return context.values.shadowsAreExposed ? settleRanks(context) : MPC_RT_OK;
}

// A rank that has no rows computes with one that no reduction takes.
static mpc_rt_status_t runWithoutRows(mpc_rt_context_t &context, const mpc_rt_entry_info_t &entry,
                                      const void *const *inputs, void *const *outputs) {
  if (!context.noRows)
    context.noRows = std::make_unique<PartOfCall>();
  const CallTensors call = {
      entry.inputs, entry.input_count, entry.outputs, entry.output_count, inputs, outputs};
  if (auto status = context.noRows->bind(context.executable().model_name, call, /*first=*/0,
                                         /*count=*/0, /*takesRest=*/true))
    return status;
  context.rankReductions->mute(true);
  const mpc_rt_status_t status =
      runRows(context, entry, context.noRows->inputs(), context.noRows->outputs(),
              context.noRows->rows(), nullptr);
  context.rankReductions->mute(false);
  return status;
}

static mpc_rt_status_t run(mpc_rt_context_t &context, const mpc_rt_entry_info_t &entry,
                           const void *const *inputs, void *const *outputs, int64_t batch,
                           const DeviceTensors *onDevice) {
  const bool isInParts = context.batchParts && context.batchParts->takes(entry);
  if (isInParts && ((!inputs && entry.input_count) || (onDevice && onDevice->any())))
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: a batch in parts is taken from the host; pass inputs and outputs there",
                entry.name);
  if (isInParts)
    return context.batchParts->run(entry, inputs, outputs, batch);
  if (batch == 0 && needsRows(entry)) // as checkPointers() allows
    return runWithoutRows(context, entry, inputs, outputs);
  return runRows(context, entry, inputs, outputs, batch, onDevice);
}

mpc_rt_status_t mpc::rt::runContext(mpc_rt_context_t &context, const mpc_rt_entry_info_t &entry,
                                    const void *const *inputs, void *const *outputs, int64_t batch,
                                    const DeviceTensors *onDevice) {
  ContextUse use(&context.user, entry.name);
  if (use.status())
    return use.status();
  if (auto status = checkPointers(context, entry, inputs, outputs, entry.output_count, batch))
    return status;
  return guard(entry.name, [&] { return run(context, entry, inputs, outputs, batch, onDevice); });
}

const mpc_rt_entry_info_t *mpc::rt::findEntry(const mpc_rt_context_t &context, uint32_t entry) {
  const mpc_rt_executable_t &executable = context.executable();
  if (entry < executable.entry_count)
    return &executable.entries[entry];
  fail(MPC_RT_INVALID_ARGUMENT, "%s: no entry %u; the model has %u", executable.model_name, entry,
       executable.entry_count);
  return nullptr;
}

const mpc_rt_entry_info_t *mpc::rt::findEntry(const mpc_rt_context_t &context, uint32_t entry,
                                              const void *inputs, uint32_t inputCount,
                                              const void *outputs, uint32_t outputCount) {
  const mpc_rt_entry_info_t *info = findEntry(context, entry);
  if (!info)
    return nullptr;
  if (inputCount != info->input_count || outputCount != info->output_count)
    fail(MPC_RT_INVALID_ARGUMENT, "%s: %u inputs and %u outputs given; expected %u and %u",
         info->name, inputCount, outputCount, info->input_count, info->output_count);
  else if ((!inputs && inputCount) || (!outputs && outputCount))
    fail(MPC_RT_INVALID_ARGUMENT, "%s: the array of inputs or outputs is null", info->name);
  else
    return info;
  return nullptr;
}

extern "C" mpc_rt_status_t mpc_rt_context_run(mpc_rt_context_t *context, uint32_t entry,
                                              const void *const *inputs, void *const *outputs,
                                              int64_t batch) {
  if (!context)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_run: context is null");
  const mpc_rt_entry_info_t *info = findEntry(*context, entry);
  if (!info)
    return MPC_RT_INVALID_ARGUMENT;
  return runContext(*context, *info, inputs, outputs, batch, nullptr);
}

extern "C" mpc_rt_status_t mpc_rt_context_prefetch(mpc_rt_context_t *context, uint32_t entry,
                                                   int64_t batch, mpc_rt_fill_inputs_fn fill,
                                                   void *user) {
  if (!context || !fill)
    return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_prefetch: context or fill is null");
  const mpc_rt_entry_info_t *info = findEntry(*context, entry);
  if (!info)
    return MPC_RT_INVALID_ARGUMENT;
  uint64_t arena = 0;
  if (batch < 0 || !arenaBytes(*info, batch, arena))
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: batch %lld; expected at least 0, and no overflow",
                info->name, static_cast<long long>(batch));
  if (!context->driver->ownsMemory() || context->batchParts)
    return fail(MPC_RT_UNAVAILABLE, "%s: computes on memory of the host, nothing is fetched",
                context->driver->name());
  return guard(info->name,
               [&] { return context->driver->deviceMemory().prefetch(*info, batch, fill, user); });
}
