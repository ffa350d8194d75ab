// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/GraphOutputs.h"

#include "lib/Import/Common/Shape.h"

namespace mpc::onnx {

bool GraphOutputs::isTakenBatchFirst(llvm::StringRef name, const NodeValue &output) {
  const std::string shape = printShape(output.getShape());
  if (output.place.getFactor() != 1) {
    importer.errorOfOpenBatch(name, "the output has the shape " + shape + ", in which dimension " +
                                        llvm::Twine(output.place.axis) + " is " +
                                        llvm::Twine(output.place.getFactor()) +
                                        " of the open batch");
    return false;
  }
  if (importer.options.batchFirst)
    return true;
  importer.errorOfOpenBatch(
      name, "the output has the shape " + shape +
                ", in which the open batch is not the first dimension; --batch=first "
                "makes it the first of the library's array");
  return false;
}

/// Each output is a value of its own: the result of a layer that no other output has. A sequence is
/// as many outputs as it has elements.
llvm::SmallVector<ForwardOutput> GraphOutputs::import(const Scope &scope) {
  for (const ValueInfo &output : graph.outputs) {
    const NodeValue *value = scope.find(output.name);
    if (!value) {
      importer.error(output.name, "no node computes this output");
      continue;
    }
    if (value->isLost())
      continue;
    if (!value->elements)
      add(output.name, *value);
    else if (value->isOptional || value->known != KnownElements::all || value->elements->empty())
      importer.error(output.name,
                     "the output is a sequence of unknown or no elements, or an optional; "
                     "supported are tensors, and sequences of some");
    else
      for (const auto &[i, element] : llvm::enumerate(*value->elements)) {
        const std::string name = output.name + "_" + std::to_string(i);
        if (isNameOfOutput(name))
          importer.error(name, "two outputs would have this name: one is an element of '" +
                                   output.name + "'; rename it");
        add(name, element);
      }
  }
  addExtents();
  return std::move(outputs);
}

bool GraphOutputs::isNameOfOutput(llvm::StringRef name) const {
  return llvm::any_of(graph.outputs, [&](const ValueInfo &other) { return other.name == name; });
}

void GraphOutputs::add(const std::string &name, const NodeValue &value) {
  if (!value.place.isFirst() && !isTakenBatchFirst(name, value))
    return;
  mlir::Value result = value.value;
  const bool isTaken =
      llvm::any_of(outputs, [&](const ForwardOutput &output) { return output.value == result; });
  if (!result || value.bound || llvm::isa<mlir::BlockArgument>(result) || isTaken ||
      result.getDefiningOp<LayerOp>().getKind() == "InputLayer") {
    Node named;
    named.name = name;
    result =
        emitCopy(importer, value, importer.makePath(named, ""), result ? "Identity" : "Constant");
  }
  if (!result)
    return;
  outputs.push_back({result, value.bound, 0, value.type == DataType::String});
  importer.outputNames.push_back(name);
}

/// Behind the file's outputs: how much of bounded ones there is. Those with one count share it.
void GraphOutputs::addExtents() {
  llvm::DenseMap<mlir::Value, size_t> known; // outputs by count
  for (size_t i = 0, count = outputs.size(); i < count; ++i) {
    if (!outputs[i].bound)
      continue;
    const mlir::Value extent = outputs[i].bound->count;
    const auto [found, isNew] = known.try_emplace(extent, outputs.size());
    outputs[i].extent = found->second;
    if (!isNew)
      continue;
    const std::string name = importer.outputNames[i] + ":extent";
    if (isNameOfOutput(name))
      importer.error(name, "two outputs would have this name: one is the extent of '" +
                               importer.outputNames[i] + "'; rename it");
    NodeValue counted;
    counted.type = DataType::Int64;
    counted.value = extent;
    add(name, counted);
  }
}

} // namespace mpc::onnx
