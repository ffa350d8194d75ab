// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Layers of Keras 2 that record a TensorFlow function, as plain ops of @forward: they have neither
// variables nor masks, and their policy casts nothing (tf_keras/src/layers/core/tf_op_layer.py sets
// autocast=False).
#include "lib/Import/Keras/Legacy/TensorFlowImport.h"
#include "lib/Import/Common/BatchAxis.h"

#include "lib/Import/Keras/Legacy/TensorFlowBuilder.h"
#include "lib/Import/Keras/Legacy/TensorFlowGraphOps.h"
#include "lib/Import/Keras/Legacy/TensorFlowNodes.h"

#include "lib/Import/Keras/GraphImporter.h"

#include "llvm/ADT/StringMap.h"

namespace mpc::keras {

using mlir::Value;

const TensorFlowFunction *findTensorFlowFunction(llvm::StringRef name) {
  static const llvm::StringMap<const TensorFlowFunction *> table = [] {
    llvm::StringMap<const TensorFlowFunction *> functions;
    for (llvm::ArrayRef<TensorFlowFunction> family :
         {tensorFlowArithmetic(), tensorFlowSizes(), tensorFlowImages(), tensorFlowIndexing(),
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

namespace {

/// The function that a layer calls: its name in messages, and the function of the table; null where
/// there is none.
struct Recorded {
  explicit Recorded(const LayerConfig &layer) {
    if (layer.className == "TensorFlowOpLayer") {
      name = nameOfGraphOperation(layer);
      function = findTensorFlowFunction(functionOfGraphOperation(name));
      return;
    }
    name = layer.config.getString("function").value_or("").str();
    function = findTensorFlowFunction(name);
    if (!name.empty())
      name = "tf." + name;
  }

  std::string name;
  const TensorFlowFunction *function;
};

} // namespace

std::string whyTensorFlowIsRefused(const LayerConfig &layer) {
  const Recorded recorded(layer);
  if (recorded.name.empty())
    return "a layer '" + layer.className +
           "' names no function; expected 'function' in its config (of TensorFlowOpLayer "
           "'node_def' with 'op'), as Keras 2.2 to 2.16 write it";
  if (recorded.function)
    return "";
  return "TensorFlow operation " + recorded.name +
         " is not supported; compute it with those that are "
         "(docs/generated/tensorflow-functions.md) or with "
         "layers of Keras, and save the model again";
}

namespace {

/// How often the batch is in the first dimension of a call's tensors: 1 where it is there alone.
/// Nothing, and an error, where the function cannot take them together.
std::optional<int64_t> findTimesBatch(TensorFlowBuilder &b, llvm::ArrayRef<Value> tensors) {
  const BatchPlaces &places = b.importer.forward.batchPlaces;
  std::optional<int64_t> times;
  int64_t rank = 0;
  for (Value tensor : tensors)
    if (std::optional<int64_t> own = places.getTimesBatch(tensor)) {
      if (times && *times != *own) {
        b.error("joins tensors of different multiples of the batch");
        return std::nullopt;
      }
      times = own;
      rank = std::max(rank, b.rankOf(tensor));
    }
  if (!times)
    return 1;
  const TensorFlowFunction *function = &b.function;
  llvm::ArrayRef<TensorFlowFunction> elementwise = tensorFlowArithmetic();
  const bool isElementwise = function >= elementwise.begin() && function < elementwise.end() &&
                             b.getInteger("axis", -1) == -1;
  const bool isShape =
      function == findTensorFlowFunction("reshape") || function == findTensorFlowFunction("shape");
  const bool isProduct =
      function == findTensorFlowFunction("linalg.matmul") &&
      places.getTimesBatch(tensors.front()) &&
      !(rank == 3 && (b.getFlag("transpose_a", false) || b.getFlag("adjoint_a", false)));
  // Axes that count from the end, and do not reach the first dimension, are the same ones.
  llvm::ArrayRef<TensorFlowFunction> reductions = tensorFlowReductions();
  bool isOverLast = llvm::StringRef(function->names).starts_with("nn.softmax_cross_entropy");
  if (function >= reductions.begin() && function < reductions.end())
    if (std::optional<llvm::SmallVector<int64_t>> axes = b.getIntegers("axis"))
      isOverLast = llvm::all_of(*axes, [&](int64_t a) { return a < 0 && a > 1 - rank; });
  // Another operand goes with each of these places alike: it has fewer dimensions, or 1 there.
  const bool isFit = llvm::all_of(tensors, [&](Value tensor) {
    const int64_t own = b.rankOf(tensor);
    return places.getTimesBatch(tensor) || (!tensorTypeOf(tensor).getNumDynamicDims() &&
                                            (own <= rank - 2 || (isProduct && own == 2) ||
                                             (own == rank - 1 && b.shapeOf(tensor).front() == 1)));
  });
  if (isShape || ((isElementwise || isProduct || isOverLast) && isFit))
    return times;
  b.error("takes a tensor whose first dimension is " + llvm::Twine(*times) +
          " times the batch, which elementwise functions, tf.matmul and tf.reshape take; keep the "
          "batch as a dimension of its own");
  return std::nullopt;
}

} // namespace

bool importTensorFlow(GraphImporter &importer, const LayerConfig &layer, const Node &node,
                      llvm::StringRef path, llvm::ArrayRef<Value> tensors,
                      llvm::SmallVector<Value> &outputs) {
  const Recorded recorded(layer);
  if (!recorded.function)
    return false; // reported before
  std::optional<Node> translated;
  if (layer.className == "TensorFlowOpLayer") {
    std::string why;
    translated = callOfGraphOperation(layer, node, why);
    if (!translated) {
      importer.report.error(path, "TensorFlow operation " + recorded.name + " is damaged: " + why);
      return false;
    }
  }
  mlir::OpBuilder &builder = importer.forward.builder;
  TensorFlowBuilder b(importer, builder, mlir::NameLoc::get(builder.getStringAttr(path)),
                      *recorded.function, translated ? *translated : node, tensors);
  const std::optional<int64_t> times = findTimesBatch(b, tensors);
  outputs = {b.hasFailed() ? Value() : recorded.function->import(b)};
  llvm::append_range(outputs, b.furtherResults);
  const llvm::StringRef names = recorded.function->names;
  if (times && *times > 1 && names != "reshape" && !names.starts_with("shape|"))
    for (Value output : outputs)
      if (output)
        importer.forward.batchPlaces.setTimesBatch(output, *times);
  const bool hasOutputs = !b.hasFailed() && judgeResults(b, outputs);
  if (b.hasFailed())
    importer.report.error(path, "TensorFlow operation " + recorded.name + ": " + b.getError());
  else if (!hasOutputs)
    importer.report.error(path, "TensorFlow operation " + recorded.name + " could not be imported");
  return hasOutputs;
}

} // namespace mpc::keras
