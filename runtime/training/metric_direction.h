// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Which way a metric gets better, for callbacks of mpc-run and of Python.
#ifndef MPC_RUNTIME_TRAINING_METRIC_DIRECTION_H
#define MPC_RUNTIME_TRAINING_METRIC_DIRECTION_H

#include <optional>
#include <string>

namespace mpc::training {

/// Whether more is better for a metric, by its name; nothing where that does not say it. Keras's
/// mode "auto" asks the metric (`_direction` in keras/src/metrics), and its names say the same.
std::optional<bool> largerIsBetter(const std::string &monitor);

} // namespace mpc::training

#endif
