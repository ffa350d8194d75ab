// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Measurement: what a compiled model makes of the data, and how far that is from another one's.
#ifndef MPC_TOOLS_MPCC_SEARCH_MEASUREMENT_H
#define MPC_TOOLS_MPCC_SEARCH_MEASUREMENT_H

#include "mpc/Numerics/Search/PolicySearch.h"
#include "runtime/data/array.h"
#include "tools/mpcc/search/SearchOptions.h"
#include <map>

namespace mpc {

/// Results with one set of weights.
struct MeasuredStage {
  std::string when; ///< "", or " after 20 steps"
  std::map<std::string, std::vector<double>> metrics;
  data::NamedArrays outputs;
};

struct Measurement {
  std::vector<MeasuredStage> stages;
  double stepTime = 0; ///< milliseconds; 0: not measured
};

/// The difference of every metric that has a tolerance, at every stage.
TrialResult compareMeasurements(const Measurement &reference, const Measurement &measured,
                                const std::vector<MetricTolerance> &tolerances);

/// An error that names the first result of the reference that is no number.
llvm::Error checkReference(const Measurement &reference,
                           const std::vector<MetricTolerance> &tolerances);

/// The metrics of what `mpc-run evaluate --json` printed.
llvm::Expected<std::map<std::string, std::vector<double>>> readMetrics(llvm::StringRef json);

/// The median of what `mpc-run bench --json` printed.
llvm::Expected<double> readStepTime(llvm::StringRef json);

} // namespace mpc

#endif // MPC_TOOLS_MPCC_SEARCH_MEASUREMENT_H
