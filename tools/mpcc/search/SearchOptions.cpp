// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpcc/search/SearchOptions.h"
#include "mpc/Policy/DTypePolicy.h"
#include <cmath>

using namespace mpc;

static llvm::Error fault(const llvm::Twine &message) {
  return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
}

/// A policy that layers may get beside float32.
static llvm::Error addPolicy(llvm::StringRef name, SearchOptions &options) {
  llvm::Expected<DTypePolicy> policy = parsePolicyName(name);
  if (!policy) {
    llvm::consumeError(policy.takeError());
    const std::string nearest = findNearestPolicyName(name);
    return fault("expected speed, memory, proved, measured or the name of a policy" +
                 (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
  }
  const llvm::StringRef compute = policy->getComputeDType();
  if (compute != "float32" && compute != "bfloat16" && compute != "float16")
    return fault("computes in " + compute + "; expected a policy that is narrower than float32");
  if (name != "float32" && !llvm::is_contained(options.policies, name))
    options.policies.push_back(name.str());
  return llvm::Error::success();
}

llvm::Error mpc::parseSearchModes(llvm::StringRef text, SearchOptions &options) {
  if (text.empty())
    return llvm::Error::success();
  text.consume_front(":");
  bool hasObjective = false;
  llvm::SmallVector<llvm::StringRef> modes;
  text.split(modes, ',');
  for (llvm::StringRef mode : modes) {
    if (mode == "proved") {
      options.isProved = true;
      continue;
    }
    if (mode == "measured") {
      options.isMeasured = true;
      continue;
    }
    if (mode == "speed" || mode == "memory") {
      if (hasObjective)
        return fault("speed and memory exclude each other; give one");
      hasObjective = true;
      options.objective = mode == "memory" ? SearchObjective::Memory : SearchObjective::Speed;
      continue;
    }
    if (llvm::Error error = addPolicy(mode, options))
      return fault("'" + mode + "': " + llvm::toString(std::move(error)));
  }
  if (options.isMeasured && options.objective == SearchObjective::Memory)
    return fault("measured is about times, and memory is not; give one");
  return llvm::Error::success();
}

llvm::Expected<MetricTolerance> mpc::parseMetric(llvm::StringRef text) {
  auto [name, number] = text.rsplit(':');
  MetricTolerance metric{name.str()};
  if (name.empty() || number.getAsDouble(metric.tolerance) || !std::isfinite(metric.tolerance) ||
      metric.tolerance < 0)
    return fault("expected NAME:TOLERANCE with a number that is 0 or more, such as accuracy:0.01");
  return metric;
}
