// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execution/batch_parts.h"

#include "mpc-rt/collectives.h"
#include "runtime/base/status.h"
#include "runtime/drivers/part_product.h"
#include "runtime/execution/context.h"
#include "runtime/execution/part_of_call.h"
#include "runtime/rules/batch_parts.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {

struct BatchParts::Part {
  std::unique_ptr<mpc_rt_context_t> context;
  Buffer variables; // copies of those that each part changes
  PartOfCall call;
  uint64_t keptBytes = 0; // planned
};

namespace {

constexpr uint32_t noEntry = ~0u;

bool areEqual(const char *a, const char *b) { return std::strcmp(a, b) == 0; }

// A forward pass changes these; what only updates change is there once.
bool isOfEachPart(const mpc_rt_variable_info_t &variable) {
  return variable.role == MPC_RT_ROLE_NON_TRAINABLE || variable.role == MPC_RT_ROLE_METRIC ||
         variable.role == MPC_RT_ROLE_RANDOM;
}

bool readsRows(const mpc_rt_entry_info_t &entry) {
  return std::any_of(entry.inputs, entry.inputs + entry.input_count, hasRows);
}

bool updateReadsRows(const mpc_rt_executable_t &executable) {
  return std::any_of(executable.entries, executable.entries + executable.entry_count,
                     [](const mpc_rt_entry_info_t &entry) {
                       return areEqual(entry.name, "train_apply") && readsRows(entry);
                     });
}

// BatchParts::trainStep() gives these.
bool isStepResult(const char *output) {
  return areEqual(output, "loss") || areEqual(output, "learning_rate") ||
         areEqual(output, "finite");
}

// By way of the host's memory, which both contexts have for their variables; nothing moves where
// they compute there.
mpc_rt_status_t moveVariables(mpc_rt_context_t &from, mpc_rt_context_t &to) {
  const uint64_t bytes = from.layout.bytes;
  if (auto status = from.driver->deviceMemory().fetchVariables(0, bytes))
    return status;
  return to.driver->deviceMemory().storeVariables(0, bytes);
}

// Loss and predictions: what a forward pass keeps is behind them.
uint32_t countResults(const mpc_rt_entry_info_t &forward) {
  uint32_t count = 0;
  while (count < forward.output_count && std::strncmp(forward.outputs[count].name, "kept:", 5) != 0)
    ++count;
  return count;
}

} // namespace

BatchParts::BatchParts(mpc_rt_context_t &whole, Communicator *given, unsigned own)
    : whole(whole), isApart(whole.driver->ownsMemory()),
      alone(given ? nullptr : std::make_unique<Communicator>(std::make_unique<SelfTransport>())),
      communicator(given ? *given : *alone), group(communicator, own) {
  for (unsigned i = 0; i != own; ++i)
    parts.push_back(std::make_unique<Part>());
}

BatchParts::~BatchParts() {
  if (madeAfterForks != forksSeen())
    (void)threads.release(); // they are another process's, and would be waited for
}

mpc_rt_status_t BatchParts::makeContexts() {
  const mpc_rt_executable_t &executable = whole.executable();
  updatesByParts = updateReadsRows(executable);
  group.setOneResult(!updatesByParts);
  group.setWorkers(whole.driver->threads());
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < executable.variable_count; ++i)
    if (!isApart && (updatesByParts || isOfEachPart(executable.variables[i])))
      bytes += alignUp(whole.layout.sizes[i]);
  for (std::unique_ptr<Part> &part : parts) {
    if (auto status = makePartContext(whole, part->context))
      return status;
    part->context->isOneOfParts = parts.size() > 1 && !updatesByParts;
    PartKernels *kernels = part->context->driver->kernels().ofParts();
    if (parts.size() > 1 && kernels)
      kernels->shareWeights(*parts.front()->context->driver->kernels().ofParts());
    if (part != parts.front() && !part->variables.reserve(bytes))
      return failToAllocate(executable.model_name, bytes, part->variables.problem());
  }
  threads = std::make_unique<PartThreads>(static_cast<unsigned>(parts.size()));
  return MPC_RT_OK;
}

