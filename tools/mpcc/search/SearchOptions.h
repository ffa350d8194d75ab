// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The options of --policy=auto.
#ifndef MPC_TOOLS_MPCC_SEARCH_SEARCHOPTIONS_H
#define MPC_TOOLS_MPCC_SEARCH_SEARCHOPTIONS_H

#include "mpc/Numerics/Search/CostModel.h"

namespace mpc {

/// `--metric=NAME:TOLERANCE`: how far a result may be from that of float32.
struct MetricTolerance {
  std::string name;
  double tolerance = 0;
};

/// The metric that is no model's own: the difference of outputs, relative to their root mean
/// square.
inline constexpr llvm::StringLiteral kOutputMetric = "output";

struct SearchOptions {
  std::vector<std::string> policies; ///< that layers may get; empty: what the target is fast in
  SearchObjective objective = SearchObjective::Speed;
  bool isProved = false;
  bool isMeasured = false; ///< times of steps on this machine decide, not the cost model's
  std::string data;
  std::vector<MetricTolerance> metrics;
  int64_t steps = 20;
  uint64_t seed = 0;
};

/// The words behind `--policy=auto`, which begin with a colon or are empty. An error says what is
/// wrong with one.
llvm::Error parseSearchModes(llvm::StringRef text, SearchOptions &options);

/// NAME:TOLERANCE, of which the name may have colons.
llvm::Expected<MetricTolerance> parseMetric(llvm::StringRef text);

} // namespace mpc

#endif // MPC_TOOLS_MPCC_SEARCH_SEARCHOPTIONS_H
