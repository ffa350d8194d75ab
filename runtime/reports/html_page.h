// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One page about a model's numbers, without scripts and without anything from the network.
#ifndef MPC_RUNTIME_REPORTS_HTML_PAGE_H
#define MPC_RUNTIME_REPORTS_HTML_PAGE_H

#include "runtime/reports/step_history.h"

namespace mpc::reports {

/// Layers as a column, coloured and marked by headroom, with histograms of exponents; then a table
/// of all values. Readable in black and white and on a phone.
/// With a history, each layer has a map of its exponents over steps, too. A `note` stands above
/// all.
std::string writePage(const std::string &title, const std::vector<TracedValue> &values,
                      const StepHistory *history = nullptr,
                      const std::string &note = std::string());

} // namespace mpc::reports
#endif
