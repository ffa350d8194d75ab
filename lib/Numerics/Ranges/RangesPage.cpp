// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A page about proved ranges: layers with the numbers that their values can have, and a table.
#include "mpc/Analysis/LayerPath.h"
#include "mpc/Numerics/Ranges/Ranges.h"
#include "runtime/untrusted/html_page.h"
#include "runtime/untrusted/outlets.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mpc;
using untrusted::Grade;

constexpr double kLargestFloat16 = 65504;

static std::string print(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.4g", number);
  return text;
}

static std::string nameOf(Value value) {
  Operation *op = value.getDefiningOp();
  return op ? op->getName().stripDialect().str() : "argument";
}

static std::string print(const Bound &bound) {
  return "[" + print(bound.low) + ", " + print(bound.high) + "]" +
         (bound.mayBeNan ? " or NaN" : "");
}

/// The floating values of a layer. Others have no format to leave.
struct LayerRanges {
  SmallVector<std::pair<Value, Bound>> values;
  double largest = 0; ///< magnitude
  bool isBounded = true, fits = true;

  void add(Value value, const Bound &bound) {
    values.emplace_back(value, bound);
    largest = std::max({largest, std::abs(bound.low), std::abs(bound.high)});
    isBounded &= std::isfinite(bound.low) && std::isfinite(bound.high) && !bound.mayBeNan;
    fits &= fitsFloat16(bound);
  }
  Grade grade() const { return !isBounded ? Grade::bad : fits ? Grade::good : Grade::near; }
  std::string mark() const {
    if (!isBounded)
      return "not bounded";
    return largest == 0 ? "zeros" : print(std::log2(kLargestFloat16 / largest)) + " bits";
  }
};

/// From 0 to 100: the logarithm on both sides of 0 in the middle, up to 2^24.
static double placeOf(double number) {
  const double size = std::min(1.0, std::log2(1 + std::abs(number) * 256) / 32);
  return 50 + (number < 0 ? -50 : 50) * size;
}

/// A bar for each value; lines where float16 ends.
static std::string draw(const LayerRanges &layer) {
  std::string svg;
  llvm::raw_string_ostream os(svg);
  os << "<svg viewBox=\"0 0 100 " << layer.values.size()
     << "\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"numbers that each value can "
        "have, from -2^24 to 2^24, and where float16 ends\">";
  for (auto [i, entry] : llvm::enumerate(layer.values)) {
    auto [value, bound] = entry;
    const double low = placeOf(bound.low), high = placeOf(bound.high);
    os << "<rect x=\"" << print(low) << "\" width=\"" << print(std::max(0.4, high - low))
       << "\" y=\"" << print(double(i) + 0.15) << "\" height=\"0.7\"><title>"
       << untrusted::forXml(nameOf(value)) << " in " << print(bound) << "</title></rect>";
  }
  for (double end : {-kLargestFloat16, kLargestFloat16})
    os << "<rect class=\"end\" x=\"" << print(placeOf(end)) << "\" width=\"0.3\" y=\"0\" height=\""
       << layer.values.size() << "\"/>";
  os << "</svg>\n";
  return svg;
}

static std::string describe(const RangeFacts &facts) {
  SmallVector<std::string> parts;
  for (const auto &[name, range] : facts.inputs)
    parts.push_back("elements of '" + name + "' in [" + print(range.first) + ", " +
                    print(range.second) + "]");
  parts.push_back(facts.weights ? "the weights as they are" : "any finite weights");
  parts.push_back(facts.training ? "training" : "inference");
  return "Proved for " + llvm::join(parts, ", ") + ".";
}

std::string mpc::writeRangesPage(const RangeAnalysis &analysis) {
  func::FuncOp function = analysis.getFunction();
  untrusted::HtmlPage page("Ranges of @" + function.getSymName().str(),
                           "svg rect { opacity: .6; } svg rect.end { opacity: 1; }\n"
                           "table { font-size: 14px; }\n");
  page.addParagraph(describe(analysis.getUsedFacts()));
  page.addMarkup("<p>At the right of each layer: bits between the largest number that any of its "
                 "values can have and float16's largest. Bars: the numbers of each value, 0 in the "
                 "middle, up to 2<sup>24</sup> on both sides; lines: where float16 ends.</p>\n");
  llvm::MapVector<StringRef, LayerRanges> layers;
  forEachValue(function, [&](Value value) {
    if (isa<FloatType>(elementTypeOf(value)))
      layers[layerPathOf(value.getLoc())].add(value, analysis.at(value));
  });
  for (const auto &[path, layer] : layers)
    page.addLayer({path.empty() ? "(no layer)" : path.str(), layer.grade(), layer.mark(),
                   std::to_string(layer.values.size()) + " values, the largest magnitude " +
                       print(layer.largest),
                   draw(layer)});
  page.addHeading("Values");
  page.beginTable({"value", "layer", "op", "dtype", "numbers", "float16", "error at most"});
  size_t place = 0;
  forEachValue(function, [&](Value value) {
    const Bound &bound = analysis.at(value);
    const Type type = elementTypeOf(value);
    std::string dtype;
    llvm::raw_string_ostream(dtype) << type;
    page.addRow({std::to_string(place++), layerPathOf(value.getLoc()).str(), nameOf(value), dtype,
                 print(bound),
                 !isa<FloatType>(type) ? "–"
                 : fitsFloat16(bound)  ? "cannot overflow"
                                       : "cannot be shown",
                 std::isfinite(bound.error) ? print(bound.error) : "–"});
  });
  page.endTable();
  return page.finish();
}