bool BatchParts::takes(const mpc_rt_entry_info_t &entry) {
  return areEqual(entry.name, "train_step") || areEqual(entry.name, "evaluate");
}

uint32_t BatchParts::indexOf(const char *name) const {
  const mpc_rt_executable_t &executable = whole.executable();
  for (uint32_t i = 0; i < executable.entry_count; ++i)
    if (areEqual(executable.entries[i].name, name))
      return i;
  return noEntry;
}

mpc_rt_status_t BatchParts::checkThreads() const {
  if (madeAfterForks == forksSeen())
    return MPC_RT_OK;
  return fail(MPC_RT_FAILED_PRECONDITION,
              "%s: the process forked after mpc_rt_context_set_parts, whose threads do not survive "
              "it; call it again",
              whole.executable().model_name);
}

// The first part's is that of the whole context.
mpc_rt_status_t BatchParts::openLoops() {
  for (unsigned part = 0; part != parts.size(); ++part)
    if (auto status = openLoop(part == 0 ? whole : *parts[part]->context))
      return status;
  return MPC_RT_OK;
}

// Every part begins with the variables of the whole context.
mpc_rt_status_t BatchParts::prepareRun() {
  if (auto status = checkThreads())
    return status;
  if (auto status = readyForRun(whole, /*updates=*/true))
    return status;
  for (std::unique_ptr<Part> &part : parts)
    copyVariables(*part, /*forUpdate=*/false);
  return giveVariables();
}

mpc_rt_status_t BatchParts::giveVariables() {
  for (std::unique_ptr<Part> &part : parts)
    if (auto status = moveVariables(whole, *part->context))
      return status;
  return MPC_RT_OK;
}

// The first part has the variables themselves.
void BatchParts::copyVariables(Part &part, bool forUpdate) {
  uint8_t *copy = part.variables.data();
  for (uint32_t i = 0; i < whole.executable().variable_count; ++i) {
    void *variable = whole.variables[i];
    const bool isCopied = !isApart && (forUpdate || isOfEachPart(whole.executable().variables[i]));
    if (isCopied && &part != parts.front().get()) {
      std::memcpy(copy, variable, whole.layout.sizes[i]);
      variable = copy;
      copy += alignUp(whole.layout.sizes[i]);
    }
    part.context->variables[i] = variable;
  }
  part.context->driver->variablesChanged();
}

mpc_rt_status_t BatchParts::bind(unsigned index, const CallTensors &call, int64_t batch) {
  Part &part = *parts[index];
  int64_t first = 0, count = 0;
  mpc_rt_part_rows(batch, index, static_cast<uint32_t>(parts.size()), &first, &count);
  // All parts have the same numbers where there are no rows.
  if (auto status = part.call.bind(whole.executable().model_name, call, first, count, index == 0))
    return status;
  part.context->rankReductions->mute(part.call.isEmpty());
  return MPC_RT_OK;
}

void BatchParts::restartReductions() {
  group.restart();
  if (PartKernels *kernels = parts.front()->context->driver->kernels().ofParts())
    kernels->forgetSharedWeights();
  for (unsigned i = 0; i != parts.size(); ++i) {
    Reducer &reducer = parts.size() == 1 ? static_cast<Reducer &>(communicator) : group.reducer(i);
    parts[i]->context->rankReductions =
        std::make_unique<RankReductions>(reducer, parts[i]->context->driver->deviceMemory(),
                                         /*hasResults=*/i == 0 || updatesByParts);
    parts[i]->context->rankReductions->mute(parts[i]->call.isEmpty());
  }
}

