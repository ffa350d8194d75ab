// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-run evaluate: loss and metrics over all rows.
#include "runtime/commands/commands.h"
#include "runtime/commands/entry_rows.h"
#include "runtime/training/epoch_log.h"
#include "runtime/untrusted/outlets.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace mpc::commands {

using data::Result;
using data::Status;

static std::string asJson(const std::vector<training::Measurement> &measurements) {
  auto number = [](double value) -> nlohmann::ordered_json {
    if (std::isfinite(value))
      return value;
    return training::formatReal(value);
  };
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const training::Measurement &measurement : measurements) {
    if (!measurement.isVector) {
      json[measurement.name] = number(measurement.values[0]);
      continue;
    }
    json[measurement.name] = nlohmann::ordered_json::array();
    for (double value : measurement.values)
      json[measurement.name].push_back(number(value));
  }
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

int evaluate(Arguments &arguments, Console &console) {
  training::SessionOptions options = sessionOptions(arguments);
  arguments.require("data", "D");
  int64_t batchSize = arguments.integer("batch-size", 0, 1, INT32_MAX);
  if (!arguments.errors().empty())
    return console.usage("mpc-run evaluate", arguments.errors());

  Result<EntryRows> opened =
      openEntryRows(options, "evaluate", arguments.text("data"), data::Split::Evaluate, console);
  if (!opened)
    return console.fail(opened.failure());
  auto &[session, entry, data] = *opened;
  int64_t fixed = session->fixedBatch(*entry);
  if (batchSize == 0)
    batchSize = fixed ? fixed : 32;
  console.doing("evaluating in batches of " + std::to_string(batchSize) + " rows", runningAdvice);
  if (Status status = training::checkFixedBatch(fixed, batchSize, data.rows, data.path); !status)
    return console.fail(status.failure());
  training::Batcher batcher(*session, *entry);
  Result<std::vector<training::Measurement>> results =
      training::evaluateRows(*session, batcher, data, batchSize);
  if (!results)
    return console.fail(results.failure());
  std::string line;
  for (const auto &[name, value] : training::asLogs(*results))
    line +=
        (line.empty() ? "" : "  ") + untrusted::forLine(name) + " " + training::formatShort(value);
  console.print(line);
  return arguments.has("json") ? console.json(asJson(*results)) : Done;
}

} // namespace mpc::commands
