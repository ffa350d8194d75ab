// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/drivers/cpu/kernels/kernel_trials.h"

#include <algorithm>
#include <chrono>
#include <limits>

namespace mpc::rt {
namespace {

constexpr int fewestTurns = 3, mostTurns = 100;
constexpr double enoughSeconds = 0.005, worthwhile = 0.97;

// The trials of one product.
class Trials {
public:
  Trials(const std::vector<std::function<void()>> &calls, TrialAllowance &allowance,
         const std::function<double()> &clock)
      : calls(calls), allowance(allowance), clock(clock),
        least(calls.size(), std::numeric_limits<double>::infinity()) {}

  // The product would make the plan of the first call anyway, and pays no share for that. Another
  // call says what a turn will cost.
  bool begin() {
    calls[0]();
    measure(0);
    allowance.earn(least[0]);
    const auto others = static_cast<double>(calls.size() - 1);
    if (!allowance.covers(2 * others * least[0]))
      return false;
    for (size_t i = 1; i < calls.size(); ++i)
      allowance.spend(secondsOf(calls[i]));
    return true;
  }
  void takeTurns() {
    const double enough = enoughSeconds * static_cast<double>(calls.size());
    for (int turn = 0; turn < fewestTurns || (turn < mostTurns && total < enough); ++turn) {
      // One turn is owed to those that the first calls made.
      if (turn > 0 && !allowance.covers(lastTurn))
        return;
      const double before = total;
      for (size_t i = 0; i < calls.size(); ++i)
        measure(i);
      lastTurn = total - before;
    }
  }
  size_t fastest() const {
    const auto found = std::min_element(least.begin(), least.end());
    return *found < worthwhile * least[0] ? static_cast<size_t>(found - least.begin()) : 0;
  }

private:
  double secondsOf(const std::function<void()> &call) const {
    const double start = clock();
    call();
    return clock() - start;
  }
  void measure(size_t i) {
    const double seconds = secondsOf(calls[i]);
    least[i] = std::min(least[i], seconds);
    total += seconds;
    allowance.spend(seconds);
  }

  const std::vector<std::function<void()>> &calls;
  TrialAllowance &allowance;
  const std::function<double()> &clock;
  std::vector<double> least; // seconds of each call
  double total = 0, lastTurn = 0;
};

} // namespace

double steadySeconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::optional<size_t> fastestOf(const std::vector<std::function<void()>> &calls,
                                TrialAllowance &allowance, const std::function<double()> &clock) {
  Trials trials(calls, allowance, clock);
  if (!trials.begin())
    return std::nullopt;
  trials.takeTurns();
  return trials.fastest();
}

} // namespace mpc::rt
