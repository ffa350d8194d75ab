// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ProvedPolicies: which layers of a policy map hold values that are shown to fit their types.
#ifndef MPC_TOOLS_MPCC_SEARCH_PROVEDPOLICIES_H
#define MPC_TOOLS_MPCC_SEARCH_PROVEDPOLICIES_H

#include "mpc/Driver/ProveModel.h"
#include "tools/mpcc/search/ModelRunner.h"

namespace mpc {

class ProvedPolicies {
public:
  /// For inputs within `ranges`. All references have to outlive this object.
  ProvedPolicies(const CompileOptions &options, const CostModel &model, const ModelRunner &runner,
                 InputRanges ranges)
      : options(options), model(model), runner(runner), ranges(std::move(ranges)) {}

  /// By narrow layer of the assignment that cannot be shown to fit, the reason.
  llvm::Expected<std::map<size_t, std::string>> findUnproved(const PolicyAssignment &assignment);
  /// Takes policies away until all layers fit with the last ones that they may have; by layer path,
  /// why one went.
  llvm::Error restrict(std::vector<std::vector<unsigned>> &allowed,
                       std::map<std::string, std::string> &refusals);

private:
  const CompileOptions &options;
  const CostModel &model;
  const ModelRunner &runner;
  InputRanges ranges;
};

} // namespace mpc

#endif // MPC_TOOLS_MPCC_SEARCH_PROVEDPOLICIES_H
