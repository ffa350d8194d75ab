// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Faults of number formats: which values have one, and the first among them.
#ifndef MPC_RUNTIME_REPORTS_FAULT_H
#define MPC_RUNTIME_REPORTS_FAULT_H

#include "runtime/reports/traced_model.h"

#include <functional>

namespace mpc::reports {

enum class FaultKind { Overflow, Underflow, NotANumber, Division, Cancellation };
const char *faultName(FaultKind kind);

struct Fault {
  FaultKind kind;
  size_t value; ///< index into the values
  /// The first value behind it that is as it should be, if all that the fault reached ends so.
  std::optional<size_t> absorbedBy;
};

/// By how much a value's twin is noise, by slot (TracedModel::measureNoise). Asked at most once.
using NoiseSource = std::function<std::vector<double>()>;

/// The first fault in the order of execution:
///
/// - overflow: elements are infinite where the twin has finite ones; or where both are infinite and
///   nothing that they were computed of is;
/// - nan: the same with NaN; division: one of both behind a division by 0, or by a number that the
///   format made 0;
/// - underflow: most elements that are not 0 in the twin are 0, and with them went most of what the
///   value is (half of its squares);
/// - cancellation: nothing is left of the value's digits, of operands that have theirs.
///
/// A value that is noise in the twin, too, is neither of the last two.
std::optional<Fault> findFault(const std::vector<TracedValue> &values, const NoiseSource &noise);

} // namespace mpc::reports
#endif
