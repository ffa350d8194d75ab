// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The parts of a memory plan.
#include "runtime/training/memory_plan.h"

#include "runtime/data/gather.h"
#include "runtime/data/variable_tensor.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <sys/resource.h>
#include <unistd.h>

namespace mpc::training {

using data::Result;

namespace {

uint64_t tensorBytes(const mpc_rt_tensor_info_t &tensor, int64_t rows) {
  const data::DtypeInfo *dtype = data::dtypeInfo(tensor.dtype);
  return dtype ? data::byteSize(data::dimsOf(tensor, rows), dtype->bytes).value_or(0) : 0;
}

/// Prediction and evaluation leave the optimizer's alone, whose pages then never come.
uint64_t variableBytes(const mpc_rt_executable_t &tables, bool trains) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < tables.variable_count; ++i)
    if (trains || tables.variables[i].role != MPC_RT_ROLE_OPTIMIZER)
      bytes += tensorBytes(tables.variables[i].tensor, 0);
  return bytes;
}

uint64_t dataBytes(const mpc_rt_entry_info_t &entry, int64_t rows, const data::Dataset &data,
                   bool inOrder) {
  uint64_t bytes = 0;
  std::set<const uint8_t *> arrays; // columns may share one
  for (const data::Column &column : data.columns) {
    if (arrays.insert(column.array.data()).second)
      bytes += column.array.bytes();
    if (!inOrder || !data::isAsWanted(column))
      bytes += data::rowBytes(column) * static_cast<uint64_t>(rows);
  }
  for (uint32_t i = 0; i < entry.output_count; ++i)
    bytes += tensorBytes(entry.outputs[i], rows);
  return bytes;
}

} // namespace

Result<MemoryPlan> planMemory(Session &session, const mpc_rt_entry_info_t &entry, int64_t rows,
                              const data::Dataset &data, bool inOrder) {
  const mpc_rt_executable_t &tables = session.executable();
  mpc_rt_memory_t memory = {};
  memory.struct_size = sizeof memory;
  const uint64_t before = residentBytes();
  if (mpc_rt_status_t status = mpc_rt_context_plan_memory(
          session.context(), static_cast<uint32_t>(&entry - tables.entries), rows, &memory))
    return session.runtimeFailure(status);
  MemoryPlan plan;
  // Primitives of oneDNN, and oneDNN itself, come with the plan.
  plan.program = session.residentWhenOpened() + residentBytes() - before;
  // A rank of several may have parts of some.
  plan.variables = std::min(variableBytes(tables, std::strcmp(entry.name, "train_step") == 0),
                            memory.variable_bytes);
  plan.arena = memory.arena_planned_bytes;
  plan.workspaces = memory.library_bytes;
  plan.data = dataBytes(entry, rows, data, inOrder);
  return plan;
}

std::string formatMegabytes(uint64_t bytes) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", static_cast<double>(bytes) / 1e6);
  return text;
}

std::string describe(const MemoryPlan &plan) {
  return formatMegabytes(plan.total()) + " MB planned: program " + formatMegabytes(plan.program) +
         ", variables " + formatMegabytes(plan.variables) + ", arena " +
         formatMegabytes(plan.arena) + ", workspaces " + formatMegabytes(plan.workspaces) +
         ", data " + formatMegabytes(plan.data);
}

uint64_t residentBytes() {
  unsigned long long size = 0, resident = 0;
  if (FILE *file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%llu %llu", &size, &resident) != 2)
      resident = 0;
    std::fclose(file);
  }
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t peakBytes() {
  struct rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<uint64_t>(usage.ru_maxrss) * 1024;
}

} // namespace mpc::training