mpc_rt_status_t BatchParts::onParts(const std::function<mpc_rt_status_t(unsigned)> &body) {
  if (auto status = checkThreads())
    return status;
  std::vector<mpc_rt_status_t> statuses(parts.size(), MPC_RT_OK);
  std::string problem;
  std::mutex mutex;
  threads->run([&](unsigned part) {
    statuses[part] = guard("part of a batch", [&] { return body(part); });
    if (statuses[part] == MPC_RT_OK)
      return;
    // The thread's message dies with it. The first one is the cause of the others.
    group.stop(statuses[part], mpc_rt_last_error());
    std::lock_guard<std::mutex> lock(mutex);
    if (problem.empty())
      problem = mpc_rt_last_error();
  });
  for (mpc_rt_status_t status : statuses)
    if (status != MPC_RT_OK) {
      group.settle();
      return fail(mpc_rt_status_code_t(status), "%s", problem.c_str());
    }
  return MPC_RT_OK;
}

mpc_rt_status_t BatchParts::forward(const void *const *inputs, void *const *outputs,
                                    int64_t batch) {
  if (auto status = openLoops()) // tells of a model without the entry, too
    return status;
  const mpc_rt_entry_info_t &entry = whole.executable().entries[indexOf("train_forward")];
  if (auto status = checkPointers(whole, entry, inputs, outputs, countResults(entry), batch))
    return status;
  return forwardParts(inputs, outputs, batch);
}

mpc_rt_status_t BatchParts::forwardParts(const void *const *inputs, void *const *outputs,
                                         int64_t batch) {
  const mpc_rt_entry_info_t &entry = whole.executable().entries[indexOf("train_forward")];
  const CallTensors call = {
      entry.inputs, entry.input_count, entry.outputs, countResults(entry), inputs, outputs};
  if (auto status = prepareRun())
    return status;
  restartReductions();
  const mpc_rt_status_t status = onParts([&](unsigned part) -> mpc_rt_status_t {
    if (auto status = bind(part, call, batch))
      return status;
    Part &own = *parts[part];
    return loopOf(part).forward(*own.context, own.call.inputs(), own.call.outputs(),
                                own.call.rows());
  });
  whole.driver->variablesChanged();
  return status ? status : moveVariables(*parts.front()->context, whole);
}

mpc_rt_status_t BatchParts::backward(void *const *gradients) {
  if (auto status = openLoops())
    return status;
  restartReductions();
  return onParts([&](unsigned part) {
    return loopOf(part).backward(*parts[part]->context, part == 0 ? gradients : nullptr);
  });
}

mpc_rt_status_t BatchParts::unscale(void *const *gradients, int32_t *finite) {
  if (auto status = openLoops())
    return status;
  if (!updatesByParts)
    return whole.trainLoop->unscale(whole, gradients, finite);
  return onParts([&](unsigned part) {
    return part == 0 ? whole.trainLoop->unscale(*parts[0]->context, gradients, finite)
                     : loopOf(part).unscale(*parts[part]->context, nullptr, nullptr);
  });
}

mpc_rt_status_t BatchParts::apply(void *const *gradients, mpc_rt_applied_t *applied) {
  if (auto status = openLoops())
    return status;
  if (!updatesByParts)
    return applyOnce(gradients, applied);
  // All copies are made before the first part changes what they are of.
  auto copy = [&](unsigned part) -> mpc_rt_status_t {
    copyVariables(*parts[part], /*forUpdate=*/true);
    return MPC_RT_OK;
  };
  if (auto status = onParts(copy))
    return status;
  if (auto status = giveVariables())
    return status;
  restartReductions();
  const mpc_rt_status_t status = onParts([&](unsigned part) {
    return part == 0 ? whole.trainLoop->apply(*parts[0]->context, gradients, applied)
                     : loopOf(part).apply(*parts[part]->context, nullptr, nullptr);
  });
  whole.driver->variablesChanged();
  return status ? status : moveVariables(*parts.front()->context, whole);
}

// Ranks that have parts of variables exchange what they have updated.
mpc_rt_status_t BatchParts::applyOnce(void *const *gradients, mpc_rt_applied_t *applied) {
  if (whole.variableParts)
    whole.rankReductions =
        std::make_unique<RankReductions>(communicator, whole.driver->deviceMemory());
  const mpc_rt_status_t status = whole.trainLoop->apply(whole, gradients, applied);
  whole.rankReductions.reset();
  return status;
}

