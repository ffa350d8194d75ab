// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans the memory of a run before it runs: the entry is called with services that take memory and
// compute nothing, on inputs, outputs and variables that are nobody's.
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/execution/context.h"

#include <algorithm>

using namespace mpc::rt;

namespace {

// False on overflow.
bool widen(const mpc_rt_tensor_info_t &tensor, int64_t batch, uint64_t &largest) {
  uint64_t bytes = dtypeSize(tensor.dtype);
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    const int64_t extent = tensor.dims[i] == MPC_RT_DYNAMIC ? batch : tensor.dims[i];
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes))
      return false;
  }
  largest = std::max(largest, bytes);
  return true;
}

// Zeros that take the place of every tensor: host code between two services may read and write a
// few numbers, the services touch nothing.
mpc_rt_status_t makePlaceholder(const mpc_rt_context_t &context, const mpc_rt_entry_info_t &entry,
                                int64_t batch, Buffer &zeros) {
  uint64_t bytes = bufferAlignment;
  bool fits = true;
  for (uint32_t i = 0; i < entry.input_count; ++i)
    fits &= widen(entry.inputs[i], batch, bytes);
  for (uint32_t i = 0; i < entry.output_count; ++i)
    fits &= widen(entry.outputs[i], batch, bytes);
  if (!fits)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: batch %lld overflows a tensor's size", entry.name,
                static_cast<long long>(batch));
  for (uint64_t size : context.layout.sizes)
    bytes = std::max(bytes, size);
  return zeros.allocate(bytes) ? MPC_RT_OK : failToAllocate(entry.name, bytes, zeros.problem());
}

class Reserving {
public:
  explicit Reserving(mpc_rt_context_t &context) : context(context) {
    context.isReserving = context.driver->setReserving(true);
  }
  ~Reserving() {
    context.driver->setReserving(false);
    context.driver->variablesChanged(); // nothing was packed
    context.isReserving = false;
  }
  bool isKnown() const { return context.isReserving; }

private:
  mpc_rt_context_t &context;
};

mpc_rt_status_t plan(mpc_rt_context_t &context, const mpc_rt_entry_info_t &entry, int64_t batch) {
  if (auto status = checkForks(context, entry))
    return status;
  RunMark mark(context);
  if (auto status = reserveArena(context, entry, batch))
    return status;
  Reserving reserving(context);
  if (!reserving.isKnown() || batch == 0)
    return MPC_RT_OK;
  Buffer zeros;
  if (auto status = makePlaceholder(context, entry, batch, zeros))
    return status;
  const std::vector<const void *> inputs(entry.input_count, zeros.data());
  const std::vector<void *> outputs(entry.output_count, zeros.data());
  const std::vector<void *> variables(context.variables.size(), zeros.data());
  return runEntry(context, entry, inputs.data(), outputs.data(), variables.data(), batch);
}

} // namespace

extern "C" mpc_rt_status_t mpc_rt_context_plan_memory(mpc_rt_context_t *context, uint32_t entry,
                                                      int64_t batch, mpc_rt_memory_t *memory) {
  if (!context || !memory || memory->struct_size < sizeof(*memory))
    return fail(MPC_RT_INVALID_ARGUMENT,
                "mpc_rt_context_plan_memory: a null argument, or memory.struct_size is not set");
  auto &executable = context->executable();
  if (entry >= executable.entry_count || batch < 0)
    return fail(MPC_RT_INVALID_ARGUMENT, "%s: entry %u with batch %lld; the model has %u entries",
                executable.model_name, entry, static_cast<long long>(batch),
                executable.entry_count);
  auto &info = executable.entries[entry];
  BatchParts *parts = context->batchParts.get();
  if (auto status = guard(info.name, [&] {
        return parts && parts->takes(info) ? parts->plan(info, batch) : plan(*context, info, batch);
      }))
    return status;
  return mpc_rt_context_memory(context, memory);
}
