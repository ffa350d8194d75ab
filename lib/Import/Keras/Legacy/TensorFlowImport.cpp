// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers of Keras 2 that record a TensorFlow function, as plain ops of @forward: they have neither
// variables nor masks, and their policy casts nothing (tf_keras/src/layers/core/tf_op_layer.py sets
// autocast=False).
#include "TensorFlowImport.h"

#include "TensorFlowBuilder.h"
#include "TensorFlowNodes.h"

#include "../GraphImporter.h"

#include "llvm/ADT/StringMap.h"

namespace mpc::keras {

using mlir::Value;

const TensorFlowFunction *findTensorFlowFunction(llvm::StringRef name) {
  static const llvm::StringMap<const TensorFlowFunction *> table = [] {
    llvm::StringMap<const TensorFlowFunction *> functions;
    for (llvm::ArrayRef<TensorFlowFunction> family :
         {tensorFlowArithmetic(), tensorFlowBackend(), tensorFlowImages(), tensorFlowIndexing(),
          tensorFlowMatrices(), tensorFlowNetworks(), tensorFlowRandom(), tensorFlowReductions(),
          tensorFlowShapes(), tensorFlowWindows()})
      for (const TensorFlowFunction &function : family) {
        llvm::SmallVector<llvm::StringRef> names;
        llvm::StringRef(function.names).split(names, '|');
        for (llvm::StringRef each : names)
          functions.try_emplace(each, &function);
      }
    return functions;
  }();
  if (auto found = table.find(name); found != table.end())
    return found->second;
  return name.consume_front("compat.v1.") ? table.lookup(name) : nullptr;
}

/// The function that the layer calls, as files name it.
static std::string nameOfFunction(const LayerConfig &layer) {
  return layer.config.getString("function").value_or("").str();
}

std::string whyTensorFlowIsRefused(const LayerConfig &layer) {
  const std::string name = nameOfFunction(layer);
  if (name.empty())
    return "a layer '" + layer.className +
           "' names no function; expected 'function' in its config, as Keras 2.4 to 2.16 write it";
  if (findTensorFlowFunction(name))
    return "";
  return "TensorFlow operation tf." + name +
         " is not supported; compute it with those that are (docs/tensorflow-functions.md) or with "
         "layers of Keras, and save the model again";
}

bool GraphImporter::importTensorFlow(const LayerConfig &layer, const Node &node,
                                     llvm::StringRef path, llvm::ArrayRef<Value> tensors,
                                     Values &outputs) {
  const std::string name = nameOfFunction(layer);
  const TensorFlowFunction *function = findTensorFlowFunction(name);
  if (!function)
    return false; // reported before
  TensorFlowBuilder b(*this, builder, mlir::NameLoc::get(builder.getStringAttr(path)), *function,
                      node, tensors);
  outputs = {b.hasFailed() ? Value() : function->import(b)};
  llvm::append_range(outputs, b.furtherResults);
  const bool hasOutputs = !b.hasFailed() && b.judgeResults(outputs);
  if (b.hasFailed())
    report(path, "TensorFlow operation tf." + name + ": " + b.getError());
  else if (!hasOutputs)
    report(path, "TensorFlow operation tf." + name + " could not be imported");
  return hasOutputs;
}

} // namespace mpc::keras
