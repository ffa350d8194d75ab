// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// `mpc-run bench --serve`: the protocol by which a harness interleaves several programs.
#include "runtime/commands/arguments.h"
#include "runtime/commands/bench_steps.h"
#include "runtime/commands/console.h"

#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

namespace mpc::commands {

/// The next line of `in` without its end; false at the end of the input.
static bool readLine(FILE *in, std::string &line) {
  constexpr size_t most = 4096;
  line.clear();
  int character;
  while ((character = std::fgetc(in)) != EOF && character != '\n')
    if (line.size() < most)
      line += static_cast<char>(character);
  if (!line.empty() && line.back() == '\r')
    line.pop_back();
  return character != EOF || !line.empty();
}

int serveSteps(BenchSteps &steps, FILE *in, Console &console) {
  if (int code = console.json("READY " + steps.describe() + "\n"))
    return code;
  std::string line;
  bool asked = false;
  while (!asked && readLine(in, line)) {
    if (line.empty())
      continue;
    if (line == "quit") {
      asked = true;
      continue;
    }
    std::optional<int64_t> count;
    if (line.compare(0, 3, "go ") == 0)
      count = parseInteger(line.substr(3));
    if (!count || *count < 1)
      return console.fail(data::Failure("standard input: '" + line.substr(0, 80) +
                                        "'; expected `go N` with N of at least 1, or `quit`"));
    nlohmann::json times = nlohmann::json::array();
    for (int64_t i = 0; i < *count; ++i) {
      data::Result<double> time = steps.step();
      if (!time)
        return console.fail(time.failure());
      times.push_back(*time);
    }
    if (int code = console.json("TIMES " + times.dump() + "\n"))
      return code;
  }
  auto done = nlohmann::ordered_json::object();
  if (std::optional<float> loss = steps.loss()) {
    if (std::isfinite(*loss))
      done["loss"] = *loss;
    else
      done["loss"] = std::isnan(*loss) ? "nan" : *loss > 0 ? "inf" : "-inf";
  } else {
    done["loss"] = nullptr;
  }
  done["bytes_planned"] = steps.plan().total();
  done["bytes_peak"] = training::peakBytes();
  return console.json("DONE " + done.dump() + "\n");
}

} // namespace mpc::commands
