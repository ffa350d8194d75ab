// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Statistics of traced values as JSON (docs/numerics-tools.md).
#ifndef MPC_RUNTIME_REPORTS_VALUE_REPORT_H
#define MPC_RUNTIME_REPORTS_VALUE_REPORT_H

#include "runtime/reports/traced_model.h"

#include <nlohmann/json.hpp>

namespace mpc::reports {

using Json = nlohmann::ordered_json;

/// The numbers that an element type can hold.
struct Format {
  double smallest, smallestNormal, largest;
};
Format formatOf(mpc_rt_dtype_t dtype);
const char *dtypeName(mpc_rt_dtype_t dtype);

/// Powers of two between the largest element and the largest that the format has; none without
/// elements that are finite and not 0.
std::optional<double> headroomOf(const TracedValue &value);

/// A value as a JSON object, of characters that a terminal can show.
std::string describe(const TracedValue &value);
/// {"values": [...]}, the same of all.
std::string writeReport(const std::vector<TracedValue> &values, int64_t steps, int64_t rows);

} // namespace mpc::reports
#endif
