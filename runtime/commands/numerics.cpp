// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// mpc-run numerics: what a model's values are, and which one is at fault.
#include "runtime/commands/commands.h"
#include "runtime/commands/entry_rows.h"
#include "runtime/data/atomic_file.h"
#include "runtime/data/npz.h"
#include "runtime/reports/blame.h"
#include "runtime/reports/html_page.h"
#include "runtime/untrusted/outlets.h"

#include <algorithm>

namespace mpc::commands {

using data::Failure;
using data::Result;
using data::Status;
using reports::Blame;
using reports::TracedModel;

namespace {

struct NumericsOptions {
  training::SessionOptions session;
  std::string data, out, html, dump;
  int64_t batchSize = 0, steps = 0; // 0: by default
  bool blames = false, predicts = false, json = false;
};

/// Goes through the data step by step; a model that trains is trained.
class Walk {
public:
  Walk(const NumericsOptions &options, training::Session &session, const data::Dataset &data,
       TracedModel &model, const mpc_rt_entry_info_t *step)
      : options_(options), session_(session), data_(data), model_(model) {
    if (step)
      step_.emplace(session, *step);
  }

  /// The rows of a step; none behind the last one.
  std::vector<int64_t> rowsOf(int64_t step) const {
    const int64_t batch = options_.batchSize, first = step * batch;
    std::vector<int64_t> rows;
    const bool goesAround = options_.steps > 0;
    if (goesAround && step >= options_.steps)
      return rows;
    for (int64_t j = 0; j < batch && (goesAround || first + j < data_.rows); ++j)
      rows.push_back((first + j) % data_.rows);
    return rows;
  }

  /// Statistics of all steps.
  Status trace() {
    model_.reset();
    for (std::vector<int64_t> rows = rowsOf(0); !rows.empty(); rows = rowsOf(steps_)) {
      if (Status status = model_.run(data_, rows); !status)
        return status;
      seen_ += static_cast<int64_t>(rows.size());
      if (Status status = advance(rows); !status)
        return status;
    }
    return Status();
  }

  /// The first fault.
  Result<std::optional<Blame>> blame() {
    for (std::vector<int64_t> rows = rowsOf(0); !rows.empty(); rows = rowsOf(steps_)) {
      Result<std::optional<Blame>> found =
          reports::blameStep(session_, model_, data_, rows, steps_);
      if (!found || *found)
        return found;
      if (Status status = advance(rows); !status)
        return status.failure();
    }
    return std::optional<Blame>();
  }

  int64_t steps() const { return steps_; }
  int64_t rows() const { return seen_; }

private:
  Status advance(const std::vector<int64_t> &rows) {
    ++steps_;
    // Behind the last step nobody looks at the weights.
    return step_ && !rowsOf(steps_).empty() ? step_->run(data_, rows) : Status();
  }