mpc_rt_status_t BatchParts::trainStep(const mpc_rt_entry_info_t &entry, const void *const *inputs,
                                      void *const *outputs, int64_t batch) {
  if (auto status = openLoops())
    return status;
  if (auto status = forwardParts(inputs, /*outputs=*/nullptr, batch))
    return status;
  const float loss = *static_cast<const float *>(parts.front()->call.outputs()[0]);
  if (auto status = backward(/*gradients=*/nullptr))
    return status;
  int32_t finite = 1;
  mpc_rt_applied_t applied = {};
  applied.struct_size = sizeof applied;
  if (auto status = unscale(/*gradients=*/nullptr, &finite))
    return status;
  if (auto status = apply(/*gradients=*/nullptr, &applied))
    return status;
  for (uint32_t i = 0; i < entry.output_count; ++i) {
    const char *name = entry.outputs[i].name;
    if (areEqual(name, "loss"))
      std::memcpy(outputs[i], &loss, sizeof loss);
    else if (areEqual(name, "learning_rate"))
      std::memcpy(outputs[i], &applied.learning_rate, sizeof applied.learning_rate);
    else if (areEqual(name, "finite"))
      *static_cast<uint8_t *>(outputs[i]) = finite != 0; // checkParts() lets no others pass
  }
  return MPC_RT_OK;
}

mpc_rt_status_t BatchParts::run(const mpc_rt_entry_info_t &entry, const void *const *inputs,
                                void *const *outputs, int64_t batch) {
  if (areEqual(entry.name, "train_step"))
    return trainStep(entry, inputs, outputs, batch);
  const CallTensors call = {
      entry.inputs, entry.input_count, entry.outputs, entry.output_count, inputs, outputs};
  if (auto status = prepareRun())
    return status;
  restartReductions();
  const mpc_rt_status_t status = onParts([&](unsigned part) -> mpc_rt_status_t {
    if (auto status = bind(part, call, batch))
      return status;
    Part &own = *parts[part];
    return runContext(*own.context, entry, own.call.inputs(), own.call.outputs(), own.call.rows(),
                      nullptr);
  });
  whole.driver->variablesChanged();
  return status ? status : moveVariables(*parts.front()->context, whole);
}

mpc_rt_status_t BatchParts::planEntry(mpc_rt_context_t &context, const char *name, int64_t rows) {
  mpc_rt_memory_t memory = {};
  memory.struct_size = sizeof memory;
  return mpc_rt_context_plan_memory(&context, indexOf(name), rows, &memory);
}

mpc_rt_status_t BatchParts::planStep(unsigned index, int64_t rows) {
  Part &part = *parts[index];
  if (auto status = openLoop(index == 0 ? whole : *part.context))
    return status;
  for (const char *name : {"train_forward", "train_backward"})
    if (auto status = planEntry(*part.context, name, rows))
      return status;
  (void)loopOf(index).keptBytes(rows, part.keptBytes); // the entries' sizes were in range
  if (updatesByParts)
    return planEntry(*part.context, "train_apply", rows);
  return index == 0 ? planEntry(whole, "train_apply", rows) : MPC_RT_OK;
}

mpc_rt_status_t BatchParts::plan(const mpc_rt_entry_info_t &entry, int64_t batch) {
  for (unsigned i = 0; i != parts.size(); ++i) {
    int64_t first = 0, count = 0;
    mpc_rt_part_rows(batch, i, static_cast<uint32_t>(parts.size()), &first, &count);
    const int64_t rows = std::max<int64_t>(count, 1);
    if (auto status = areEqual(entry.name, "train_step")
                          ? planStep(i, rows)
                          : planEntry(*parts[i]->context, entry.name, rows))
      return status;
  }
  return MPC_RT_OK;
}

