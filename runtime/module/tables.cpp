// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Consistency of an executable's tables. A library is trusted code, but a stale or damaged one
// should give a message and not a crash.
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/module/model.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
namespace {

constexpr uint32_t mostVariables = 1u << 20, mostEntries = 256, mostMetrics = 4096;
constexpr uint32_t mostTensorsOfEntry = 1u << 20, mostKernels = 1u << 20, mostKernelTables = 64;
constexpr uint32_t mostForms = 4096;

// Null when the tensor is well formed, else what is wrong.
const char *tensorProblem(const mpc_rt_tensor_info_t &tensor, bool dynamicAllowed) {
  if (!tensor.name)
    return "has no name";
  if (!isKnown(tensor.dtype))
    return "has an unknown dtype";
  if (tensor.rank > MPC_RT_MAX_RANK || (tensor.rank && !tensor.dims))
    return "has an impossible rank";
  uint64_t elements = dtypeSize(tensor.dtype);
  for (uint32_t i = 0; i < tensor.rank; ++i) {
    if (i == 0 && tensor.dims[i] == MPC_RT_DYNAMIC && dynamicAllowed)
      continue;
    if (tensor.dims[i] < 0 ||
        __builtin_mul_overflow(elements, static_cast<uint64_t>(tensor.dims[i]), &elements) ||
        elements > (uint64_t{1} << 47))
      return "has an impossible extent";
  }
  return nullptr;
}

mpc_rt_status_t damaged(const char *where, const char *what, uint32_t index, const char *problem) {
  return fail(MPC_RT_DATA_LOSS, "%s: %s %u %s; the library is damaged; compile the model again",
              where, what, index, problem);
}

const char *variableProblem(const mpc_rt_executable_t &e, const mpc_rt_variable_info_t &v) {
  if (const char *problem = tensorProblem(v.tensor, false))
    return problem;
  if (v.role > MPC_RT_ROLE_SHADOW || v.initializer > MPC_RT_INIT_FOURIER_SINE)
    return "has an unknown role or initializer";
  uint64_t count = 0;
  countElements(v.tensor.dims, v.tensor.rank, count);
  if (v.role == MPC_RT_ROLE_RANDOM && (v.tensor.dtype != MPC_RT_INT64 || count != 2))
    return "is a random state but not int64[2]";
  if (v.role != MPC_RT_ROLE_SHADOW)
    return nullptr;
  if (v.shadow_of < 0 || static_cast<uint32_t>(v.shadow_of) >= e.variable_count)
    return "is a shadow of no variable";
  auto &master = e.variables[v.shadow_of];
  uint64_t masters = 0;
  if (master.role == MPC_RT_ROLE_SHADOW || tensorProblem(master.tensor, false) ||
      !countElements(master.tensor.dims, master.tensor.rank, masters) || masters != count ||
      master.tensor.dtype != MPC_RT_FLOAT32 ||
      (v.tensor.dtype != MPC_RT_BFLOAT16 && v.tensor.dtype != MPC_RT_FLOAT16))
    return "is a shadow that does not fit its variable";
  return nullptr;
}

const char *entryProblem(const mpc_rt_entry_info_t &entry) {
  if (!entry.name || !entry.fn)
    return "has no name or no function";
  if (entry.input_count > mostTensorsOfEntry || entry.output_count > mostTensorsOfEntry ||
      (entry.input_count && !entry.inputs) || (entry.output_count && !entry.outputs))
    return "has no input or output table";
  for (uint32_t i = 0; i < entry.input_count; ++i)
    if (tensorProblem(entry.inputs[i], true))
      return "has a malformed input";
  for (uint32_t i = 0; i < entry.output_count; ++i)
    if (tensorProblem(entry.outputs[i], true))
      return "has a malformed output";
  return nullptr;
}

const char *metricProblem(const mpc_rt_executable_t &e, const mpc_rt_metric_info_t &metric) {
  if (!metric.name || metric.kind > 2)
    return "has no name or an unknown kind";
  if (metric.kind < 2 && metric.state_count < 2)
    return "has no total and count";
  if (metric.kind == 2 && !findMetricResult(e, metric.name).tensor)
    return "has no result of float32 in the entry 'metric_results'";
  if (metric.state_count > e.variable_count || (metric.state_count && !metric.states))
    return "has no states";
  for (uint32_t i = 0; i < metric.state_count; ++i)
    if (metric.states[i] >= e.variable_count)
      return "names a variable that does not exist";
  return nullptr;
}

const char *formProblem(const mpc_rt_executable_t &e, const mpc_rt_tensor_form_t &form) {
  if (form.entry >= e.entry_count || form.is_output > 1)
    return "is of no entry";
  const mpc_rt_entry_info_t &entry = e.entries[form.entry];
  if (form.tensor >= (form.is_output ? entry.output_count : entry.input_count))
    return "is of no input or output";
  const mpc_rt_tensor_info_t &tensor = (form.is_output ? entry.outputs : entry.inputs)[form.tensor];
  if (form.axis >= tensor.rank || tensor.dims[form.axis] < 0)
    return "is of no dimension with an extent";
  if (mpc_rt_find_form(&e, form.entry, form.is_output, form.tensor,
                       static_cast<mpc_rt_form_kind_t>(form.kind)) != &form)
    return "is there twice";
  if (form.kind == MPC_RT_FORM_TEXT)
    return tensor.dtype == MPC_RT_INT32 && form.axis + 1 == tensor.rank && form.extent_output == -1
               ? nullptr
               : "says text of what is none";
  if (!form.is_output || form.extent_output < 0 ||
      static_cast<uint32_t>(form.extent_output) >= entry.output_count ||
      static_cast<uint32_t>(form.extent_output) == form.tensor)
    return "has no extent";
  const mpc_rt_tensor_info_t &extent = entry.outputs[form.extent_output];
  return extent.dtype == MPC_RT_INT64 && extent.rank == 0 ? nullptr : "has no extent of int64";
}

// Entries are sound.
mpc_rt_status_t checkForms(const mpc_rt_executable_t &e, const char *where) noexcept {
  if (!MPC_RT_EXECUTABLE_HAS(&e, form_count))
    return MPC_RT_OK;
  if (e.form_count > mostForms || (e.form_count && !e.forms))
    return damaged(where, "table of forms", 0, "is missing or too large");
  for (uint32_t i = 0; i < e.form_count; ++i)
    if (e.forms[i].kind > MPC_RT_FORM_TEXT)
      return fail(MPC_RT_FAILED_PRECONDITION,
                  "%s: form %u is of a kind that this runtime does not know; update libmpcrt",
                  where, i);
    else if (const char *problem = formProblem(e, e.forms[i]))
      return damaged(where, "form", i, problem);
  return MPC_RT_OK;
}

} // namespace

