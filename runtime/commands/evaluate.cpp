// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-run evaluate: loss and metrics over all rows.
#include "commands/commands.h"
#include "training/epoch_log.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace mpc::commands {

using data::Result;
using data::Status;
using training::Session;

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

  Result<std::unique_ptr<Session>> session = Session::open(options);
  if (!session)
    return console.fail(session.failure());
  console.notes((*session)->notes());
  Result<const mpc_rt_entry_info_t *> entry = (*session)->requireEntry("evaluate");
  if (!entry)
    return console.fail(entry.failure());
  Result<data::Source> source = data::readSource(arguments.text("data"), data::Split::Evaluate);
  if (!source)
    return console.fail(source.failure());
  Result<data::Dataset> data = data::bindSource(*source, (*session)->signature(**entry), true);
  if (!data)
    return console.fail(data.failure());
  console.notes(data->notes);
  int64_t fixed = (*session)->fixedBatch(**entry);
  if (batchSize == 0)
    batchSize = fixed ? fixed : 32;
  if (Status status = training::checkFixedBatch(fixed, batchSize, data->rows, data->path); !status)
    return console.fail(status.failure());
  training::Batcher batcher(**session, **entry);
  Result<std::vector<training::Measurement>> results =
      training::evaluateRows(**session, batcher, *data, batchSize);
  if (!results)
    return console.fail(results.failure());
  std::string line;
  for (const auto &[name, value] : training::asLogs(*results))
    line += (line.empty() ? "" : "  ") + name + " " + training::formatShort(value);
  std::fprintf(console.err(), "%s\n", line.c_str());
  if (arguments.has("json") && !console.data(asJson(*results)))
    return console.fail(data::Failure("standard output: cannot be written"));
  return Done;
}

} // namespace mpc::commands
