// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-run predict: inference over all rows.
#include "runtime/commands/commands.h"
#include "runtime/commands/entry_rows.h"
#include "runtime/commands/prediction_file.h"
#include "runtime/data/atomic_file.h"
#include "runtime/data/variable_tensor.h"
#include "runtime/training/batcher.h"
#include "runtime/training/bounded_outputs.h"
#include "runtime/training/text_tensors.h"

#include <cstring>

namespace mpc::commands {

using data::Array;
using data::Failure;
using data::Result;
using data::Status;
using training::Session;

/// Runs `entry` over all rows of `data`; outputs with a batch dimension are put one after another.
/// Those whose extent values say have none.
static Result<std::vector<Array>> predictRows(Session &session, const mpc_rt_entry_info_t &entry,
                                              const data::Dataset &data, int64_t batchSize,
                                              bool areBounded) {
  std::vector<Array> whole(entry.output_count);
  std::vector<bool> perRow(entry.output_count);
  int64_t fixed = session.fixedBatch(entry);
  for (uint32_t i = 0; i < entry.output_count; ++i) {
    const mpc_rt_tensor_info_t &tensor = entry.outputs[i];
    // The code points of a text are no rows.
    const bool isText = training::isText(session.executable(), entry, /*isOutput=*/true, i);
    perRow[i] = !areBounded && tensor.rank > (isText ? 1u : 0u) &&
                (tensor.dims[0] == MPC_RT_DYNAMIC || tensor.dims[0] == fixed);
    std::vector<int64_t> dims = data::dimsOf(tensor, data.rows);
    if (perRow[i])
      dims[0] = data.rows;
    else if (data.rows > batchSize)
      return Failure(session.path() + ":" + tensor.name +
                     ": has no batch dimension, so its batches cannot be joined; expected all rows "
                     "in one batch; use --batch-size " +
                     std::to_string(data.rows));
    Result<Array> array = Array::allocate(tensor.dtype, dims);
    if (!array)
      return array.failure().within(data.path + ":" + tensor.name);
    if (isText)
      array->setText();
    whole[i] = *array;
  }
  training::Batcher batcher(session, entry);
  auto keepOutputs = [&](int64_t first, int64_t count) {
    for (uint32_t i = 0; i < entry.output_count; ++i) {
      size_t bytes = whole[i].bytes(), offset = 0;
      if (perRow[i]) {
        const size_t rowBytes = bytes / static_cast<size_t>(data.rows);
        bytes = rowBytes * static_cast<size_t>(count);
        offset = rowBytes * static_cast<size_t>(first);
      }
      if (bytes)
        std::memcpy(whole[i].data() + offset, batcher.output(i).data(), bytes);
    }
  };
  if (Status status = batcher.runAll(data, batchSize, /*full=*/fixed != 0, keepOutputs); !status)
    return status.failure();
  return whole;
}

int predict(Arguments &arguments, Console &console) {
  training::SessionOptions options = sessionOptions(arguments);
  arguments.require("inputs", "X.npz");
  arguments.require("outputs", "OUT.npz");
  if (arguments.text("outputs") != "-")
    arguments.requireSuffix("outputs", predictionSuffixes);
  arguments.requireDistinct({"outputs"}, {"inputs", "weights"});
  int64_t batchSize = arguments.integer("batch-size", 0, 1, INT32_MAX);
  if (!arguments.errors().empty())
    return console.usage("mpc-run predict", arguments.errors());

  Result<EntryRows> opened =
      openEntryRows(options, "predict", arguments.text("inputs"), data::Split::Evaluate, console);
  if (!opened)
    return console.fail(opened.failure());
  auto &[session, entry, data] = *opened;
  if (arguments.text("outputs") != "-")
    if (Status status = data::checkWritable(arguments.text("outputs")); !status)
      return console.fail(status.failure());
  int64_t fixed = session->fixedBatch(*entry);
  if (batchSize == 0)
    batchSize = fixed ? fixed : 32;
  console.doing("predicting in batches of " + std::to_string(batchSize) + " rows", runningAdvice);
  if (Status status = training::checkFixedBatch(fixed, batchSize, 0, data.path); !status)
    return console.fail(status.failure());
  const training::BoundedOutputs bounded(*session, *entry);
  if (Status status = bounded.checkRows(data.rows, batchSize, fixed); !status)
    return console.fail(status.failure());
  Result<std::vector<Array>> outputs =
      predictRows(*session, *entry, data, batchSize, bounded.areThere());
  if (!outputs)
    return console.fail(outputs.failure());
  std::vector<std::string> names = session->outputNames();
  if (bounded.areThere())
    if (outputs = bounded.cutAll(*outputs, names); !outputs)
      return console.fail(outputs.failure());

  Status status = writePrediction(arguments.text("outputs"), *outputs, names, console);
  return status ? Done : console.fail(status.failure());
}

} // namespace mpc::commands
