// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LoRA factors that no training step changes.
#include "lib/Numerics/Lint/Rules.h"

using namespace mlir;
using namespace mpc;

static bool isZero(const Weight &weight) {
  return llvm::all_of(weight.bytes, [](uint8_t byte) { return byte == 0; });
}

static void checkIdleLora(const LintSubject &subject, LintReport &report) {
  if (subject.hasLayers() || !subject.getWeights() || !subject.getFunction("loss"))
    return;
  const auto &weights = subject.getWeights()->all();
  SymbolTable symbols(subject.getModule());
  for (VariableOp first : subject.all<VariableOp>()) {
    // Keras's names: lora_kernel_a, lora_embeddings_b.
    const StringRef path = first.getSymName();
    if (!path.rsplit('/').second.starts_with("lora_") || !path.ends_with("_a"))
      continue;
    const std::string other = (path.drop_back() + "b").str();
    auto second = symbols.lookup<VariableOp>(other);
    auto a = weights.find(path.str()), b = weights.find(other);
    if (!second || a == weights.end() || b == weights.end())
      continue;
    const bool trains =
        first.getRole() == VariableRole::Trainable || second.getRole() == VariableRole::Trainable;
    const Location place = NameLoc::get(first.getSymNameAttr());
    const std::string names = "it and " + StringRef(other).rsplit('/').second.str();
    if (isZero(a->second) && isZero(b->second))
      report.tell(place, names + " are 0, so that LoRA adds nothing and neither has a gradient");
    else if (!trains && (isZero(a->second) || isZero(b->second)))
      report.tell(place,
                  names + " are frozen and their product is 0, so that LoRA never adds anything");
  }
}

const LintRule mpc::kIdleLoraRule = {
    "idle-lora",
    "LoRA factors that are both 0, or frozen with the product 0",
    "neither has a gradient, and the layer never adapts",
    "expected random numbers in the first one, as enable_lora makes them (a file that was saved "
    "before it has none), in a layer that is trainable",
    /*isAlwaysTold=*/true,
    checkIdleLora,
};