MetricResult findMetricResult(const mpc_rt_executable_t &e, const char *name) noexcept {
  for (uint32_t i = 0; i < e.entry_count; ++i) {
    const mpc_rt_entry_info_t &entry = e.entries[i];
    if (std::strcmp(entry.name, "metric_results") != 0)
      continue;
    for (uint32_t j = 0; entry.input_count == 0 && j < entry.output_count; ++j) {
      const mpc_rt_tensor_info_t &output = entry.outputs[j];
      bool isDynamic = output.rank && output.dims[0] == MPC_RT_DYNAMIC;
      if (std::strcmp(output.name, name) == 0 && output.dtype == MPC_RT_FLOAT32 && !isDynamic)
        return {i, j, &output};
    }
  }
  return {0, 0, nullptr};
}

const mpc_rt_kernel_fn *findKernels(const mpc_rt_executable_t &e, int isa) noexcept {
  for (uint32_t i = 0; e.kernel_count && i < e.kernel_table_count; ++i)
    if (e.kernel_tables[i].isa == static_cast<uint32_t>(isa))
      return e.kernel_tables[i].kernels;
  return nullptr;
}

// Refuses tables of another version, and those with more structs than this runtime reads.
static mpc_rt_status_t checkVersion(const mpc_rt_executable_t &e, const char *where) noexcept {
  if (e.abi_version != MPC_RT_ABI_VERSION || e.struct_size < MPC_RT_EXECUTABLE_MINIMUM)
    return fail(
        MPC_RT_FAILED_PRECONDITION,
        "%s: compiled for runtime ABI %u (%u bytes of tables); this runtime has ABI %u (%zu "
        "bytes); compile the model again or use its runtime",
        where, e.abi_version, e.struct_size, MPC_RT_ABI_VERSION, MPC_RT_EXECUTABLE_MINIMUM);
  if (e.services_size > sizeof(mpc_rt_services_t) || e.call_size > sizeof(mpc_rt_call_t))
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: needs %u bytes of services and %u of calls; this runtime has %zu and %zu; "
                "update libmpcrt",
                where, e.services_size, e.call_size, sizeof(mpc_rt_services_t),
                sizeof(mpc_rt_call_t));
  return MPC_RT_OK;
}

