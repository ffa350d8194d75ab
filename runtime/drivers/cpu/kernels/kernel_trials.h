// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measuring which kernel is the fastest, and how long that may take.
#ifndef MPC_RUNTIME_DRIVERS_CPU_KERNELS_KERNEL_TRIALS_H
#define MPC_RUNTIME_DRIVERS_CPU_KERNELS_KERNEL_TRIALS_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace mpc::rt {

// The time that trials may take. Each product of a training of so many steps earns a share of the
// time that it will take, from which the trials of all products are paid.
class TrialAllowance {
public:
  // Without a bound.
  TrialAllowance() = default;
  explicit TrialAllowance(uint64_t steps) : isBounded(true), steps(static_cast<double>(steps)) {}

  // A product was met that takes so long in a step.
  void earn(double seconds) { left += share * steps * seconds; }
  void spend(double seconds) { left -= seconds; }
  bool covers(double seconds) const { return !isBounded || seconds <= left; }

private:
  // The goal of two per cent of a training's expected time.
  static constexpr double share = 0.02;
  bool isBounded = false;
  double steps = 0, left = 0;
};

double steadySeconds();

// Which of the calls, at least one, takes the least time. After a call each that makes plans and
// touches pages they take turns, so that what else the machine does meets all of them. The first
// one stays unless something is gained. Nothing where the allowance ends before each was measured.
// `clock` gives seconds.
std::optional<size_t> fastestOf(const std::vector<std::function<void()>> &calls,
                                TrialAllowance &allowance,
                                const std::function<double()> &clock = steadySeconds);

} // namespace mpc::rt

#endif
