// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/reports/html_page.h"
#include "runtime/reports/value_report.h"
#include "runtime/untrusted/html_page.h"
#include "runtime/untrusted/outlets.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <tuple>

namespace mpc::reports {
namespace {

constexpr char style[] = R"(
svg.steps { height: 4rem; margin-top: .3rem; }
table { font-size: 14px; }
th, td { text-align: right; white-space: nowrap; }
th:nth-child(-n+4), td:nth-child(-n+4) { text-align: left; }
)";

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

/// How dark a share is: few elements can be seen, too.
std::string shade(double share) {
  char text[8];
  std::snprintf(text, sizeof text, "%.2f", 0.15 + 0.85 * share);
  return text;
}

/// The values of one layer.
struct LayerOfPage {
  std::string path;
  std::vector<const TracedValue *> values;
  std::optional<double> headroom; // the smallest
  bool isBroken = false;
  uint64_t count = 0, lost = 0;
  std::map<int, uint64_t> exponents;

  void add(const TracedValue &value) {
    values.push_back(&value);
    isBroken |= !value.isFinite();
    count += value.counts.count;
    lost += value.underflow().value_or(0);
    for (auto [exponent, elements] : value.exponents)
      exponents[exponent] += elements;
    if (const std::optional<double> own = headroomOf(value); own && (!headroom || *own < *headroom))
      headroom = own;
  }
  bool losesMuch() const { return count && lost * 10 > count; }
  untrusted::Grade grade() const {
    if (isBroken)
      return untrusted::Grade::bad;
    return (headroom && *headroom < 2) || losesMuch() ? untrusted::Grade::near
                                                      : untrusted::Grade::good;
  }
  std::string mark() const {
    if (isBroken)
      return "not finite";
    return headroom ? number(*headroom) + " bits" : "zeros";
  }
};

std::vector<LayerOfPage> groupByLayer(const std::vector<TracedValue> &values) {
  std::vector<LayerOfPage> layers;
  std::map<std::string, size_t> places;
  for (const TracedValue &value : values) {
    auto [place, isNew] = places.try_emplace(value.layer, layers.size());
    if (isNew)
      layers.emplace_back().path = value.layer;
    layers[place->second].add(value);
  }
  return layers;
}

/// Bars over the exponents from -40 to 24; what is beyond them counts at the ends.
std::string drawHistogram(const std::map<int, uint64_t> &exponents) {
  constexpr int first = -40, last = 24, bars = last - first + 1, height = 40;
  std::vector<uint64_t> counts(bars);
  uint64_t most = 1;
  for (auto [exponent, count] : exponents) {
    uint64_t &bar = counts[static_cast<size_t>(std::clamp(exponent, first, last) - first)];
    bar += count;
    most = std::max(most, bar);
  }
  std::string svg = "<svg viewBox=\"0 0 " + std::to_string(bars) + " " + std::to_string(height) +
                    "\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"elements by "
                    "exponent, from 2^-40 to 2^24\">";
  for (int i = 0; i < bars; ++i) {
    const uint64_t count = counts[static_cast<size_t>(i)];
    if (!count)
      continue;
    const double size =
        std::max(1.0, height * static_cast<double>(count) / static_cast<double>(most));
    svg += "<rect x=\"" + std::to_string(i) + "\" width=\"0.9\" y=\"" + number(height - size) +
           "\" height=\"" + number(size) + "\"><title>2^" + std::to_string(first + i) + ": " +
           std::to_string(count) + "</title></rect>";
  }
  return svg + "</svg>\n";
}

/// A column for each step, the largest exponents at the top; the darker, the more of the step's
/// elements.
std::string drawSteps(const std::vector<int64_t> &steps,
                      const std::vector<StepHistory::Bars> &bars) {
  constexpr size_t height = std::tuple_size_v<StepHistory::Bars>;
  std::string svg =
      "<svg class=\"steps\" viewBox=\"0 0 " + std::to_string(steps.size()) + " " +
      std::to_string(height) +
      "\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"elements by exponent, "
      "from 2^-40 at the bottom to 2^24, over steps " +
      std::to_string(steps.front()) + " to " + std::to_string(steps.back()) + "\">";
  for (size_t x = 0; x < steps.size(); ++x) {
    const uint64_t most = *std::max_element(bars[x].begin(), bars[x].end());
    svg += "<g><title>step " + std::to_string(steps[x]) + "</title>";
    for (size_t i = 0; i < height; ++i)
      if (const uint64_t count = bars[x][i])
        svg += "<rect x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(height - 1 - i) +
               "\" width=\"1\" height=\"1\" opacity=\"" +
               shade(static_cast<double>(count) / static_cast<double>(most)) + "\"/>";
    svg += "</g>";
  }
  return svg + "</svg>\n";
}

untrusted::LayerCard describeLayer(const LayerOfPage &layer, const StepHistory *history) {
  const std::vector<StepHistory::Bars> *bars = history ? history->find(layer.path) : nullptr;
  return {layer.path, layer.grade(), layer.mark(),
          std::to_string(layer.values.size()) + " values, " + std::to_string(layer.count) +
              " elements, " + std::to_string(layer.lost) + " underflowed",
          drawHistogram(layer.exponents) + (bars ? drawSteps(history->steps(), *bars) : "")};
}

std::vector<std::string> cellsOf(const TracedValue &value) {
  const mpc_rt_traced_value_t &counts = value.counts;
  const std::optional<double> headroom = headroomOf(value);
  const std::optional<uint64_t> underflow = value.underflow();
  return {value.layer,
          value.op,
          directionName(value.direction),
          dtypeName(value.dtype),
          std::to_string(counts.count),
          std::to_string(counts.zero),
          underflow ? std::to_string(*underflow) : "–",
          std::to_string(counts.infinite),
          std::to_string(counts.nan),
          number(counts.min_magnitude),
          number(counts.max_magnitude),
          headroom ? number(*headroom) : "–",
          value.wasCompared() ? number(value.relativeError()) : "–",
          value.ownError ? number(*value.ownError) : "–"};
}

} // namespace

std::string writePage(const std::string &title, const std::vector<TracedValue> &values,
                      const StepHistory *history, const std::string &note) {
  untrusted::HtmlPage page(title, style);
  if (!note.empty())
    page.addMarkup("<p><b>" + untrusted::forXml(note) + "</b></p>\n");
  page.addMarkup("<p>Layers in the order of execution. At the right of each: bits between its "
                 "largest element and the format's largest number. Bars: elements by exponent, "
                 "from 2<sup>-40</sup> to 2<sup>24</sup>.</p>\n");
  if (history && !history->steps().empty())
    page.addMarkup("<p>Below the bars: the same over steps " +
                   std::to_string(history->steps().front()) + " to " +
                   std::to_string(history->steps().back()) +
                   ", from left to right, large exponents at the top. Bars and values are those of "
                   "the last step.</p>\n");
  for (const LayerOfPage &layer : groupByLayer(values))
    page.addLayer(describeLayer(layer, history));
  page.addHeading("Values");
  page.beginTable({"layer", "op", "direction", "dtype", "count", "zero", "underflow", "inf", "nan",
                   "min", "max", "headroom", "error", "own error"});
  for (const TracedValue &value : values)
    page.addRow(cellsOf(value));
  page.endTable();
  return page.finish();
}

} // namespace mpc::reports
