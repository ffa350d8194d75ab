// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpcc/search/PolicyFile.h"
#include "mpc/Policy/DTypePolicyMap.h"
#include "runtime/untrusted/html_page.h"
#include "runtime/untrusted/outlets.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Regex.h"
#include <cmath>

using namespace mpc;

std::string mpc::writePolicyMap(const CostModel &model, const PolicyAssignment &assignment) {
  DTypePolicyMap map = llvm::cantFail(DTypePolicyMap::withDefault("float32"));
  for (auto [layer, policy] : llvm::zip_equal(model.getLayers(), assignment))
    if (layer.isDecided)
      // Keys are regular expressions. Paths differ, and so do their keys.
      llvm::cantFail(map.set(llvm::Regex::escape(layer.path), model.getPolicies()[policy]));
  return llvm::formatv("{0:2}\n", llvm::json::Value(map.toConfig())).str();
}

static std::string percent(double share) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.2g", 100 * share) << " %";
  return text;
}

/// The failed trial with the fewest narrow layers in which this one was narrow.
static const Trial *findFailure(const SearchOutcome &outcome, size_t layer) {
  const Trial *best = nullptr;
  for (const Trial &trial : outcome.trials)
    if (!trial.result.holds && trial.assignment[layer] &&
        (!best || countNarrow(trial.assignment) < countNarrow(best->assignment)))
      best = &trial;
  return best;
}

/// The quantity that a search makes small.
static std::string subjectOf(const CostModel &model) {
  return model.getObjective() == SearchObjective::Memory
             ? "memory"
             : std::string("time on ") + model.getSpeeds().name;
}

std::string mpc::describeTime(double time, double wideTime) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.4g ms a step, ", time)
                                 << llvm::format("%.3g %% of float32's", 100 * time / wideTime);
  return text;
}

/// The time of a step of the map that was chosen; 0 where none was measured.
static double timeOfChosen(const SearchRecord &record) {
  const Trial *chosen = record.outcome.find(*record.outcome.chosen);
  return chosen ? chosen->result.time : record.wideTime;
}

/// Says how long a step takes of the map that differs in this layer alone; nothing where that was
/// not run.
static std::string explainByTime(const SearchRecord &record, size_t layer) {
  const PolicyAssignment &chosen = *record.outcome.chosen;
  for (const Trial &trial : record.outcome.trials) {
    PolicyAssignment other = trial.assignment;
    if (other[layer] == chosen[layer])
      continue;
    const std::string name = record.model.getPolicies()[other[layer]].getName().str();
    other[layer] = chosen[layer];
    if (other == chosen && trial.result.holds)
      return "measured: in " + name + " a step takes " +
             describeTime(trial.result.time, record.wideTime) + ", as it is " +
             describeTime(timeOfChosen(record), record.wideTime);
  }
  return "";
}

static std::string explainNarrow(const SearchRecord &record, size_t layer) {
  const CostModel &model = record.model;
  const PolicyAssignment &chosen = *record.outcome.chosen;
  PolicyAssignment wider = chosen;
  wider[layer] = 0;
  const double all = model.costOf(model.allWide());
  const double saved = all > 0 ? (model.costOf(wider) - model.costOf(chosen)) / all : 0;
  if (saved <= 0)
    return "as narrow as the layers around it";
  return "float32 would add " + percent(saved) + " of a float32 step's " + subjectOf(model);
}

static std::string explainWide(const SearchRecord &record, size_t layer) {
  const LayerWork &work = record.model.getLayers()[layer];
  if (auto refusal = record.refusals.find(work.path); refusal != record.refusals.end())
    return refusal->second;
  const SearchOutcome &outcome = record.outcome;
  if (outcome.cheapest[layer] == 0)
    return "fewer bits save no " + subjectOf(record.model);
  if (const Trial *failure = findFailure(outcome, layer))
    return "narrowed, " + failure->result.text;
  return "gains nothing between layers of float32";
}

std::map<std::string, std::string> mpc::explainPolicies(const SearchRecord &record) {
  std::map<std::string, std::string> reasons;
  for (auto [i, layer] : llvm::enumerate(record.model.getLayers())) {
    if (!layer.isDecided)
      continue;
    std::string &reason = reasons[layer.path];
    if (record.wideTime > 0)
      reason = explainByTime(record, i);
    if (reason.empty())
      reason = (*record.outcome.chosen)[i] ? explainNarrow(record, i) : explainWide(record, i);
  }
  return reasons;
}

static llvm::json::Value finiteOrNull(double number) {
  return std::isfinite(number) ? llvm::json::Value(number) : llvm::json::Value(nullptr);
}

