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
  const LossEntry *entry = lookupLoss(canonicalName(loss.identifier));
  if (!entry)
    return "is not supported; use one of " + supportedLosses();
  if (std::string problem = checkArgumentNames(loss.config, entry->arguments); !problem.empty())
    return problem;
  if (std::string problem =
          checkArguments(loss.config, {"apply_class_balancing", "from_logits", "remove_diagonal"},
                         {"axis", "dtype", "name", "reduction", entry->list});
      !problem.empty())
    return problem;
  int64_t rank = prediction.getRank();
  for (double axis : loss.numbers("axis"))
    if (axis != int64_t(axis) || axis < -rank || axis >= rank)
      return "has axis " + std::to_string(int64_t(axis)) + ", but the output has " +
             std::to_string(rank) + " dimensions";
  if (double smoothing = loss.number("label_smoothing", 0); !(smoothing >= 0 && smoothing <= 1))
    return "has label_smoothing outside [0, 1]";
  return entry->check ? entry->check(loss, prediction) : "";
}