  const NumericsOptions &options_;
  training::Session &session_;
  const data::Dataset &data_;
  TracedModel &model_;
  std::optional<training::Batcher> step_;
  int64_t steps_ = 0, seen_ = 0;
};

/// The worst of the statistics, for people.
std::string summarize(const std::vector<reports::TracedValue> &values, const Walk &walk) {
  size_t broken = 0, near = 0;
  for (const reports::TracedValue &value : values) {
    broken += !value.isFinite();
    const std::optional<double> headroom = reports::headroomOf(value);
    near += headroom && *headroom < 1;
  }
  return std::to_string(values.size()) + " values over " + std::to_string(walk.steps()) +
         " steps: " + std::to_string(broken) + " with elements that are not finite, " +
         std::to_string(near) + " less than one bit below the format's largest number";
}

NumericsOptions readOptions(Arguments &arguments) {
  NumericsOptions options;
  options.session = sessionOptions(arguments);
  arguments.require("data", "D");
  options.data = arguments.text("data");
  options.out = arguments.text("out");
  options.html = arguments.text("html");
  options.dump = arguments.text("dump");
  arguments.requireSuffix("dump", {".npz"});
  arguments.requireSuffix("out", {".json"});
  arguments.requireSuffix("html", {".html", ".htm"});
  arguments.requireDistinct({"out", "html", "dump"}, {"data", "weights"});
  options.batchSize = arguments.integer("batch-size", 0, 1, INT32_MAX);
  options.steps = arguments.integer("steps", 0, 1, INT32_MAX);
  options.blames = arguments.has("blame");
  options.predicts = arguments.has("predict");
  options.json = arguments.has("json");
  if (options.blames && !options.out.empty())
    arguments.fault("--out takes statistics of all steps, which --blame does not make; leave it "
                    "out, or write a page of the step by --html");
  return options;
}

int report(const NumericsOptions &options, Walk &walk, TracedModel &model, Console &console) {
  if (options.blames) {
    Result<std::optional<Blame>> blame = walk.blame();
    if (!blame)
      return console.fail(blame.failure());
    console.print(untrusted::forLine(reports::asText(*blame)));
    // Behind the fault, and without one behind the last step, these are the values of that step.
    if (!options.html.empty())
      if (Status status = data::writeFileAtomically(
              options.html, reports::writePage("Blame in " + options.session.library,
                                               *blame ? (*blame)->values : model.values(), nullptr,
                                               reports::asText(*blame)));
          !status)
        return console.fail(status.failure());
    return options.json
               ? console.json(reports::asJson(*blame).dump(
                                  -1, ' ', false, nlohmann::json::error_handler_t::replace) +
                              "\n")
               : Done;
  }
  if (!options.dump.empty())
    model.keepElements();
  if (Status status = walk.trace(); !status)
    return console.fail(status.failure());
  const std::vector<reports::TracedValue> values = model.values();
  console.print(summarize(values, walk));
  const std::string text = reports::writeReport(values, walk.steps(), walk.rows());
  if (!options.out.empty())
    if (Status status = data::writeFileAtomically(options.out, text); !status)
      return console.fail(status.failure());
  if (!options.html.empty())
    if (Status status = data::writeFileAtomically(
            options.html, reports::writePage("Numbers of " + options.session.library, values));
        !status)
      return console.fail(status.failure());
  if (!options.dump.empty())
    if (Status status = data::writeNpz(options.dump, model.elements()); !status)
      return console.fail(status.failure());
  return options.json ? console.json(text) : Done;
}

} // namespace

int numerics(Arguments &arguments, Console &console) {
  NumericsOptions options = readOptions(arguments);
  if (!arguments.errors().empty())
    return console.usage("mpc-run numerics", arguments.errors());
  for (const std::string *file : {&options.out, &options.html, &options.dump})
    if (!file->empty())
      if (Status status = data::checkWritable(*file); !status)
        return console.fail(status.failure());
  if (!options.predicts) {
    Result<std::unique_ptr<training::Session>> tables =
        training::Session::openTables(options.session.library);
    if (!tables)
      return console.fail(tables.failure());
    options.predicts = !(*tables)->findEntry("train_step");
  }
  Result<EntryRows> opened =
      openEntryRows(options.session, options.predicts ? "predict" : "train_step", options.data,
                    data::Split::Train, console);
  if (!opened)
    return console.fail(opened.failure());
  auto &[session, entry, data] = *opened;
  Result<std::unique_ptr<TracedModel>> model = TracedModel::open(*session, !options.predicts);
  if (!model)
    return console.fail(model.failure());
  if (!(*model)->hasTwin())
    console.warn(session->path() + ": has no twin in float32, so that errors are not known");
  const int64_t fixed = session->fixedBatch(*entry);
  if (options.batchSize == 0)
    options.batchSize = fixed ? fixed : 32;
  if (Status status = training::checkFixedBatch(fixed, options.batchSize, data.rows, data.path);
      !status)
    return console.fail(status.failure());
  console.doing("looking at values in batches of " + std::to_string(options.batchSize) + " rows",
                runningAdvice);
  Walk walk(options, *session, data, **model, options.predicts ? nullptr : entry);
  return report(options, walk, **model, console);
}

} // namespace mpc::commands
