// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-run bench: step times.
#include "commands/bench_steps.h"
#include "commands/commands.h"
#include "commands/progress_line.h"
#include "runtime/untrusted/outlets.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

namespace mpc::commands {

using data::Result;

static BenchOptions benchOptions(Arguments &arguments) {
  BenchOptions options;
  options.session = sessionOptions(arguments);
  options.batchSize = arguments.integer("batch-size", 0, 1, INT32_MAX);
  options.steps = arguments.integer("steps", 20, 1, INT32_MAX);
  options.warmup = arguments.integer("warmup", 3, 0, INT32_MAX);
  options.train = arguments.has("train");
  options.predict = arguments.has("predict");
  options.serve = arguments.has("serve");
  options.json = arguments.has("json");
  options.kernels = arguments.has("kernels");
  options.memory = arguments.has("memory");
  options.data = arguments.text("data");
  if (options.train && options.predict)
    arguments.fault("--train and --predict exclude each other");
  return options;
}

int bench(Arguments &arguments, Console &console) {
  BenchOptions options = benchOptions(arguments);
  if (!arguments.errors().empty())
    return console.usage("mpc-run bench", arguments.errors());
  console.doing("preparing steps of " + options.session.library, runningAdvice);
  Result<std::unique_ptr<BenchSteps>> steps = BenchSteps::open(options);
  if (!steps)
    return console.fail(steps.failure());
  if (options.serve)
    return serveSteps(**steps, stdin, console);

  std::vector<double> times;
  for (int64_t i = 0; i < options.steps; ++i) {
    Result<double> time = (*steps)->step();
    if (!time)
      return console.fail(time.failure());
    times.push_back(*time);
  }
  std::sort(times.begin(), times.end());
  size_t middle = times.size() / 2;
  double median = times.size() % 2 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
  double rate = static_cast<double>((*steps)->batchSize()) / median * 1e3;
  std::fprintf(
      console.err(),
      "%s, batch %lld, %lld steps: %s min, %s median, %s max, %s samples/s, %.1f MB planned, "
      "%.1f MB peak\n",
      (*steps)->mode(), static_cast<long long>((*steps)->batchSize()),
      static_cast<long long>(options.steps), formatDuration(times.front() / 1e3).c_str(),
      formatDuration(median / 1e3).c_str(), formatDuration(times.back() / 1e3).c_str(),
      formatCount(rate).c_str(), static_cast<double>((*steps)->plan().total()) / 1e6,
      static_cast<double>(training::peakBytes()) / 1e6);
  if (options.memory)
    console.print("memory: " + training::describe((*steps)->plan()));
  if (options.kernels)
    std::fprintf(console.err(), "%s", untrusted::forTerminal((*steps)->usedKernels()).c_str());
  if (!options.json)
    return Done;
  nlohmann::ordered_json json = nlohmann::ordered_json::parse((*steps)->describe());
  json["steps"] = options.steps;
  json["ms_min"] = times.front();
  json["ms_median"] = median;
  json["ms_max"] = times.back();
  json["samples_per_second"] = rate;
  if (options.kernels) {
    json["used_kernels"] = nlohmann::json::array();
    std::istringstream lines((*steps)->usedKernels());
    for (std::string line; std::getline(lines, line);)
      json["used_kernels"].push_back(line);
  }
  if (std::optional<float> loss = (*steps)->loss())
    json["loss"] = *loss;
  return console.json(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

} // namespace mpc::commands
