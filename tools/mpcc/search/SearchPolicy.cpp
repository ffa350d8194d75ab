// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpcc/search/SearchPolicy.h"
#include "mpc/Driver/DescribeLayers.h"
#include "runtime/untrusted/outlets.h"
#include "tools/DataRanges.h"
#include "tools/mpcc/search/PolicyFile.h"
#include "tools/mpcc/search/ProvedPolicies.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/WithColor.h"
#include "llvm/TargetParser/Host.h"

using namespace mpc;

namespace {
/// One run of the search.
class SearchRun {
public:
  SearchRun(const CompileOptions &options, const SearchOptions &search)
      : options(options), search(search) {}
  ExitCode run();

private:
  ExitCode describe();
  ExitCode choosePolicies();
  ExitCode checkMetrics();
  llvm::Expected<TrialResult> tryOut(const CostModel &model, ModelRunner &runner,
                                     const PolicyAssignment &assignment);
  SearchOracle makeOracle(const CostModel &model, ModelRunner &runner);
  ExitCode searchFor(const CostModel &model);
  ExitCode compile(const SearchRecord &record, const ModelRunner &runner);
  ExitCode fail(const llvm::Twine &message, ExitCode code = kExitBadInput);
  ExitCode fail(llvm::Error error);
  void say(const llvm::Twine &message);

  CompileOptions options;
  SearchOptions search;
  ModelLayers described;
  std::vector<DTypePolicy> policies;
  std::map<std::string, std::string> refusals;
  std::optional<ProvedPolicies> proved;
  Measurement reference;
};
} // namespace

ExitCode SearchRun::fail(const llvm::Twine &message, ExitCode code) {
  llvm::WithColor::error(llvm::errs()) << untrusted::forLine(message.str()) << "\n";
  return code;
}

ExitCode SearchRun::fail(llvm::Error error) {
  ExitCode code = kExitBadInput;
  llvm::handleAllErrors(
      std::move(error), [&](const PrintedError &printed) { code = printed.code; },
      [&](const llvm::ErrorInfoBase &other) { fail(other.message()); });
  return code;
}

void SearchRun::say(const llvm::Twine &message) {
  if (!options.quiet)
    llvm::errs() << untrusted::forLine(message.str()) << "\n";
}

ExitCode SearchRun::describe() {
  CompileOptions wide = options;
  wide.pipeline.policy = "float32";
  wide.quiet = true;
  return describeLayers(wide, described);
}

static const TargetSpeeds &speedsOf(const CompileOptions &options) {
  return options.cuda ? speedsOfCuda(options.cuda->ptx())
                      : speedsOfCpu(llvm::sys::getHostCPUFeatures());
}

/// Those that were named, else the 16-bit types that the target multiplies faster than float32.
ExitCode SearchRun::choosePolicies() {
  std::vector<std::string> names = search.policies;
  const TargetSpeeds &speeds = speedsOf(options);
  if (names.empty()) {
    names = {"mixed_bfloat16"};
    if (speeds.float16 > 1.5 * speeds.float32)
      names.push_back("mixed_float16");
  }
  policies = {DTypePolicy()};
  for (const std::string &name : names) {
    llvm::Expected<DTypePolicy> policy = parsePolicyName(name);
    if (!policy)
      return fail(policy.takeError());
    if (policy->isQuantized() && !described.hasWeights)
      return fail(
          options.model + ": --policy=auto:" + name +
          ": quantizes the file's weights, and the file has none; expected a trained model");
    if (policy->isQuantized())
      // Kernels of integers do not train (docs/policies.md).
      search.steps = 0;
    policies.push_back(std::move(*policy));
  }
  return kExitDone;
}

llvm::Expected<TrialResult> SearchRun::tryOut(const CostModel &model, ModelRunner &runner,
                                              const PolicyAssignment &assignment) {
  if (proved) {
    llvm::Expected<std::map<size_t, std::string>> unproved = proved->findUnproved(assignment);
    if (!unproved)
      return unproved.takeError();
    for (const auto &[layer, reason] : *unproved)
      return TrialResult{false, std::numeric_limits<double>::infinity(),
                         "'" + model.getLayers()[layer].path + "': " + reason};
  }
  llvm::Expected<Measurement> measured = runner.measure(writePolicyMap(model, assignment));
  if (!measured)
    return measured.takeError();
  TrialResult result = compareMeasurements(reference, *measured, search.metrics);
  const size_t narrow = countNarrow(assignment);
  const std::string time =
      result.time > 0 ? ", " + describeTime(result.time, reference.stepTime) : "";
  say(llvm::Twine(narrow) + (narrow == 1 ? " narrow layer: " : " narrow layers: ") + result.text +
      time + (result.holds ? "" : ", beyond the tolerance"));
  return result;
}