mpc_rt_status_t checkTables(const mpc_rt_executable_t *executable, const char *where) noexcept {
  if (!executable)
    return fail(MPC_RT_FAILED_PRECONDITION,
                "%s: the model wants a newer runtime than ABI %u; update libmpcrt", where,
                MPC_RT_ABI_VERSION);
  auto &e = *executable;
  if (auto status = checkVersion(e, where))
    return status;
  if (!e.model_name || !e.compiler_version || !e.source_hash || e.variable_count > mostVariables ||
      e.entry_count > mostEntries || e.metric_count > mostMetrics || e.kernel_count > mostKernels ||
      e.kernel_table_count > mostKernelTables || (e.variable_count && !e.variables) ||
      (e.entry_count && !e.entries) || (e.metric_count && !e.metrics) ||
      (e.kernel_table_count && !e.kernel_tables))
    return fail(MPC_RT_DATA_LOSS,
                "%s: the tables are missing or too large; the library is damaged; compile the "
                "model again",
                where);
  for (uint32_t i = 0; e.kernel_count && i < e.kernel_table_count; ++i)
    if (!e.kernel_tables[i].kernels)
      return damaged(where, "table of kernels", i, "is missing");
  for (uint32_t i = 0; i < e.variable_count; ++i)
    if (const char *problem = variableProblem(e, e.variables[i]))
      return damaged(where, "variable", i, problem);
  for (uint32_t i = 0; i < e.entry_count; ++i)
    if (const char *problem = entryProblem(e.entries[i]))
      return damaged(where, "entry", i, problem);
  if (auto status = checkForms(e, where))
    return status;
  for (uint32_t i = 0; i < e.metric_count; ++i)
    if (const char *problem = metricProblem(e, e.metrics[i]))
      return damaged(where, "metric", i, problem);
  return MPC_RT_OK;
}

float fixedLossScale(const mpc_rt_executable_t &e) noexcept {
  return MPC_RT_EXECUTABLE_HAS(&e, loss_scale) && e.loss_scale > 0 ? e.loss_scale : 1;
}

uint64_t tensorBytes(const mpc_rt_tensor_info_t &tensor) noexcept {
  uint64_t count = 0;
  return countElements(tensor.dims, tensor.rank, count) ? count * dtypeSize(tensor.dtype) : 0;
}

bool batchBytes(const mpc_rt_tensor_info_t &tensor, int64_t rows, uint64_t &bytes) noexcept {
  int64_t dims[MPC_RT_MAX_RANK];
  std::copy_n(tensor.dims, tensor.rank, dims);
  if (hasRows(tensor))
    dims[0] = rows;
  return countElements(dims, tensor.rank, bytes) &&
         !__builtin_mul_overflow(bytes, dtypeSize(tensor.dtype), &bytes);
}

bool arenaBytes(const mpc_rt_entry_info_t &entry, int64_t batch, uint64_t &bytes) noexcept {
  uint64_t scaled;
  return batch >= 0 &&
         !__builtin_mul_overflow(entry.arena_per_sample, static_cast<uint64_t>(batch), &scaled) &&
         !__builtin_add_overflow(entry.arena_fixed, scaled, &bytes);
}

} // namespace mpc::rt
