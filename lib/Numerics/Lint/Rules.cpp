// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The table of rules, and how they are run.
#include "lib/Numerics/Lint/Rules.h"
#include "mlir/IR/Remarks.h"
#include "mpc/Analysis/LintName.h"

using namespace mlir;
using namespace mpc;

static const LintRule *const kRules[] = {
    &kNarrowSoftmaxRule,    &kNarrowOutputRule,      &kNoLossScaleRule,
    &kFloat16VariablesRule, &kBfloat16VariablesRule, &kInfiniteConstantRule,
    &kZeroConstantRule,     &kSmallEpsilonRule,      &kLongReductionRule,
    &kTinyVarianceRule,     &kUnguardedExpRule,      &kUnguardedSquareRule,
    &kFloatIdsRule,         &kTensorCoreDimsRule,    &kNarrowRegularizerRule,
    &kRoundedLabelsRule,    &kUnusedKeyRule,         &kNoGainRule,
    &kLostWeightsRule,      &kIdleLoraRule,
};

llvm::ArrayRef<const LintRule *> mpc::lintRules() { return kRules; }

const LintRule *mpc::findLintRule(llvm::StringRef name) {
  for (const LintRule *rule : kRules)
    if (rule->name == name)
      return rule;
  return nullptr;
}

SmallVector<LintFinding> mpc::lint(ModuleOp module, const LintContext &options) {
  SmallVector<LintFinding> findings;
  const LintSubject subject(module, options);
  for (const LintRule *rule : kRules) {
    if (!rule->check)
      continue;
    LintReport report(*rule, findings);
    rule->check(subject, report);
  }
  return findings;
}

void LintReport::tell(Location place, const llvm::Twine &text) {
  std::string full = (text + "; " + rule.fix).str();
  // IR without layers has places of its own.
  std::string where = layerPathOf(place).str();
  if (where.empty())
    llvm::raw_string_ostream(where) << place;
  if (told.insert(where + "\n" + full).second)
    findings.push_back({&rule, place, std::move(full)});
}

void mpc::emitFindings(ArrayRef<LintFinding> findings) {
  for (const LintFinding &finding : findings) {
    emitLint(finding.place, finding.rule->name) << finding.text;
    remark::analysis(finding.place,
                     remark::RemarkOpts::name(finding.rule->name).category("mpc-lint"))
        << finding.text;
  }
}

std::string mpc::describeLintRules() {
  std::string page;
  llvm::raw_string_ostream os(page);
  os << "<!-- Written by LintPageTest --write; do not edit. -->\n"
        "# Hazards of precision\n\n"
        "`mpcc --lint` looks for these in the model before anything runs, and warns as\n"
        "`warning: FILE:LAYER: text [lint-NAME]`. `--lint=-NAME` silences one, also those that are "
        "told\n"
        "always. `--lint=error` ends with 1 if anything was found, and writes no model. Several "
        "stand with\n"
        "commas between them. Without the option they are decisions in `--explain=passes`. "
        "`--html=R.html`\n"
        "beside it writes a page: the layers, with what was found in each, and why it matters.\n\n"
        "| name | looks for | why | what to do | told |\n|---|---|---|---|---|\n";
  for (const LintRule *rule : kRules)
    os << "| `" << rule->name << "` | " << rule->finds << " | " << rule->why << " | " << rule->fix
       << " | " << (rule->isAlwaysTold ? "always" : "with `--lint`") << " |\n";
  return page;
}
