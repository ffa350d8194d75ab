// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The search of --policy=auto: the cheapest policy per layer that was seen to hold the tolerances.
#ifndef MPC_NUMERICS_SEARCH_POLICYSEARCH_H
#define MPC_NUMERICS_SEARCH_POLICYSEARCH_H

#include "mpc/Numerics/Search/CostModel.h"
#include "llvm/Support/Error.h"
#include <functional>

namespace mpc {

/// How many layers are not float32.
size_t countNarrow(const PolicyAssignment &assignment);

/// The verdict of running an assignment.
struct TrialResult {
  bool holds = false;
  double excess = 0; ///< the largest difference from float32 over its tolerance; may be infinite
  std::string text;  ///< the numbers, for people
  double time = 0;   ///< milliseconds of a step; 0: not measured
};

struct Trial {
  PolicyAssignment assignment;
  double cost = 0;
  TrialResult result;
};

/// The searcher's questions to whoever can compile and run a model. The answers depend on the
/// assignment alone, or the result does not repeat.
struct SearchOracle {
  std::function<llvm::Expected<TrialResult>(const PolicyAssignment &)> run;
  /// By layer, how much the roundings of its policy move the loss or the outputs. Asked at most
  /// once, when the cheapest assignment does not hold.
  std::function<llvm::Expected<std::vector<double>>(const PolicyAssignment &)> measureSensitivities;
};

struct SearchOutcome {
  /// None: some assignment is cheaper than float32, and none that was tried holds.
  std::optional<PolicyAssignment> chosen;
  PolicyAssignment cheapest; ///< by the cost model alone
  std::vector<Trial> trials;
  std::vector<double> sensitivities; ///< by layer; empty where nobody asked
  /// The one of the trials that came nearest to the tolerances without holding them.
  const Trial *findNearest() const;
  /// Null where it was not run.
  const Trial *find(const PolicyAssignment &assignment) const;
};

class PolicySearch {
public:
  /// `allowed` has for each layer the policies that it may get, 0 among them. At most `mostTrials`
  /// assignments are run. With a `wideTime`, the milliseconds of a step in float32, measured times
  /// decide about what the cost model proposes and about what differs from it in one layer.
  PolicySearch(const CostModel &model, std::vector<std::vector<unsigned>> allowed,
               SearchOracle oracle, size_t mostTrials = 64, double wideTime = 0);

  llvm::Expected<SearchOutcome> run();

  /// The cheapest assignment of `allowed`, by the model alone. Exact where there are few; else no
  /// change of one layer makes it cheaper. Of equal ones the wider.
  static PolicyAssignment findCheapest(const CostModel &model,
                                       const std::vector<std::vector<unsigned>> &allowed,
                                       const PolicyAssignment &start);
  /// All assignments by rising cost; empty where there are more than `most`.
  static std::vector<PolicyAssignment>
  listAll(const CostModel &model, const std::vector<std::vector<unsigned>> &allowed, size_t most);

private:
  llvm::Error searchByModel();
  llvm::Error refineByTime();
  void chooseFastest();
  PolicyAssignment narrowest() const;
  llvm::Expected<bool> tryOut(const PolicyAssignment &assignment);
  llvm::Error tryOthers(const PolicyAssignment &cheapest);
  llvm::Error widen(const PolicyAssignment &cheapest);
  llvm::Error refineAll(const std::vector<PolicyAssignment> &all);
  llvm::Error narrowAgain(const PolicyAssignment &cheapest);
  /// Whether a trial failed that narrowed no layer otherwise than this one does.
  bool isHopeless(const PolicyAssignment &assignment) const;
  bool isBetter(const PolicyAssignment &assignment) const;
  std::vector<size_t> orderBySensitivity(const PolicyAssignment &cheapest) const;

  const CostModel &model;
  std::vector<std::vector<unsigned>> allowed;
  SearchOracle oracle;
  size_t mostTrials;
  double wideTime;
  SearchOutcome outcome;
};

} // namespace mpc

#endif // MPC_NUMERICS_SEARCH_POLICYSEARCH_H
