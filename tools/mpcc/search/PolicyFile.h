// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The result of a search as files: the map that Keras loads, and the reasons.
#ifndef MPC_TOOLS_MPCC_SEARCH_POLICYFILE_H
#define MPC_TOOLS_MPCC_SEARCH_POLICYFILE_H

#include "mpc/Numerics/Search/PolicySearch.h"
#include "tools/mpcc/search/SearchOptions.h"
#include <map>

namespace mpc {

/// A Keras-serialised DTypePolicyMap: float32, and each layer that policies decide by its path.
/// With every path as a key of its own no lookup comes to regular expressions, which the names of a
/// model could be.
std::string writePolicyMap(const CostModel &model, const PolicyAssignment &assignment);

/// A search that is over, for its reports.
struct SearchRecord {
  const CostModel &model;
  const SearchOptions &options;
  const SearchOutcome &outcome;
  /// By layer path: why a policy was not allowed at all.
  const std::map<std::string, std::string> &refusals;
  std::string file;    ///< of the model
  double wideTime = 0; ///< milliseconds of a step in float32; 0: times were not measured
};

/// "1.25 ms a step, 81 % of float32's", of times in milliseconds.
std::string describeTime(double time, double wideTime);

/// By layer path, why it has its policy.
std::map<std::string, std::string> explainPolicies(const SearchRecord &record);

/// The table of decisions and the trials as JSON, and as a page without scripts.
std::string writeSearchJson(const SearchRecord &record);
std::string writeSearchPage(const SearchRecord &record);

/// Why no map holds: the best of those that were tried.
std::string describeFailure(const SearchRecord &record);

} // namespace mpc

#endif // MPC_TOOLS_MPCC_SEARCH_POLICYFILE_H
