// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reports/step_history.h"

#include <algorithm>

namespace mpc::reports {

void StepHistory::add(int64_t step, const std::vector<TracedValue> &values) {
  if (seen_++ % every_ != 0)
    return;
  if (steps_.size() == mostSteps) {
    halve();
    every_ *= 2;
    if ((seen_ - 1) % every_ != 0)
      return;
  }
  steps_.push_back(step);
  for (const TracedValue &value : values) {
    std::vector<Bars> &bars = layers_[value.layer];
    bars.resize(steps_.size());
    for (auto [exponent, count] : value.exponents)
      bars.back()[static_cast<size_t>(std::clamp(exponent, firstExponent, lastExponent) -
                                      firstExponent) /
                  2] += count;
  }
  for (auto &layer : layers_)
    layer.second.resize(steps_.size()); // one that reported nothing
}

template <typename Element> static void dropEverySecond(std::vector<Element> &elements) {
  for (size_t i = 0; 2 * i < elements.size(); ++i)
    elements[i] = elements[2 * i];
  elements.resize((elements.size() + 1) / 2);
}

void StepHistory::halve() {
  dropEverySecond(steps_);
  for (auto &layer : layers_)
    dropEverySecond(layer.second);
}

const std::vector<StepHistory::Bars> *StepHistory::find(const std::string &layer) const {
  const auto found = layers_.find(layer);
  return found == layers_.end() ? nullptr : &found->second;
}

} // namespace mpc::reports
