// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The cheapest assignment by the cost model is run; where it does not hold, the layers that move
// the loss most are widened until one holds, and what was widened in vain is narrowed again.
#include "mpc/Numerics/Search/PolicySearch.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <tuple>

using namespace mpc;

/// So many assignments are looked at one by one.
static constexpr size_t kMostListed = 4096;
/// Costs that differ by less are equal: sums of doubles in another order.
static constexpr double kEqualCosts = 1e-9;
/// Measured times that differ by less are equal.
static constexpr double kMeasurable = 0.01;

const Trial *SearchOutcome::findNearest() const {
  const Trial *nearest = nullptr;
  for (const Trial &trial : trials)
    if (!trial.result.holds && (!nearest || trial.result.excess < nearest->result.excess))
      nearest = &trial;
  return nearest;
}

const Trial *SearchOutcome::find(const PolicyAssignment &assignment) const {
  for (const Trial &trial : trials)
    if (trial.assignment == assignment)
      return &trial;
  return nullptr;
}

PolicySearch::PolicySearch(const CostModel &model, std::vector<std::vector<unsigned>> allowed,
                           SearchOracle oracle, size_t mostTrials, double wideTime)
    : model(model), allowed(std::move(allowed)), oracle(std::move(oracle)), mostTrials(mostTrials),
      wideTime(wideTime) {}

size_t mpc::countNarrow(const PolicyAssignment &assignment) {
  return size_t(llvm::count_if(assignment, [](unsigned policy) { return policy != 0; }));
}

std::vector<PolicyAssignment>
PolicySearch::listAll(const CostModel &model, const std::vector<std::vector<unsigned>> &allowed,
                      size_t most) {
  size_t count = 1;
  for (const std::vector<unsigned> &choices : allowed) {
    count *= choices.size();
    if (count > most)
      return {};
  }
  std::vector<std::pair<double, PolicyAssignment>> costs;
  for (size_t number = 0; number < count; ++number) {
    PolicyAssignment assignment = model.allWide();
    size_t rest = number;
    for (size_t layer = 0; layer < allowed.size(); ++layer) {
      assignment[layer] = allowed[layer][rest % allowed[layer].size()];
      rest /= allowed[layer].size();
    }
    costs.emplace_back(model.costOf(assignment), std::move(assignment));
  }
  llvm::sort(costs, [](const auto &a, const auto &b) {
    const size_t narrow = countNarrow(a.second), other = countNarrow(b.second);
    return std::tie(a.first, narrow, a.second) < std::tie(b.first, other, b.second);
  });
  std::vector<PolicyAssignment> sorted;
  for (auto &[cost, assignment] : costs)
    sorted.push_back(std::move(assignment));
  return sorted;
}

PolicyAssignment PolicySearch::findCheapest(const CostModel &model,
                                            const std::vector<std::vector<unsigned>> &allowed,
                                            const PolicyAssignment &start) {
  PolicyAssignment best = start;
  double cost = model.costOf(best);
  auto take = [&](const PolicyAssignment &other) {
    const double its = model.costOf(other);
    const bool isCheaper = its < cost * (1 - kEqualCosts);
    const bool isWider = its < cost * (1 + kEqualCosts) && countNarrow(other) < countNarrow(best);
    if (!isCheaper && !isWider)
      return false;
    best = other;
    cost = its;
    return true;
  };
  for (bool changes = true; changes;) {
    changes = false;
    for (size_t layer = 0; layer < allowed.size(); ++layer)
      for (unsigned policy : allowed[layer]) {
        PolicyAssignment other = best;
        other[layer] = policy;
        changes |= policy != best[layer] && take(other);
      }
  }
  return best;
}

bool PolicySearch::isBetter(const PolicyAssignment &assignment) const {
  const double cost = model.costOf(assignment);
  const double known = model.costOf(outcome.chosen ? *outcome.chosen : model.allWide());
  return cost < known * (1 - kEqualCosts);
}

