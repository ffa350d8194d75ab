// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/training/bounded_outputs.h"

#include "runtime/data/cut.h"

#include <algorithm>

namespace mpc::training {

using data::Array;
using data::Failure;
using data::Result;

BoundedOutputs::BoundedOutputs(const Session &session, const mpc_rt_entry_info_t &entry)
    : path_(session.path()) {
  const mpc_rt_executable_t &tables = session.executable();
  const auto index = static_cast<uint32_t>(&entry - tables.entries);
  for (uint32_t i = 0; i < entry.output_count; ++i)
    if (const mpc_rt_tensor_form_t *form =
            mpc_rt_find_form(&tables, index, /*is_output=*/1, i, MPC_RT_FORM_BOUNDED))
      forms_.push_back(*form);
}

bool BoundedOutputs::isExtent(uint32_t output) const {
  return std::any_of(forms_.begin(), forms_.end(), [&](const mpc_rt_tensor_form_t &form) {
    return static_cast<uint32_t>(form.extent_output) == output;
  });
}

Result<Array> BoundedOutputs::cut(const std::vector<Array> &outputs, uint32_t output) const {
  auto form = std::find_if(forms_.begin(), forms_.end(),
                           [&](const mpc_rt_tensor_form_t &each) { return each.tensor == output; });
  if (form == forms_.end())
    return outputs[output];
  const std::string place = path_ + ":out" + std::to_string(output);
  const int64_t extent = *outputs[static_cast<size_t>(form->extent_output)].as<int64_t>(),
                most = outputs[output].dims()[form->axis];
  if (extent < 0 || extent > most)
    return Failure(place + ": the call gave the extent " + std::to_string(extent) +
                   "; expected 0 to " + std::to_string(most) +
                   "; the library is damaged; compile the model again");
  Result<Array> part = data::cut(outputs[output], form->axis, extent);
  if (!part)
    return part.failure().within(place);
  return part;
}

Result<std::vector<Array>> BoundedOutputs::cutAll(const std::vector<Array> &outputs,
                                                  std::vector<std::string> &names) const {
  std::vector<Array> kept;
  std::vector<std::string> keptNames;
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    if (isExtent(i))
      continue;
    Result<Array> part = cut(outputs, i);
    if (!part)
      return part.failure();
    kept.push_back(std::move(*part));
    keptNames.push_back(i < names.size() ? names[i] : "");
  }
  names = std::move(keptNames);
  return kept;
}

data::Status BoundedOutputs::checkRows(int64_t rows, int64_t batchSize, int64_t fixed) const {
  if (!areThere() || (rows <= batchSize && (fixed == 0 || rows == fixed)))
    return data::Status();
  return Failure(path_ +
                 ": values say how large its outputs are, so that batches cannot be joined; "
                 "got " +
                 std::to_string(rows) + " rows; expected all of them in one batch" +
                 (fixed ? ", " + std::to_string(fixed) + ", for which the model was compiled"
                        : "; use --batch-size " + std::to_string(rows)));
}

} // namespace mpc::training
