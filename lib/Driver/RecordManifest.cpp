// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers as the manifest describes them.
#include "lib/Driver/Compilation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mpc;

/// The manifest's entries for layers have to be noted before the layers are inlined.
void Compilation::recordManifest() {
  Builder builder(&context);
  SmallVector<Attribute> layers;
  llvm::StringSet<> seen;
  module->walk([&](LayerOp layer) {
    if (!layer.getPrecision() || !seen.insert(layer.getPath()).second)
      return;
    auto text = [&](Type type) {
      std::string printed;
      llvm::raw_string_ostream(printed) << type;
      return builder.getStringAttr(printed);
    };
    SmallVector<NamedAttribute> row = {
        builder.getNamedAttr("path", layer.getPathAttr()),
        builder.getNamedAttr("class", layer.getKindAttr()),
        builder.getNamedAttr("compute", text(layer.getPrecision()->getCompute())),
        builder.getNamedAttr("variable", text(layer.getPrecision()->getVariable())),
        builder.getNamedAttr("accumulate", text(layer.getPrecision()->getAccumulate())),
        builder.getNamedAttr("rule", layer.getPrecision()->getRule()),
    };
    // For the table that people read: a layer of several outputs shows its first.
    if (auto output = layer->getNumResults()
                          ? dyn_cast<RankedTensorType>(layer->getResult(0).getType())
                          : RankedTensorType())
      row.push_back(
          builder.getNamedAttr("output", builder.getDenseI64ArrayAttr(output.getShape())));
    if (StringAttr policy = layer.getQuantizedPolicyAttr())
      row.push_back(builder.getNamedAttr("policy", policy));
    layers.push_back(builder.getDictionaryAttr(row));
  });
  (*module)->setAttr(MpcDialect::kLayersAttr, builder.getArrayAttr(layers));
  if (options.initialize)
    (*module)->setAttr(MpcDialect::kSeedAttr,
                       builder.getI64IntegerAttr(int64_t(*options.initialize)));
}
