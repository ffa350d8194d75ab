// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "tools/mpcc/search/Sensitivities.h"
#include "llvm/Support/JSON.h"
#include <cmath>
#include <vector>

using namespace mpc;

namespace {
/// The values of one layer, summed up.
struct LayerValues {
  struct Rounded {
    double count, rms, unit, lost;
  };
  std::vector<Rounded> rounded;
  std::map<double, double> gradients; ///< largest rms by number of elements
  double relativeError = 0;
  bool isInfinite = false;
};
} // namespace

/// Half a unit in the last place of a number between 1 and 2; 0 of wide types.
static double unitOf(llvm::StringRef dtype) {
  return dtype == "bfloat16" ? 0x1p-9 : dtype == "float16" ? 0x1p-12 : 0;
}

static void addValue(const llvm::json::Object &value, LayerValues &layer) {
  auto number = [&](const char *key) { return value.getNumber(key).value_or(0); };
  const llvm::StringRef direction = value.getString("direction").value_or("");
  const double count = number("count"), rms = number("rms");
  const double unit = unitOf(value.getString("dtype").value_or(""));
  if (unit > 0 && number("inf") + number("nan") > 0)
    layer.isInfinite = true;
  if (direction == "backward") {
    double &largest = layer.gradients[count];
    largest = std::max(largest, rms);
  }
  if (direction != "forward" || unit == 0 || count == 0)
    return;
  layer.rounded.push_back({count, rms, unit, number("underflow") / count});
  if (const llvm::json::Object *error = value.getObject("error"); error && rms > 0)
    layer.relativeError = std::max(layer.relativeError, error->getNumber("rms").value_or(0) / rms);
}

static double sensitivityOf(const LayerValues &layer) {
  // More than any product of finite rms.
  if (layer.isInfinite)
    return 1e300;
  if (layer.gradients.empty())
    return layer.relativeError;
  double largest = 0, squares = 0;
  for (const auto &[count, rms] : layer.gradients)
    largest = std::max(largest, rms);
  for (const LayerValues::Rounded &value : layer.rounded) {
    auto same = layer.gradients.find(value.count);
    const double gradient = same == layer.gradients.end() ? largest : same->second;
    const double error = value.rms * std::max(value.unit, value.lost) * gradient;
    squares += value.count * error * error;
  }
  return std::sqrt(squares);
}

llvm::Expected<std::map<std::string, double>> mpc::readSensitivities(llvm::StringRef json) {
  llvm::Expected<llvm::json::Value> report = llvm::json::parse(json);
  if (!report)
    return report.takeError();
  std::map<std::string, LayerValues> layers;
  if (const llvm::json::Object *object = report->getAsObject())
    if (const llvm::json::Array *values = object->getArray("values"))
      for (const llvm::json::Value &value : *values)
        if (const llvm::json::Object *fields = value.getAsObject())
          addValue(*fields, layers[fields->getString("layer").value_or("").str()]);
  std::map<std::string, double> sensitivities;
  for (const auto &[path, layer] : layers)
    sensitivities[path] = sensitivityOf(layer);
  return sensitivities;
}
