// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// StepReports: statistics of every N-th step of a training, as files.
#ifndef MPC_RUNTIME_REPORTS_STEP_REPORTS_H
#define MPC_RUNTIME_REPORTS_STEP_REPORTS_H

#include "runtime/reports/traced_model.h"
#include "runtime/training/callback.h"

namespace mpc::reports {

/// Writes `folder`/step-000000000012.json before the step of that number (from 0), of its rows.
class StepReports : public training::Callback {
public:
  static data::Result<std::unique_ptr<StepReports>>
  open(training::Session &session, const data::Dataset &data, std::string folder, int64_t every);
  data::Status stepBegin(int64_t step, const std::vector<int64_t> &rows) override;

private:
  StepReports(std::unique_ptr<TracedModel> model, training::RankPlace place,
              const data::Dataset &data, std::string folder, int64_t every)
      : model_(std::move(model)), place_(place), data_(data), folder_(std::move(folder)),
        every_(every) {}
  std::unique_ptr<TracedModel> model_;
  training::RankPlace place_; ///< whose rows of a batch are reported
  const data::Dataset &data_;
  std::string folder_;
  int64_t every_;
};

} // namespace mpc::reports
#endif