SearchOracle SearchRun::makeOracle(const CostModel &model, ModelRunner &runner) {
  SearchOracle oracle;
  oracle.run = [&](const PolicyAssignment &assignment) {
    return tryOut(model, runner, assignment);
  };
  oracle.measureSensitivities =
      [&](const PolicyAssignment &assignment) -> llvm::Expected<std::vector<double>> {
    auto byPath = runner.measureSensitivities(writePolicyMap(model, assignment));
    if (!byPath)
      return byPath.takeError();
    std::vector<double> sensitivities;
    for (const LayerWork &layer : model.getLayers())
      sensitivities.push_back(byPath->count(layer.path) ? byPath->at(layer.path) : 0);
    return sensitivities;
  };
  return oracle;
}

/// Compiles the model with the map that was found.
ExitCode SearchRun::compile(const SearchRecord &record, const ModelRunner &runner) {
  const std::string map = writePolicyMap(record.model, *record.outcome.chosen);
  CompileOptions found = options;
  llvm::Expected<std::string> file = runner.writeMap(map);
  if (!file)
    return fail(file.takeError());
  found.pipeline.policy = *file;
  found.policyReasons = explainPolicies(record);
  const std::string &name = described.name;
  found.extraFiles = {{name + ".policy.json", map},
                      {name + ".search.json", writeSearchJson(record)},
                      {name + ".search.html", writeSearchPage(record)}};
  return compileModel(found);
}

ExitCode SearchRun::searchFor(const CostModel &model) {
  std::vector<std::vector<unsigned>> allowed(described.layers.size());
  for (size_t layer = 0; layer < allowed.size(); ++layer)
    for (unsigned policy = 0; policy < policies.size(); ++policy)
      if (model.mayHave(layer, policy))
        allowed[layer].push_back(policy);
  ModelRunner runner(options, search, described.trains, described.hasWeights);
  if (llvm::Error error = runner.prepare())
    return fail(std::move(error));
  llvm::Expected<Measurement> measured = runner.measure(writePolicyMap(model, model.allWide()));
  if (!measured)
    return fail(measured.takeError());
  reference = std::move(*measured);
  if (llvm::Error error = checkReference(reference, search.metrics))
    return fail(options.model + ": --policy=auto: " + llvm::toString(std::move(error)));
  if (search.isProved) {
    llvm::Expected<InputRanges> ranges = rangesOfData(search.data);
    if (!ranges)
      return fail(ranges.takeError());
    proved.emplace(options, model, runner, std::move(*ranges));
    if (llvm::Error error = proved->restrict(allowed, refusals))
      return fail(std::move(error));
  }
  // Large models take a minute to compile.
  const size_t mostTrials = described.layers.size() > 12 ? 24 : 64;
  PolicySearch searcher(model, std::move(allowed), makeOracle(model, runner), mostTrials,
                        reference.stepTime);
  llvm::Expected<SearchOutcome> outcome = searcher.run();
  if (!outcome)
    return fail(outcome.takeError());
  const SearchRecord record{model, search, *outcome, refusals, options.model, reference.stepTime};
  if (!outcome->chosen)
    return fail(
        options.model +
        ": --policy=auto: no policy map that costs less than float32 holds the tolerances; " +
        describeFailure(record) +
        "; give a larger tolerance by --metric, or compile with --policy=float32");
  return compile(record, runner);
}

ExitCode SearchRun::checkMetrics() {
  if (search.metrics.empty())
    search.metrics.push_back({described.trains ? "loss" : kOutputMetric.str(), 0.01});
  for (const MetricTolerance &metric : search.metrics)
    if (!described.trains && metric.name != kOutputMetric)
      return fail(options.model + ": --metric=" + metric.name +
                  ": the model has neither a loss nor metrics; expected --metric=output:TOLERANCE, "
                  "or --loss= and --optimizer=");
  return kExitDone;
}

ExitCode SearchRun::run() {
  if (options.model == "-")
    return fail("--policy=auto: reads the model once for each map; expected a file, no standard "
                "input",
                kExitUsage);
  if (!llvm::sys::fs::exists(search.data))
    return fail("--calibrate=" + search.data +
                ": there is no such file; expected data with the model's inputs, and its targets "
                "if it trains");
  if (ExitCode code = describe(); code != kExitDone)
    return code;
  if (ExitCode code = choosePolicies(); code != kExitDone)
    return code;
  if (ExitCode code = checkMetrics(); code != kExitDone)
    return code;
  if (search.isMeasured && options.cuda)
    return fail(options.model + ": --policy=auto:measured: measures steps on this machine's CPU; "
                                "leave measured or --target=cuda");
  if (search.isProved && described.trains)
    return fail(options.model +
                ": --policy=auto:proved: gradients have no proved ranges; add --mode=infer");
  return searchFor(
      CostModel(described.layers, policies, speedsOf(options), search.objective, described.trains));
}

ExitCode mpc::compileOrSearch(const CommandOptions &options) {
  return options.search ? SearchRun(options, *options.search).run() : compileModel(options);
}
