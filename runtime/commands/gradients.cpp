// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-run gradients: one forward and backward over all rows as one batch.
#include "runtime/commands/commands.h"
#include "runtime/commands/entry_rows.h"
#include "runtime/data/atomic_file.h"
#include "runtime/data/convert.h"
#include "runtime/data/npz.h"
#include "runtime/data/zip_writer.h"
#include "runtime/training/batcher.h"

#include <cstring>
#include <numeric>

namespace mpc::commands {

using data::Array;
using data::Failure;
using data::Result;
using data::Status;

int gradients(Arguments &arguments, Console &console) {
  training::SessionOptions options = sessionOptions(arguments);
  arguments.require("data", "D.npz");
  arguments.require("outputs", "G.npz");
  arguments.requireSuffix("outputs", {".npz"});
  arguments.requireDistinct({"outputs"}, {"data", "weights"});
  if (!arguments.errors().empty())
    return console.usage("mpc-run gradients", arguments.errors());

  Result<EntryRows> opened =
      openEntryRows(options, "gradients", arguments.text("data"), data::Split::Train, console);
  if (!opened)
    return console.fail(opened.failure());
  auto &[session, entry, data] = *opened;
  if (Status status = data::checkWritable(arguments.text("outputs")); !status)
    return console.fail(status.failure());
  Failure unnameable;
  for (uint32_t i = 0; i < entry->output_count; ++i)
    if (Status status = data::checkMemberName(arguments.text("outputs"),
                                              std::string(entry->outputs[i].name) + ".npy");
        !status)
      unnameable.append(status.failure());
  if (!unnameable.empty())
    return console.fail(unnameable);
  int64_t fixed = session->fixedBatch(*entry);
  if (fixed && data.rows != fixed)
    return console.fail(Failure(data.path + ": has " + std::to_string(data.rows) +
                                " rows; expected exactly the " + std::to_string(fixed) +
                                " that the model was compiled for; compile with --batch=dynamic"));
  std::vector<int64_t> rows(static_cast<size_t>(data.rows));
  std::iota(rows.begin(), rows.end(), 0);
  console.doing("computing gradients of " + std::to_string(data.rows) + " rows", readingAdvice);
  training::Batcher batcher(*session, *entry);
  if (Status status = batcher.run(data, rows); !status)
    return console.fail(status.failure());

  data::NamedArrays result;
  for (uint32_t i = 0; i < entry->output_count; ++i) {
    std::string name = entry->outputs[i].name;
    Array array = batcher.output(i);
    // Gradients are float32 whatever the variable's type; everything else keeps its own.
    if (name.compare(0, 5, "grad:") == 0 && array.dtype() != MPC_RT_FLOAT32) {
      Result<Array> single = data::convertArray(array, MPC_RT_FLOAT32, data::Conversion::Direct);
      if (!single)
        return console.fail(single.failure().within(session->path() + ":" + name));
      array = *single;
    }
    result.emplace(name, array);
  }
  if (Status status = data::writeNpz(arguments.text("outputs"), result); !status)
    return console.fail(status.failure());
  return Done;
}

} // namespace mpc::commands
