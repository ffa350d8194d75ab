// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reports/step_reports.h"
#include "runtime/data/atomic_file.h"
#include "runtime/reports/value_report.h"
#include "runtime/training/rank_job.h"

#include <cstdio>
#include <filesystem>

namespace mpc::reports {

using data::Failure;
using data::Result;
using data::Status;

Result<std::unique_ptr<StepReports>> StepReports::open(training::Session &session,
                                                       const data::Dataset &data,
                                                       std::string folder, int64_t every) {
  Result<std::unique_ptr<TracedModel>> model = TracedModel::open(session, /*trains=*/true);
  if (!model)
    return model.failure();
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem)
    return Failure(folder + ": cannot be made: " + problem.message() +
                   "; expected a folder for reports");
  return std::unique_ptr<StepReports>(
      new StepReports(std::move(*model), session.place(), data, std::move(folder), every));
}

Status StepReports::stepBegin(int64_t step, const std::vector<int64_t> &rows) {
  if (step % every_ != 0)
    return Status();
  model_->reset();
  if (Status status = model_->run(data_, rows); !status)
    return status;
  char name[32];
  std::snprintf(name, sizeof name, "step-%012lld.json", static_cast<long long>(step));
  const size_t own = training::rowsOfRank(rows, place_.rank, place_.ranks).size();
  return data::writeFileAtomically(
      folder_ + "/" + name, writeReport(model_->values(), /*steps=*/1, static_cast<int64_t>(own)));
}

} // namespace mpc::reports
