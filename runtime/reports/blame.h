// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blame: looks for the first fault in steps of training, or in batches of inference.
#ifndef MPC_RUNTIME_REPORTS_BLAME_H
#define MPC_RUNTIME_REPORTS_BLAME_H

#include "runtime/reports/fault.h"
#include "runtime/reports/value_report.h"

namespace mpc::reports {

/// A fault, and the values of the step in which it was found.
struct Blame {
  Fault fault;
  std::vector<TracedValue> values;
  int64_t step = 0;          ///< from 0
  std::vector<int64_t> rows; ///< of the data; none where all are at fault
  bool hasLossScale = false;

  const TracedValue &value() const { return values[fault.value]; }
};

/// Judges the model's next step on these rows. Changes no variable. Gradients that are finite with
/// half of a dynamic loss scale are no fault: so it finds its place.
data::Result<std::optional<Blame>> blameStep(training::Session &session, TracedModel &model,
                                             const data::Dataset &data,
                                             const std::vector<int64_t> &rows, int64_t step);

/// As `mpc-run numerics --blame` prints it.
Json asJson(const std::optional<Blame> &blame);
std::string asText(const std::optional<Blame> &blame);

} // namespace mpc::reports
#endif
