// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Comparison: two compiled forms of one model on the same rows and weights, value by value.
#ifndef MPC_RUNTIME_REPORTS_COMPARISON_H
#define MPC_RUNTIME_REPORTS_COMPARISON_H

#include "runtime/reports/traced_model.h"

namespace mpc::reports {

/// A value of the second model against that of the first one, which stands in `counts` as the kept
/// one.
struct ComparedValue {
  TracedValue value;
  std::string dtypeOfFirst;
  /// The cosine of the angle between both; 1 where both are 0.
  double cosine() const;
};

/// Gives the second model the variables that both have under one name: model, optimizer and random
/// state. A Failure where they are no forms of one model.
data::Status copyVariables(training::Session &from, training::Session &to);

/// Runs these rows by both. Values are matched by layer, op and direction; casts are not, because
/// policies differ in them. In the order of execution.
data::Result<std::vector<ComparedValue>> compareValues(training::Session &first,
                                                       training::Session &second, bool trains,
                                                       const data::Dataset &data,
                                                       const std::vector<int64_t> &rows);

} // namespace mpc::reports
#endif