static llvm::json::Array describeTrials(const SearchRecord &record) {
  const double all = record.model.costOf(record.model.allWide());
  llvm::json::Array trials;
  for (const Trial &trial : record.outcome.trials) {
    llvm::json::Object narrow;
    for (auto [layer, policy] : llvm::zip_equal(record.model.getLayers(), trial.assignment))
      if (policy)
        narrow[layer.path] = record.model.getPolicies()[policy].getName();
    llvm::json::Object row{{"cost", finiteOrNull(trial.cost / all)},
                           {"holds", trial.result.holds},
                           {"excess", finiteOrNull(trial.result.excess)},
                           {"result", trial.result.text},
                           {"narrow", std::move(narrow)}};
    if (trial.result.time > 0)
      row["step_ms"] = trial.result.time;
    trials.push_back(std::move(row));
  }
  return trials;
}

std::string mpc::writeSearchJson(const SearchRecord &record) {
  const CostModel &model = record.model;
  const std::map<std::string, std::string> reasons = explainPolicies(record);
  llvm::json::Array layers;
  for (auto [i, layer] : llvm::enumerate(model.getLayers())) {
    if (!layer.isDecided)
      continue;
    llvm::json::Object row{{"path", layer.path},
                           {"class", layer.kind},
                           {"policy", model.getPolicies()[(*record.outcome.chosen)[i]].getName()},
                           {"reason", reasons.at(layer.path)}};
    if (i < record.outcome.sensitivities.size())
      row["sensitivity"] = record.outcome.sensitivities[i];
    layers.push_back(std::move(row));
  }
  llvm::json::Array tolerances;
  for (const MetricTolerance &metric : record.options.metrics)
    tolerances.push_back(
        llvm::json::Object{{"metric", metric.name}, {"tolerance", metric.tolerance}});
  const double all = model.costOf(model.allWide());
  llvm::json::Object report{
      {"objective", model.getObjective() == SearchObjective::Speed ? "speed" : "memory"},
      {"target", model.getSpeeds().name},
      {"cost", finiteOrNull(model.costOf(*record.outcome.chosen) / all)},
      {"steps", record.options.steps},
      {"seed", record.options.seed},
      {"tolerances", std::move(tolerances)},
      {"layers", std::move(layers)},
      {"trials", describeTrials(record)}};
  if (record.wideTime > 0)
    report["step_ms"] =
        llvm::json::Object{{"float32", record.wideTime}, {"chosen", timeOfChosen(record)}};
  return untrusted::forJson(llvm::formatv("{0:1}", llvm::json::Value(std::move(report))).str()) +
         "\n";
}

std::string mpc::writeSearchPage(const SearchRecord &record) {
  const CostModel &model = record.model;
  const double all = model.costOf(model.allWide());
  untrusted::HtmlPage page("Policies of " + record.file,
                           ".narrow td:nth-child(3) { font-weight: bold; }\n");
  page.addParagraph("By the cost model of " + std::string(model.getSpeeds().name) +
                    ", a step costs " + percent(model.costOf(*record.outcome.chosen) / all) +
                    " of one in float32.");
  if (record.wideTime > 0)
    page.addParagraph(
        "Measured on this machine: " + describeTime(timeOfChosen(record), record.wideTime) + ".");
  page.addHeading("Layers");
  page.beginTable({"layer", "class", "policy", "reason"});
  const std::map<std::string, std::string> reasons = explainPolicies(record);
  for (auto [i, layer] : llvm::enumerate(model.getLayers()))
    if (layer.isDecided) {
      const unsigned policy = (*record.outcome.chosen)[i];
      page.addRow({layer.path, layer.kind, model.getPolicies()[policy].getName().str(),
                   reasons.at(layer.path)},
                  policy ? "narrow" : "");
    }
  page.endTable();
  page.addHeading("Trials");
  page.beginTable({"narrow layers", "cost", "time", "holds", "result"});
  for (const Trial &trial : record.outcome.trials)
    page.addRow({std::to_string(countNarrow(trial.assignment)), percent(trial.cost / all),
                 trial.result.time > 0 ? describeTime(trial.result.time, record.wideTime) : "–",
                 trial.result.holds ? "yes" : "no", trial.result.text});
  page.endTable();
  return page.finish();
}

std::string mpc::describeFailure(const SearchRecord &record) {
  const Trial *nearest = record.outcome.findNearest();
  if (!nearest)
    return "no map was tried";
  std::string layers;
  size_t count = 0;
  for (auto [layer, policy] : llvm::zip_equal(record.model.getLayers(), nearest->assignment)) {
    if (!policy)
      continue;
    if (++count <= 3)
      layers += (count > 1 ? ", '" : "'") + layer.path + "' in " +
                record.model.getPolicies()[policy].getName().str();
  }
  if (count > 3)
    layers += " and " + std::to_string(count - 3) + " more";
  return "the nearest of " + std::to_string(record.outcome.trials.size()) + " maps has " + layers +
         ": " + nearest->result.text;
}
