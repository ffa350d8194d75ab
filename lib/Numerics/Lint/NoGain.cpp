// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers whose policy adds casts and nothing else.
#include "lib/Numerics/Lint/Rules.h"

using namespace mlir;
using namespace mpc;

/// Whether the layer multiplies matrices, which 16 bits make faster on each target.
static bool hasProducts(LayerOp layer) {
  return layer
      .walk([](Operation *op) {
        return isa<RuntimeCallOpInterface>(op) ? WalkResult::interrupt() : WalkResult::advance();
      })
      .wasInterrupted();
}

/// The compute dtype of the layer that makes `value`; a model input has the type that is declared.
static Type typeOfSource(Value value) {
  auto layer = value.getDefiningOp<LayerOp>();
  if (layer && layer.getPrecision())
    return layer.getPrecision()->getCompute();
  return elementTypeOf(value);
}

static void checkNoGain(const LintSubject &subject, LintReport &report) {
  for (LayerOp layer : subject.all<LayerOp>()) {
    if (!layer.getPrecision() || !isNarrow(layer.getPrecision()->getCompute()) ||
        !layer.getAutocast() || hasProducts(layer))
      continue;
    auto isWide = [](Type type) { return type.isF32() || type.isF64(); };
    auto inputs = llvm::make_filter_range(
        layer.getInputs(), [](Value input) { return isa<FloatType>(elementTypeOf(input)); });
    if (inputs.empty() ||
        !llvm::all_of(inputs, [&](Value input) { return isWide(typeOfSource(input)); }))
      continue;
    // An output of the model is the guard's: it alone is no reason.
    size_t readers = 0;
    const bool areWide = llvm::all_of(layer->getUsers(), [&](Operation *user) {
      auto reader = dyn_cast<LayerOp>(user);
      readers += bool(reader);
      return !reader || (reader.getPrecision() && isWide(reader.getPrecision()->getCompute()));
    });
    if (readers && areWide)
      report.tell(layer.getLoc(),
                  "computes in " + nameOf(layer.getPrecision()->getCompute()) +
                      " between float32 layers and multiplies no matrices: its policy "
                      "adds roundings and casts alone");
  }
}

const LintRule mpc::kNoGainRule = {
    "no-gain",
    "a layer of 16 bits without products of matrices between layers of float32",
    "it reads and writes float32 all the same, rounds twice, and is no faster",
    "give it the policy float32",
    /*isAlwaysTold=*/false,
    checkNoGain,
};
