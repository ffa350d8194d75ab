// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products of a training step no longer say which of their dimensions was whose; the extents of the
// layer's variables do, forward and backward.
#include "lib/Transforms/DimensionNames.h"
#include "mpc/Analysis/LayerPath.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mpc;

/// Names of the dimensions of a variable, by its own name.
static SmallVector<StringRef> namesOf(StringRef variable, int64_t rank, bool isRecurrent) {
  if (variable == "embeddings")
    return {"vocabulary", "width"};
  if (variable == "recurrent_kernel")
    return {"units", "gates of the units"};
  if (variable == "kernel" && rank == 2)
    return {"input features", isRecurrent ? "gates of the units" : "units"};
  return {};
}

DimensionNames::DimensionNames(ModuleOp module) {
  auto ownName = [](VariableOp variable) { return variable.getSymName().rsplit('/').second; };
  std::map<std::string, bool> isRecurrent;
  for (auto variable : module.getOps<VariableOp>())
    if (variable.getLayer() && ownName(variable) == "recurrent_kernel")
      isRecurrent[variable.getLayer()->str()] = true;
  for (auto variable : module.getOps<VariableOp>()) {
    auto type = dyn_cast<RankedTensorType>(variable.getType());
    if (!variable.getLayer() || !type)
      continue;
    const std::string layer = variable.getLayer()->str();
    auto &known = names[layer];
    for (auto [extent, name] :
         llvm::zip(type.getShape(), namesOf(ownName(variable), type.getRank(), isRecurrent[layer])))
      if (std::string &text = known[extent]; !StringRef(text).contains(name))
        text += (text.empty() ? "" : " or ") + name.str();
  }
}

std::string DimensionNames::describe(Location loc, int64_t extent) const {
  const std::string layer = layerPathOf(loc).str();
  if (layer.empty())
    return "";
  const std::string path = "'" + layer + "'";
  auto known = names.find(layer);
  if (known == names.end())
    return path;
  auto name = known->second.find(extent);
  return name == known->second.end() ? path : name->second + " of " + path;
}
