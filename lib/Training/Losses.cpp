// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lookup of losses by name, and the checks of their arguments.
#include "lib/Training/Losses.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace mpc;

static SmallVector<const LossEntry *> allLosses() {
  SmallVector<const LossEntry *> entries;
  for (ArrayRef<LossEntry> family : {crossEntropies(), regressionLosses(), marginLosses(),
                                     overlapLosses(), pairLosses(), sequenceLosses()})
    for (const LossEntry &entry : family)
      entries.push_back(&entry);
  llvm::sort(entries, [](const LossEntry *a, const LossEntry *b) { return a->name < b->name; });
  return entries;
}

int64_t LossInput::axis(int64_t standard) {
  int64_t axis = loss.optionalInteger("axis").value_or(standard);
  return axis < 0 ? axis + rank() : axis;
}

const LossEntry *mpc::lookupLoss(StringRef name) {
  for (const LossEntry *entry : allLosses())
    if (entry->name == name)
      return entry;
  return nullptr;
}

std::string mpc::supportedLosses() {
  SmallVector<StringRef> names;
  for (const LossEntry *entry : allLosses())
    names.push_back(entry->name);
  return llvm::join(names, ", ");
}

std::string mpc::checkLoss(const KerasObject &loss, RankedTensorType prediction) {
  std::string name = canonicalName(loss.identifier);
  if (!lookupLoss(name))
    return "is not supported; use one of " + supportedLosses();
  int64_t rank = prediction.getRank();
  if (name == "circle" && rank != 2)
    return "needs embeddings of shape (batch, width), but the output has " + std::to_string(rank) +
           " dimensions";
  if (name == "circle" && prediction.isDynamicDim(0))
    return "compares every pair of samples of a batch, whose size must be known; compile with "
           "--batch=N";
  if (name == "ctc" && rank != 3)
    return "needs logits of shape (batch, steps, classes), but the output has " +
           std::to_string(rank) + " dimensions";
  for (double axis : loss.numbers("axis"))
    if (axis != int64_t(axis) || axis < -rank || axis >= rank)
      return "has axis " + std::to_string(int64_t(axis)) + ", but the output has " +
             std::to_string(rank) + " dimensions";
  if (name == "sparse_categorical_crossentropy")
    if (auto axis = loss.optionalInteger("axis"); axis && *axis != -1 && *axis != rank - 1)
      return "has axis " + std::to_string(*axis) + "; Keras supports only the last one";
  if (name == "categorical_generalized_cross_entropy")
    if (double q = loss.number("q", 0.5); !(q > 0 && q < 1))
      return "has q outside (0, 1)";
  if (double smoothing = loss.number("label_smoothing", 0); !(smoothing >= 0 && smoothing <= 1))
    return "has label_smoothing outside [0, 1]";
  return "";
}
