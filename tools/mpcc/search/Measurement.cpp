// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpcc/search/Measurement.h"
#include "runtime/data/convert.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"
#include <cmath>

using namespace mpc;

static constexpr double kInfinite = std::numeric_limits<double>::infinity();

static std::string shorten(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.4g", number);
  return text;
}

/// The distance of two numbers; of a number from what is none it is infinite.
static double distance(double a, double b) {
  const double difference = std::abs(a - b);
  return std::isnan(difference) ? kInfinite : difference;
}

/// The root mean square of the difference over that of the reference, of the worst output.
static double compareOutputs(const data::NamedArrays &reference, const data::NamedArrays &other) {
  double worst = 0;
  for (const auto &[name, expected] : reference) {
    auto found = other.find(name);
    if (found == other.end() || found->second.elements() != expected.elements())
      return kInfinite;
    double squares = 0, differences = 0;
    for (int64_t i = 0; i < expected.elements(); ++i) {
      const double value = data::elementAsDouble(expected, i);
      const double difference = distance(value, data::elementAsDouble(found->second, i));
      squares += value * value;
      differences += difference * difference;
    }
    if (differences > 0)
      worst = std::max(worst, squares > 0 ? std::sqrt(differences / squares) : kInfinite);
  }
  return worst;
}

TrialResult mpc::compareMeasurements(const Measurement &reference, const Measurement &measured,
                                     const std::vector<MetricTolerance> &tolerances) {
  TrialResult result;
  result.holds = true;
  result.time = measured.stepTime;
  auto judge = [&](double difference, double tolerance, const std::string &text) {
    result.holds &= difference <= tolerance;
    const double excess = difference == 0 ? 0 : tolerance > 0 ? difference / tolerance : kInfinite;
    result.excess = std::max(result.excess, excess);
    result.text += (result.text.empty() ? "" : ", ") + text;
  };
  for (auto [expected, stage] : llvm::zip_equal(reference.stages, measured.stages))
    for (const MetricTolerance &metric : tolerances) {
      if (metric.name == kOutputMetric) {
        const double difference = compareOutputs(expected.outputs, stage.outputs);
        judge(difference, metric.tolerance,
              "outputs" + stage.when + " off by " + shorten(difference));
        continue;
      }
      const std::vector<double> &wanted = expected.metrics.at(metric.name);
      auto found = stage.metrics.find(metric.name);
      for (size_t i = 0; i < wanted.size(); ++i) {
        const bool isThere = found != stage.metrics.end() && i < found->second.size();
        const double value = isThere ? found->second[i] : NAN;
        judge(distance(wanted[i], value), metric.tolerance,
              metric.name + (wanted.size() > 1 ? "[" + std::to_string(i) + "]" : "") + stage.when +
                  " " + shorten(value) + " (float32: " + shorten(wanted[i]) + ")");
      }
    }
  return result;
}

llvm::Error mpc::checkReference(const Measurement &reference,
                                const std::vector<MetricTolerance> &tolerances) {
  for (const MeasuredStage &stage : reference.stages)
    for (const MetricTolerance &metric : tolerances) {
      if (metric.name == kOutputMetric) {
        for (const auto &[name, array] : stage.outputs)
          for (int64_t i = 0; i < array.elements(); ++i)
            if (!std::isfinite(data::elementAsDouble(array, i)))
              return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                             "the output '" + name + "' is not finite in float32" +
                                                 stage.when);
        continue;
      }
      auto found = stage.metrics.find(metric.name);
      if (found == stage.metrics.end()) {
        std::string known;
        for (const auto &[name, values] : stage.metrics)
          known += (known.empty() ? "" : ", ") + name;
        return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                       "the model has no metric '" + metric.name +
                                           "'; expected one of " + known + ", " +
                                           kOutputMetric.str() + "; --metrics= adds some");
      }
      for (double value : found->second)
        if (!std::isfinite(value))
          return llvm::createStringError(llvm::inconvertibleErrorCode(),
                                         metric.name + " is not finite in float32" + stage.when);
    }
  return llvm::Error::success();
}

/// A number, or the text that mpc-run prints of one that is not finite.
static double readNumber(const llvm::json::Value &value) {
  if (std::optional<double> number = value.getAsNumber())
    return *number;
  const llvm::StringRef text = value.getAsString().value_or("nan");
  return text == "inf" ? kInfinite : text == "-inf" ? -kInfinite : NAN;
}

llvm::Expected<std::map<std::string, std::vector<double>>> mpc::readMetrics(llvm::StringRef json) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(json);
  if (!value)
    return value.takeError();
  std::map<std::string, std::vector<double>> metrics;
  if (const llvm::json::Object *object = value->getAsObject())
    for (const auto &[name, result] : *object) {
      std::vector<double> &numbers = metrics[llvm::StringRef(name).str()];
      if (const llvm::json::Array *elements = result.getAsArray())
        for (const llvm::json::Value &element : *elements)
          numbers.push_back(readNumber(element));
      else
        numbers.push_back(readNumber(result));
    }
  return metrics;
}

llvm::Expected<double> mpc::readStepTime(llvm::StringRef json) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(json);
  if (!value)
    return value.takeError();
  const llvm::json::Object *object = value->getAsObject();
  const std::optional<double> time = object ? object->getNumber("ms_median") : std::nullopt;
  if (!time || !(*time > 0))
    return llvm::createStringError(
        llvm::inconvertibleErrorCode(),
        "mpc-run bench says no ms_median; expected mpc-run of this mpcc");
  return *time;
}
