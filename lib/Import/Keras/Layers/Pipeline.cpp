// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/preprocessing/pipeline.py: layers in a row, as a layer.
#include "lib/Import/Keras/GraphImporter.h"
#include "lib/Import/Keras/LayerRegistry.h"

namespace mpc::keras {
namespace {

using mlir::Value;

/// Keras hands the input on as it is: only the layers cast. Their groups in the weight file are
/// numbered within the pipeline.
bool importPipeline(GraphImporter &importer, const LayerConfig &layer, const Node *node,
                    llvm::StringRef path, bool trainable, llvm::ArrayRef<Value> inputs,
                    llvm::SmallVector<Value> &outputs) {
  const llvm::json::Array *list = layer.config.getArray("layers");
  if (!list || list->empty() || inputs.size() != 1) {
    importer.report.error(path, "Pipeline takes one tensor and a list of 'layers', one or more");
    return false;
  }
  llvm::StringMap<unsigned> used;
  llvm::SmallVector<Value> values(inputs);
  for (unsigned i = 0; i < list->size(); ++i) {
    const LayerConfig *child = importer.tree.getChild(layer, path, "layers", i);
    if (!child)
      return false;
    std::string group = "layers/" + snakeCase(child->className);
    if (const unsigned count = used[group]++)
      group += "_" + std::to_string(count);
    importer.tree.placeChild(layer, *child, group);
    Node call;
    call.arguments.emplace_back().kind = Argument::Kind::Tensor;
    llvm::SmallVector<Value> results;
    if (!importer.importCall(*child, &call, (path + "/" + child->name).str(), trainable, values,
                             results))
      return false;
    values = std::move(results);
  }
  outputs.append(values);
  return true;
}

constexpr LayerEntry kPipelineLayers[] = {
    {"Pipeline", nullptr, Masking::Stops, importPipeline},
};

} // namespace

llvm::ArrayRef<LayerEntry> pipelineLayers() { return kPipelineLayers; }

} // namespace mpc::keras
