// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Driver/LintPage.h"
#include "mpc/Numerics/Lint/Lint.h"
#include "runtime/untrusted/html_page.h"
#include "llvm/ADT/STLExtras.h"

using namespace mpc;
using untrusted::Grade;

/// A hazard that is told always is wrong whatever the data.
static Grade gradeOf(const ToldFinding &finding) {
  const LintRule *rule = findLintRule(finding.rule);
  return rule && rule->isAlwaysTold ? Grade::bad : Grade::near;
}

/// The layer that has the place: variables and parts of a layer have longer paths.
static size_t layerOf(llvm::StringRef place, llvm::ArrayRef<LayerSummary> layers) {
  size_t best = layers.size();
  for (auto [i, layer] : llvm::enumerate(layers)) {
    llvm::StringRef rest = place;
    if (rest.consume_front(layer.path) && (rest.empty() || rest.front() == '/') &&
        (best == layers.size() || layers[best].path.size() < layer.path.size()))
      best = i;
  }
  return best;
}

static std::string count(size_t findings) {
  return findings == 0   ? "nothing found"
         : findings == 1 ? "1 hazard"
                         : std::to_string(findings) + " hazards";
}

std::string mpc::writeLintPage(const std::string &model, std::vector<LayerSummary> layers,
                               llvm::ArrayRef<ToldFinding> findings) {
  untrusted::HtmlPage page("Hazards of precision in " + model);
  page.addParagraph(findings.empty() ? "Nothing was found."
                                     : count(findings.size()) +
                                           ". Marked by a cross is what is wrong whatever the "
                                           "data, by an exclamation mark what depends on it.");
  // Places that are no layer's: the model, files of options, IR whose layers are gone.
  for (const ToldFinding &finding : findings)
    if (layerOf(finding.place, layers) == layers.size())
      layers.push_back({finding.place, finding.place.empty() ? "the model as a whole" : "", ""});
  std::vector<std::pair<size_t, Grade>> found(layers.size(), {0, Grade::good});
  for (const ToldFinding &finding : findings) {
    auto &[number, grade] = found[layerOf(finding.place, layers)];
    ++number;
    grade = std::max(grade, gradeOf(finding));
  }
  for (auto [layer, own] : llvm::zip_equal(layers, found))
    page.addLayer({layer.path.empty() ? model : layer.path, own.second, count(own.first),
                   layer.kind + (layer.policy.empty() ? "" : ", " + layer.policy), ""});
  if (findings.empty())
    return page.finish();
  page.addHeading("Hazards");
  page.beginTable({"name", "layer", "found", "why it matters"});
  for (const ToldFinding &finding : findings) {
    const LintRule *rule = findLintRule(finding.rule);
    page.addRow({finding.rule, finding.place, finding.text, rule ? rule->why.str() : ""});
  }
  page.endTable();
  return page.finish();
}
