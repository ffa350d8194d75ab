// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// StepHistory: how the exponents of each layer change over a training.
#ifndef MPC_RUNTIME_REPORTS_STEP_HISTORY_H
#define MPC_RUNTIME_REPORTS_STEP_HISTORY_H

#include "runtime/reports/traced_model.h"

#include <array>
#include <map>

namespace mpc::reports {

/// Steps that are looked at, thinned out evenly as they become many.
class StepHistory {
public:
  static constexpr size_t mostSteps = 32;
  /// Elements with two neighbouring exponents, from 2^-40 on; what is beyond counts at the ends.
  static constexpr int firstExponent = -40, lastExponent = 25;
  using Bars = std::array<uint64_t, (lastExponent - firstExponent + 1) / 2>;

  void add(int64_t step, const std::vector<TracedValue> &values);

  const std::vector<int64_t> &steps() const { return steps_; }
  /// A layer has bars for each of steps(); null where it is not known.
  const std::vector<Bars> *find(const std::string &layer) const;

private:
  void halve();

  std::vector<int64_t> steps_;
  std::map<std::string, std::vector<Bars>> layers_;
  uint64_t seen_ = 0, every_ = 1; ///< of the steps that are looked at
};

} // namespace mpc::reports
#endif