bool PolicySearch::isHopeless(const PolicyAssignment &assignment) const {
  return llvm::any_of(outcome.trials, [&](const Trial &trial) {
    if (trial.result.holds)
      return false;
    for (size_t layer = 0; layer < assignment.size(); ++layer)
      if (trial.assignment[layer] && trial.assignment[layer] != assignment[layer])
        return false;
    return true;
  });
}

/// Runs an assignment that nobody ran yet; whether it holds.
llvm::Expected<bool> PolicySearch::tryOut(const PolicyAssignment &assignment) {
  if (countNarrow(assignment) == 0)
    return true;
  if (const Trial *known = outcome.find(assignment))
    return known->result.holds;
  if (outcome.trials.size() >= mostTrials)
    return false;
  llvm::Expected<TrialResult> result = oracle.run(assignment);
  if (!result)
    return result.takeError();
  outcome.trials.push_back({assignment, model.costOf(assignment), *result});
  if (result->holds && isBetter(assignment))
    outcome.chosen = assignment;
  return result->holds;
}

/// The same layers with another narrow policy: of two 16-bit types one has the digits, the other
/// one the range.
llvm::Error PolicySearch::tryOthers(const PolicyAssignment &cheapest) {
  for (unsigned policy = 1; policy < model.getPolicies().size(); ++policy) {
    PolicyAssignment other = cheapest;
    for (size_t layer = 0; layer < other.size(); ++layer)
      if (other[layer])
        other[layer] = llvm::is_contained(allowed[layer], policy) ? policy : 0;
    if (!isBetter(other) || isHopeless(other))
      continue;
    if (llvm::Expected<bool> holds = tryOut(other); !holds)
      return holds.takeError();
  }
  return llvm::Error::success();
}

/// The layers that are narrow, first those that move the loss most for what they save.
std::vector<size_t> PolicySearch::orderBySensitivity(const PolicyAssignment &cheapest) const {
  const double cost = model.costOf(cheapest);
  std::vector<std::pair<double, size_t>> keys;
  for (size_t layer = 0; layer < cheapest.size(); ++layer) {
    if (!cheapest[layer])
      continue;
    PolicyAssignment wider = cheapest;
    wider[layer] = 0;
    const double saved = std::max(model.costOf(wider) - cost, cost * 1e-6);
    const double sensitivity =
        layer < outcome.sensitivities.size() ? outcome.sensitivities[layer] : 0;
    keys.emplace_back(-sensitivity / saved, layer);
  }
  llvm::sort(keys);
  std::vector<size_t> order;
  for (const auto &[key, layer] : keys)
    order.push_back(layer);
  return order;
}

/// Finds how many layers have to be widened, by halving.
llvm::Error PolicySearch::widen(const PolicyAssignment &cheapest) {
  const std::vector<size_t> order = orderBySensitivity(cheapest);
  size_t fails = 0, holds = order.size(); // with all of them widened, float32 is left
  while (holds - fails > 1) {
    const size_t count = (fails + holds) / 2;
    std::vector<std::vector<unsigned>> rest = allowed;
    PolicyAssignment start = cheapest;
    for (size_t layer : llvm::ArrayRef(order).take_front(count)) {
      rest[layer] = {0};
      start[layer] = 0;
    }
    // Between layers of float32 some gain nothing any more.
    llvm::Expected<bool> held = tryOut(findCheapest(model, rest, start));
    if (!held)
      return held.takeError();
    (*held ? holds : fails) = count;
  }
  return llvm::Error::success();
}

/// Assignments by rising cost: the first that holds is the best.
llvm::Error PolicySearch::refineAll(const std::vector<PolicyAssignment> &all) {
  for (const PolicyAssignment &assignment : all) {
    if (!isBetter(assignment))
      break;
    if (isHopeless(assignment))
      continue;
    llvm::Expected<bool> holds = tryOut(assignment);
    if (!holds)
      return holds.takeError();
    if (*holds)
      break;
  }
  return llvm::Error::success();
}

