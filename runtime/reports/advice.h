// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Advice on a fault: the line for a policy map, or an option.
#ifndef MPC_RUNTIME_REPORTS_ADVICE_H
#define MPC_RUNTIME_REPORTS_ADVICE_H

#include "runtime/reports/fault.h"

namespace mpc::reports {

std::string advise(const std::vector<TracedValue> &values, const Fault &fault, bool hasLossScale);

} // namespace mpc::reports
#endif
