// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reports/fault.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace mpc::reports {
namespace {

// The shares of a value that must be lost before it counts as lost: of its elements, and of the sum
// of their squares. Training goes on with what is left of its updates, so that nearly all of an
// update must be lost.
struct Lost {
  double elements, squares;
};
constexpr Lost mostOfValue = {0.5, 0.5}, mostOfUpdate = {0.95, 0.9};
// A value of which a rounding error in the weights changes so much has no digits of its own.
constexpr double noiseLimit = 0.25;
// Errors of operands that a cancellation is not inherited from.
constexpr double smallError = 0.02;

class FaultFinder {
public:
  FaultFinder(const std::vector<TracedValue> &values, const NoiseSource &noise)
      : values(values), noiseSource(noise) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].slot >= bySlot.size())
        bySlot.resize(values[i].slot + 1, SIZE_MAX);
      bySlot[values[i].slot] = i;
    }
  }

  std::optional<Fault> find() {
    for (size_t i = 0; i < values.size(); ++i)
      if (std::optional<FaultKind> kind = judge(values[i]))
        return Fault{*kind, i, findAbsorber(i)};
    return std::nullopt;
  }

private:
  template <typename Predicate>
  bool anySource(const TracedValue &value, Predicate predicate) const {
    return std::any_of(value.sources.begin(), value.sources.end(), [&](uint32_t slot) {
      return slot < bySlot.size() && bySlot[slot] != SIZE_MAX && predicate(values[bySlot[slot]]);
    });
  }

  /// Ops that hand elements of constants on: infinities that a mask is made of.
  static bool selects(const TracedValue &value) {
    static const char *const names[] = {"select", "maximum", "minimum", "pad", "concatenate"};
    return std::any_of(std::begin(names), std::end(names),
                       [&](const char *name) { return value.op == name; });
  }
  /// Ops that are infinite or NaN where an operand is 0.
  static bool hasPole(const TracedValue &value) {
    static const char *const names[] = {"divide", "rsqrt", "log", "power"};
    return std::any_of(std::begin(names), std::end(names),
                       [&](const char *name) { return value.op == name; });
  }

  std::optional<FaultKind> judge(const TracedValue &value) {
    if (isBroken(value)) {
      if (hasPole(value) && !value.sources.empty()) {
        const uint32_t slot = value.sources.back();
        if (slot < bySlot.size() && bySlot[slot] != SIZE_MAX &&
            values[bySlot[slot]].counts.zero > 0)
          return FaultKind::Division;
      }
      return isNew(value, &mpc_rt_traced_value_t::infinite, &mpc_rt_traced_value_t::overflowed)
                 ? FaultKind::Overflow
                 : FaultKind::NotANumber;
    }
    // Operands with all of their digits may leave nothing at all where they cancel each other.
    const bool cancels = isCancelled(value);
    if ((cancels || isLost(value)) && !isNoise(value))
      return cancels ? FaultKind::Cancellation : FaultKind::Underflow;
    return std::nullopt;
  }

  /// Whether there are such elements, and the twin has none there or no operand has any.
  bool isNew(const TracedValue &value, uint64_t mpc_rt_traced_value_t::*count,
             uint64_t mpc_rt_traced_value_t::*unlikeTwin) const {
    if (value.counts.*unlikeTwin > 0)
      return true;
    return value.counts.*count > 0 && !selects(value) &&
           !anySource(value, [](const TracedValue &source) { return !source.isFinite(); });
  }
  bool isBroken(const TracedValue &value) const {
    return isNew(value, &mpc_rt_traced_value_t::infinite, &mpc_rt_traced_value_t::overflowed) ||
           isNew(value, &mpc_rt_traced_value_t::nan, &mpc_rt_traced_value_t::invalid);
  }

  static bool isLost(const TracedValue &value) {
    const auto lost = static_cast<double>(value.counts.lost);
    const auto left = static_cast<double>(value.counts.count - value.counts.zero);
    const Lost &most = value.direction == MPC_RT_TRACE_OPTIMIZER ? mostOfUpdate : mostOfValue;
    return lost > 0 && lost >= most.elements * (lost + left) &&
           value.counts.sum_of_squared_errors >= most.squares * value.counts.kept_sum_of_squares;
  }

  bool isCancelled(const TracedValue &value) const {
    static const char *const names[] = {"subtract", "add", "reduce", "moments"};
    return value.direction == MPC_RT_TRACE_FORWARD && value.wasCompared() &&
           std::any_of(std::begin(names), std::end(names),
                       [&](const char *name) { return value.op == name; }) &&
           value.counts.sum_of_squared_errors >= value.counts.kept_sum_of_squares &&
           value.counts.sum_of_squared_errors > 0 &&
           !anySource(value, [](const TracedValue &source) {
             return source.relativeError() > smallError;
           });
  }

  bool isNoise(const TracedValue &value) {
    if (!knowsNoise) {
      noise = noiseSource();
      knowsNoise = true;
    }
    return value.slot < noise.size() && noise[value.slot] > noiseLimit;
  }

  /// Whether a value that a fault reaches shows it.
  bool shows(const TracedValue &value, FaultKind kind) const {
    return kind == FaultKind::Underflow || kind == FaultKind::Cancellation
               ? value.relativeError() >= mostOfValue.squares
               : value.counts.overflowed > 0 || value.counts.invalid > 0 || !value.isFinite();
  }

  std::optional<size_t> findAbsorber(size_t first) const {
    const TracedValue &fault = values[first];
    const FaultKind kind = isBroken(fault) ? FaultKind::Overflow : FaultKind::Underflow;
    std::vector<bool> reached(values.size()), isRead(values.size());
    reached[first] = true;
    std::optional<size_t> absorber;
    for (size_t i = first + 1; i < values.size(); ++i) {
      if (values[i].direction != fault.direction)
        continue;
      bool readsFault = false;
      for (uint32_t slot : values[i].sources)
        if (slot < bySlot.size() && bySlot[slot] < i) {
          isRead[bySlot[slot]] = true;
          readsFault |= reached[bySlot[slot]];
        }
      if (!readsFault)
        continue;
      reached[i] = shows(values[i], kind);
      if (!reached[i] && !absorber)
        absorber = i;
    }
    // Where something ends that shows it, it was not absorbed.
    for (size_t i = first; i < values.size(); ++i)
      if (reached[i] && !isRead[i])
        return std::nullopt;
    return absorber;
  }

  const std::vector<TracedValue> &values;
  const NoiseSource &noiseSource;
  std::vector<size_t> bySlot; // SIZE_MAX: no such value
  std::vector<double> noise;
  bool knowsNoise = false;
};

} // namespace

const char *faultName(FaultKind kind) {
  switch (kind) {
  case FaultKind::Overflow:
    return "overflow";
  case FaultKind::Underflow:
    return "underflow";
  case FaultKind::NotANumber:
    return "nan";
  case FaultKind::Division:
    return "division";
  case FaultKind::Cancellation:
    return "cancellation";
  }
  return "";
}

std::optional<Fault> findFault(const std::vector<TracedValue> &values, const NoiseSource &noise) {
  return FaultFinder(values, noise).find();
}

} // namespace mpc::reports
