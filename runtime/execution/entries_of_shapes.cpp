// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/execution/entries_of_shapes.h"
#include "runtime/rules/entry_names.h"

#include <algorithm>

namespace mpc::rt {

// Entries of one name take the same inputs; a damaged table may say otherwise.
static bool computesTheSame(const mpc_rt_entry_info_t &a, const mpc_rt_entry_info_t &b) {
  return a.input_count == b.input_count && a.output_count == b.output_count &&
         rules::entryWithoutShape(a.name) == rules::entryWithoutShape(b.name);
}

static bool fits(const mpc_rt_tensor_info_t &want, const ShapeView &have) {
  if (want.rank != have.rank)
    return false;
  for (uint32_t axis = 0; axis < want.rank; ++axis)
    if (want.dims[axis] != MPC_RT_DYNAMIC && want.dims[axis] != have.dims[axis])
      return false;
  return true;
}

const mpc_rt_entry_info_t &entryForShapes(const mpc_rt_executable_t &executable,
                                          const mpc_rt_entry_info_t &entry,
                                          const InputShape &shapeOf) {
  auto fitsAll = [&](const mpc_rt_entry_info_t &candidate) {
    for (uint32_t i = 0; i < candidate.input_count; ++i)
      if (!fits(candidate.inputs[i], shapeOf(i)))
        return false;
    return true;
  };
  if (fitsAll(entry))
    return entry;
  const mpc_rt_entry_info_t *end = executable.entries + executable.entry_count;
  const mpc_rt_entry_info_t *found =
      std::find_if(executable.entries, end, [&](const mpc_rt_entry_info_t &candidate) {
        return computesTheSame(candidate, entry) && fitsAll(candidate);
      });
  return found == end ? entry : *found;
}

std::string shapeText(const int64_t *dims, uint32_t rank) {
  std::string text = "(";
  for (uint32_t i = 0; i < rank; ++i)
    text += (i ? ", " : "") + (dims[i] == MPC_RT_DYNAMIC ? "batch" : std::to_string(dims[i]));
  return text + ")";
}

std::string describeShapes(const mpc_rt_executable_t &executable, const mpc_rt_entry_info_t &entry,
                           uint32_t input) {
  std::string text;
  for (uint32_t i = 0; i < executable.entry_count; ++i) {
    const mpc_rt_entry_info_t &candidate = executable.entries[i];
    if (!computesTheSame(candidate, entry))
      continue;
    const mpc_rt_tensor_info_t &tensor = candidate.inputs[input];
    const std::string shape = shapeText(tensor.dims, tensor.rank);
    if (text.find(shape) == std::string::npos)
      text += (text.empty() ? "" : " or ") + shape;
  }
  return text;
}

} // namespace mpc::rt
