// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-run tune: measures which kernels are the fastest here, for other runs and other machines of
// the kind.
#include "commands/bench_steps.h"
#include "commands/commands.h"
#include "data/atomic_file.h"
#include "mpc-rt/tuning.h"
#include "training/tuning.h"

#include <set>
#include <sstream>

namespace mpc::commands {

using data::Failure;
using data::Result;
using data::Status;

namespace {

/// Choices of contexts with one model. The first one's stay where two chose for one product.
class MergedChoices {
public:
  void add(const std::string &choices) {
    std::istringstream lines(choices);
    for (std::string line; std::getline(lines, line);)
      if (products_.insert(line.substr(0, line.rfind(' '))).second)
        text_ += line + "\n";
  }
  const std::string &text() const { return text_; }

private:
  std::set<std::string> products_;
  std::string text_;
};

} // namespace

int tune(Arguments &arguments, Console &console) {
  BenchOptions options;
  options.session = sessionOptions(arguments);
  options.session.tuning.way = training::TuningOptions::Way::measure;
  options.batchSize = arguments.integer("batch-size", 0, 1, INT32_MAX);
  options.data = arguments.text("data");
  options.warmup = 1; // the step that measures
  arguments.require("out", "FILE");
  arguments.requireSuffix("out", {".json"});
  arguments.requireDistinct({"out"}, {"data", "weights"});
  if (!arguments.errors().empty())
    return console.usage("mpc-run tune", arguments.errors());
  const std::string out = arguments.text("out");
  if (Status status = data::checkWritable(out); !status)
    return console.fail(status.failure());

  MergedChoices choices;
  const auto measure = [&]() -> Result<std::unique_ptr<BenchSteps>> {
    console.doing("measuring kernels of " + options.session.library, runningAdvice);
    Result<std::unique_ptr<BenchSteps>> steps = BenchSteps::open(options);
    if (!steps)
      return steps;
    const std::string found = mpc_rt_context_kernel_choices((*steps)->session().context());
    choices.add(found);
    console.note(std::string((*steps)->mode()) + ", batch " +
                 std::to_string((*steps)->batchSize()) + ": " +
                 (found.empty() ? "no product here has kernels to choose from"
                                : "of the products, " + training::summarizeChoices(found)));
    return steps;
  };
  Result<std::unique_ptr<BenchSteps>> steps = measure();
  options.predict = true;
  if (steps && (*steps)->trains() && (*steps)->session().findEntry("predict"))
    steps = measure();
  if (!steps)
    return console.fail(steps.failure());
  Status status =
      training::writeTuning(out, (*steps)->session(), (*steps)->batchSize(), choices.text());
  return status ? Done : console.fail(status.failure());
}

} // namespace mpc::commands
