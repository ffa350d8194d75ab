// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reports/step_reports.h"
#include "runtime/data/atomic_file.h"
#include "runtime/data/npz.h"
#include "runtime/reports/html_page.h"
#include "runtime/reports/value_report.h"
#include "runtime/training/rank_job.h"
#include "runtime/untrusted/outlets.h"

#include <cstdio>
#include <filesystem>
#include <set>

namespace mpc::reports {

using data::Failure;
using data::Result;
using data::Status;

/// Elements by the logarithm of their magnitudes: a bucket for each exponent.
static std::string histogramsOf(int64_t step, const std::vector<TracedValue> &values) {
  std::string records;
  std::set<std::string> taken;
  for (const TracedValue &value : values) {
    training::Histogram histogram;
    for (auto [exponent, count] : value.exponents) {
      if (histogram.buckets.empty())
        histogram.smallest = exponent;
      else if (histogram.buckets.back().limit < exponent)
        histogram.buckets.push_back({static_cast<double>(exponent), 0});
      histogram.largest = exponent + 1;
      histogram.buckets.push_back({histogram.largest, static_cast<double>(count)});
    }
    const std::string tag = "exponents/" + std::string(directionName(value.direction)) + "/" +
                            value.layer + "/" + value.op;
    if (!histogram.buckets.empty())
      records += training::histogramRecord(
          step, untrusted::makeDistinct(untrusted::forLine(tag), taken), histogram);
  }
  return records;
}

Result<std::unique_ptr<StepReports>> StepReports::open(training::Session &session,
                                                       const data::Dataset &data,
                                                       StepReportOptions options) {
  std::unique_ptr<StepReports> reports(new StepReports(session, data, std::move(options)));
  if (!reports->options_.withErrors)
    reports->watched_ = session.findEntry("watched_step");
  if (!reports->watched_) {
    Result<std::unique_ptr<TracedModel>> model = TracedModel::open(session, /*trains=*/true);
    if (!model)
      return model.failure();
    reports->model_ = std::move(*model);
  }
  const std::string &folder = reports->options_.folder;
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem)
    return Failure(folder + ": cannot be made: " + problem.message() +
                   "; expected a folder for reports");
  if (!reports->options_.tensorBoard.empty()) {
    reports->events_.emplace(reports->options_.tensorBoard);
    if (Status status = reports->events_->prepare(); !status)
      return status.failure();
  }
  return reports;
}

const mpc_rt_entry_info_t *StepReports::stepEntry(int64_t step) {
  return isDue(step) ? watched_ : nullptr;
}

Status StepReports::stepBegin(int64_t step, const std::vector<int64_t> &rows) {
  if (!isDue(step))
    return Status();
  mpc_rt_context_reset_traced(session_.context());
  if (model_) {
    if (options_.withElements)
      model_->keepElements();
    return model_->run(data_, rows);
  }
  const uint32_t bits =
      MPC_RT_TRACE_STATISTICS | (options_.withElements ? uint32_t{MPC_RT_TRACE_KEEP} : 0);
  if (mpc_rt_status_t status = mpc_rt_context_trace(session_.context(), bits))
    return session_.runtimeFailure(status);
  return Status();
}

Status StepReports::stepRan(int64_t step, const std::vector<int64_t> &rows) {
  if (!isDue(step))
    return Status();
  mpc_rt_context_trace(session_.context(), 0);
  if (options_.withElements)
    if (Status status = data::writeNpz(fileOf(step, ".npz"), tracedElements(session_)); !status)
      return status;
  if (Status status = writing_.wait(); !status) // the report before this one
    return status;
  const auto [rank, ranks] = session_.place();
  const size_t own = training::rowsOfRank(rows, rank, ranks).size();
  writing_.start([this, step, own, values = tracedValues(session_)]() mutable {
    return write(step, static_cast<int64_t>(own), std::move(values));
  });
  return Status();
}

std::string StepReports::fileOf(int64_t step, const char *suffix) const {
  char name[32];
  std::snprintf(name, sizeof name, "/step-%012lld", static_cast<long long>(step));
  return options_.folder + name + suffix;
}

Status StepReports::write(int64_t step, int64_t rows, std::vector<TracedValue> values) {
  if (Status status =
          data::writeFileAtomically(fileOf(step, ".json"), writeReport(values, /*steps=*/1, rows),
                                    /*isDurable=*/false);
      !status)
    return status;
  if (events_)
    if (Status status = events_->append(histogramsOf(step, values)); !status)
      return status;
  if (!options_.page.empty()) {
    history_.add(step, values);
    last_ = std::move(values);
  }
  return Status();
}

Status StepReports::finish() {
  if (Status status = writing_.wait(); !status || options_.page.empty())
    return status;
  return data::writeFileAtomically(
      options_.page, writePage("Numbers of a training of " + session_.path(), last_, &history_));
}

} // namespace mpc::reports
