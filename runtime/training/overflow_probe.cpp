// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The probe behind warnings of training that skips step after step.
#include "runtime/training/overflow_probe.h"

#include "mpc-rt/watch.h"
#include "runtime/data/gather.h"
#include "runtime/training/batcher.h"

#include <cmath>

namespace mpc::training {

/// "the input 'x' has values that are not finite, in row 5 of the data", or "".
static std::string findFaultyInput(const mpc_rt_entry_info_t &entry, const data::Dataset &data,
                                   const std::vector<int64_t> &rows) {
  for (uint32_t i = 0; i < entry.input_count && i < data.columns.size(); ++i) {
    const data::Column &column = data.columns[i];
    if (column.spec.dtype != MPC_RT_FLOAT32)
      continue;
    std::vector<float> row(data::rowBytes(column) / sizeof(float));
    for (int64_t index : rows) {
      data::gatherRows(column, &index, 1, row.data());
      for (float value : row)
        if (!std::isfinite(value))
          return "the input '" + column.spec.name + "' has values that are not finite, in row " +
                 std::to_string(index) + " of the data (from 0)";
    }
  }
  return "";
}

std::string findOverflow(Session &session, const data::Dataset &data,
                         const std::vector<int64_t> &rows) {
  const mpc_rt_entry_info_t *predict = session.findEntry("predict");
  if (!predict)
    return "";
  if (std::string text = findFaultyInput(*predict, data, rows); !text.empty())
    return text;
  if (mpc_rt_context_watch(session.context(), 1) != MPC_RT_OK)
    return "";
  Batcher batcher(session, *predict);
  std::string text;
  if (batcher.run(data, rows)) {
    int32_t isComputed = 0;
    if (const char *layer = mpc_rt_context_watched_layer(session.context(), &isComputed))
      text = std::string("the first value that is not finite is ") +
             (isComputed ? "computed by" : "read by") + " the layer '" + layer + "'";
  }
  mpc_rt_context_watch(session.context(), 0);
  return text;
}

} // namespace mpc::training