void BatchParts::addMemory(mpc_rt_memory_t &memory) const {
  for (unsigned i = 0; i != parts.size(); ++i) {
    const Part &part = *parts[i];
    const mpc_rt_context_t &context = *part.context;
    const TrainLoop *loop = i == 0 ? whole.trainLoop.get() : context.trainLoop.get();
    memory.arena_planned_bytes += context.arenaPlanned + part.keptBytes + part.variables.size() +
                                  part.call.bytes() + (loop ? loop->gradientBytes() : 0);
    memory.arena_allocated_bytes += context.arena.size() + part.variables.size() +
                                    part.call.bytes() + (loop && i != 0 ? loop->bytes() : 0);
    memory.library_bytes += context.driver->libraryBytes();
  }
}

TrainLoop &BatchParts::loopOf(unsigned part) {
  return part == 0 ? *whole.trainLoop : *parts[part]->context->trainLoop;
}

namespace {

// The first obstacle, with what to do.
mpc_rt_status_t checkParts(const mpc_rt_context_t &context, uint32_t ranks, uint32_t parts) {
  const mpc_rt_executable_t &executable = context.executable();
  const char *model = executable.model_name;
  if (!rules::areBatchParts(parts))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: a batch in %u parts; expected a power of two up to %lld", model, parts,
                static_cast<long long>(rules::mostBatchParts));
  if (parts % ranks != 0)
    return fail(MPC_RT_INVALID_ARGUMENT,
                "%s: %u ranks cannot share a batch in %u parts; expected a number of ranks that "
                "divides it",
                model, ranks, parts);
  if (auto status = checkDistributed(context))
    return status;
  for (uint32_t i = 0; i < executable.entry_count; ++i)
    if (BatchParts::takes(executable.entries[i]) && !readsRows(executable.entries[i]))
      return fail(MPC_RT_FAILED_PRECONDITION,
                  "%s: was compiled for a fixed batch, which has no parts; compile it with "
                  "--batch=dynamic",
                  model);
  for (uint32_t i = 0; i < executable.entry_count; ++i)
    for (uint32_t j = 0; areEqual(executable.entries[i].name, "train_step") &&
                         j < executable.entries[i].output_count;
         ++j)
      if (const char *name = executable.entries[i].outputs[j].name; !isStepResult(name))
        return fail(MPC_RT_FAILED_PRECONDITION,
                    "%s: a step in parts has no output '%s'; train it without parts", model, name);
  // Each part would need whole variables.
  if (ranks > 1 && updateReadsRows(executable))
    for (uint32_t i = 0; i < executable.variable_count; ++i)
      if (executable.variables[i].flags & MPC_RT_VARIABLE_IN_PARTS)
        return fail(MPC_RT_FAILED_PRECONDITION,
                    "%s: its optimizer reads the rows that an embedding was taken from, so that "
                    "each part of a batch updates all variables, of which ranks have parts here; "
                    "compile it without --shard=optimizer",
                    model);
  if (!context.driver->computes())
    return fail(MPC_RT_FAILED_PRECONDITION, "%s: a device that computes nothing has no parts",
                model);
  return MPC_RT_OK;
}

} // namespace
} // namespace mpc::rt

mpc_rt_status_t mpc_rt_context_set_parts(mpc_rt_context_t *context,
                                         mpc_rt_communicator_t *communicator, uint32_t parts) {
  using namespace mpc::rt;
  return guard("mpc_rt_context_set_parts", [&]() -> mpc_rt_status_t {
    if (!context)
      return fail(MPC_RT_INVALID_ARGUMENT, "mpc_rt_context_set_parts: context is null");
    Communicator *ranks = communicator ? &communicator->communicator : nullptr;
    const uint32_t size = ranks ? ranks->size() : 1;
    std::unique_ptr<BatchParts> made;
    if (parts) {
      if (auto status = checkParts(*context, size, parts))
        return status;
      made = std::make_unique<BatchParts>(*context, ranks, parts / size);
      if (auto status = made->makeContexts())
        return status;
    }
    if (auto status = shareVariables(*context, made ? ranks : nullptr))
      return status;
    context->rankReductions.reset();
    // A forward pass kept values of the parts that were.
    context->trainLoop.reset();
    context->batchParts = std::move(made);
    return MPC_RT_OK;
  });
}