/// Narrows each of the widened layers once more, first those that move the loss
/// least; again while that changes something, because neighbours share conversions.
llvm::Error PolicySearch::narrowAgain(const PolicyAssignment &cheapest) {
  const std::vector<size_t> order = orderBySensitivity(cheapest);
  std::optional<PolicyAssignment> before;
  do {
    before = outcome.chosen;
    for (size_t layer : llvm::reverse(order)) {
      PolicyAssignment narrower = outcome.chosen ? *outcome.chosen : model.allWide();
      if (narrower[layer])
        continue;
      narrower[layer] = cheapest[layer];
      if (!isBetter(narrower) || isHopeless(narrower))
        continue;
      if (llvm::Expected<bool> holds = tryOut(narrower); !holds)
        return holds.takeError();
    }
  } while (outcome.chosen != before && outcome.trials.size() < mostTrials);
  return llvm::Error::success();
}

PolicyAssignment PolicySearch::narrowest() const {
  PolicyAssignment narrowest = model.allWide();
  for (size_t layer = 0; layer < allowed.size(); ++layer)
    narrowest[layer] = *std::max_element(allowed[layer].begin(), allowed[layer].end());
  return narrowest;
}

/// Takes the fastest of those that hold. Float32 stays where nothing is faster by more than two
/// measurements of the same differ.
void PolicySearch::chooseFastest() {
  const Trial *fastest = nullptr;
  for (const Trial &trial : outcome.trials)
    if (trial.result.holds && (!fastest || trial.result.time < fastest->result.time))
      fastest = &trial;
  outcome.chosen = fastest && fastest->result.time < wideTime * (1 - kMeasurable)
                       ? fastest->assignment
                       : model.allWide();
}

/// The table of rates is a guess about the machine at hand. All layers narrow and each change of
/// one layer of the fastest map are tried, too.
llvm::Error PolicySearch::refineByTime() {
  if (!outcome.chosen)
    return llvm::Error::success();
  if (const PolicyAssignment all = narrowest(); !isHopeless(all))
    if (llvm::Expected<bool> holds = tryOut(all); !holds)
      return holds.takeError();
  chooseFastest();
  std::optional<PolicyAssignment> before;
  do {
    before = outcome.chosen;
    for (size_t layer = 0; layer < allowed.size(); ++layer)
      for (unsigned policy : allowed[layer]) {
        PolicyAssignment other = *outcome.chosen;
        other[layer] = policy;
        if (isHopeless(other))
          continue;
        if (llvm::Expected<bool> holds = tryOut(other); !holds)
          return holds.takeError();
        chooseFastest();
      }
  } while (outcome.chosen != before);
  return llvm::Error::success();
}

llvm::Expected<SearchOutcome> PolicySearch::run() {
  if (llvm::Error error = searchByModel())
    return std::move(error);
  if (wideTime > 0)
    if (llvm::Error error = refineByTime())
      return std::move(error);
  return std::move(outcome);
}

llvm::Error PolicySearch::searchByModel() {
  const std::vector<PolicyAssignment> all = listAll(model, allowed, kMostListed);
  PolicyAssignment cheapest;
  if (!all.empty()) {
    // Among equal costs the wider is taken.
    cheapest = findCheapest(model, allowed, all.front());
  } else {
    cheapest = findCheapest(model, allowed, narrowest());
    PolicyAssignment fromWide = findCheapest(model, allowed, model.allWide());
    if (model.costOf(fromWide) < model.costOf(cheapest))
      cheapest = std::move(fromWide);
  }
  outcome.cheapest = cheapest;
  if (!isBetter(cheapest)) {
    outcome.chosen = model.allWide();
    return llvm::Error::success();
  }
  llvm::Expected<bool> holds = tryOut(cheapest);
  if (!holds)
    return holds.takeError();
  if (*holds)
    return llvm::Error::success();
  llvm::Expected<std::vector<double>> sensitivities = oracle.measureSensitivities(cheapest);
  if (!sensitivities)
    return sensitivities.takeError();
  outcome.sensitivities = std::move(*sensitivities);
  llvm::Error error = tryOthers(cheapest);
  if (!error)
    error = widen(cheapest);
  if (!error)
    error = all.empty() ? narrowAgain(cheapest) : refineAll(all);
  return error;
}
