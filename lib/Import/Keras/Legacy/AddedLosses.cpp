// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers that model.add_loss and model.add_metric of Keras 2 leave in a file: they hand their input
// on (tf_keras/src/engine/base_layer.py, AddLoss and AddMetric; compile_utils.py sums the losses).
#include "lib/Import/Keras/GraphImporter.h"
#include "lib/Import/Keras/Legacy/Layers.h"

namespace mpc::keras {

using mlir::Value;

bool importAddedLoss(GraphImporter &importer, const LayerConfig &layer, const Node *,
                     llvm::StringRef path, bool, llvm::ArrayRef<Value> inputs,
                     llvm::SmallVector<Value> &outputs) {
  outputs.assign(inputs.begin(), inputs.end());
  for (Value term : inputs)
    if (tensorTypeOf(term).getRank() == 0 && mlir::isa<mlir::FloatType>(elementTypeOf(term)))
      importer.forward.addLossTerm(path, layer.className, term);
    else
      // Keras adds such a loss to the scalar of the others, which TensorFlow refuses.
      importer.report.noteInferenceOnly(
          path, "AddLoss of a tensor that is no floating scalar, such as tf.reduce_mean gives");
  return true;
}

bool importAddedMetric(GraphImporter &importer, const LayerConfig &layer, const Node *,
                       llvm::StringRef path, bool, llvm::ArrayRef<Value> inputs,
                       llvm::SmallVector<Value> &outputs) {
  outputs.assign(inputs.begin(), inputs.end());
  const std::string name = layer.config.getString("metric_name").value_or("").str();
  const bool isMean = layer.config.getString("aggregation") == llvm::StringRef("mean");
  for (Value values : inputs)
    if (const bool shown =
            isMean && !name.empty() && importer.forward.addMetric(path, name, values);
        !shown)
      importer.report.warn(
          path + ": the metric '" + name +
          "', which model.add_metric gave the model, is left out: " +
          (isMean ? "another one has its name"
                  : "the file does not say how its values are aggregated") +
          "; training and evaluation do not show it; predictions and losses are those of "
          "Keras");
  return true;
}

} // namespace mpc::keras
