// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls of operations: plain ops of @forward, which are written for tensors as the graph has them
// and then brought to values that have the batch first.
#include "lib/Import/Common/BatchAxis.h"
#include "lib/Import/Common/BatchFirst.h"
#include "lib/Import/Common/Shape.h"
#include "lib/Import/Keras/GraphImporter.h"

#include "lib/Import/Keras/Legacy/TensorFlowImport.h"
#include "lib/Import/Keras/Legacy/TensorFlowNodes.h"
#include "lib/Import/Keras/Operations/OperationBuilder.h"

namespace mpc::keras {

using mlir::Value;

namespace {

/// The ops of one call, apart from @forward until they all have the batch first.
class OperationCall {
public:
  OperationCall(ForwardFunction &forward, llvm::StringRef path)
      : forward(forward), inner(forward.builder.getContext()),
        location(mlir::NameLoc::get(forward.builder.getStringAttr(path))),
        batchFirst(block, forward.builder.getContext()) {
    inner.setInsertionPointToEnd(&block);
  }

  /// The tensor for which `value` stands.
  Value view(Value value) {
    const BatchPlace place = forward.batchPlaces.get(value);
    if (place.isFirst())
      return value;
    auto type = tensorTypeOf(value);
    Value tensor =
        mlir::UnrealizedConversionCastOp::create(
            inner, location, mlir::TypeRange{type.clone(place.restore(type.getShape()))}, value)
            .getResult(0);
    batchFirst.add(tensor, {value, place});
    return tensor;
  }

  /// Puts the ops into @forward, and values in the place of the tensors. Else an op that has no
  /// form with the batch first.
  mlir::Operation *finish(llvm::MutableArrayRef<Value> results) {
    if (mlir::Operation *op = batchFirst.run())
      return op;
    for (Value &result : results)
      if (result)
        result = standFor(batchFirst.find(result));
    batchFirst.finish();
    forward.builder.getInsertionBlock()->getOperations().splice(forward.builder.getInsertionPoint(),
                                                                block.getOperations());
    return nullptr;
  }

  mlir::OpBuilder &getBuilder() { return inner; }
  mlir::Location getLocation() const { return location; }

private:
  /// A value from before the call that stands for another tensor is none of this one.
  Value standFor(std::pair<Value, BatchPlace> found) {
    auto [value, place] = found;
    const bool isNew = value.getParentBlock() == &block;
    if (!isNew && forward.batchPlaces.get(value) != place)
      value = ReshapeOp::create(inner, location, value.getType(), value);
    forward.batchPlaces.set(value, place);
    return value;
  }

  ForwardFunction &forward;
  mlir::Block block;
  mlir::OpBuilder inner;
  mlir::Location location;
  BatchFirst batchFirst;
};

} // namespace

bool GraphImporter::importOperation(const LayerConfig &layer, const Node &node,
                                    llvm::StringRef path, llvm::ArrayRef<Value> tensors,
                                    Values &outputs) {
  if (unsupported.contains(&layer))
    return false;
  if (isTensorFlowClass(layer.className))
    return importTensorFlow(*this, layer, node, path, tensors, outputs);
  OperationCall call(forward, path);
  const Values views = llvm::map_to_vector(tensors, [&](Value each) { return call.view(each); });
  OperationBuilder b(call.getBuilder(), call.getLocation(), layer, node, views);
  b.movesBatch = true;
  outputs = {findOperation(layer)(b)};
  llvm::append_range(outputs, b.furtherResults);
  if (!b.hasFailed() && !llvm::is_contained(outputs, Value()))
    if (mlir::Operation *op = call.finish(outputs)) {
      std::string shapes;
      for (Value operand : op->getOperands())
        shapes += (shapes.empty() ? "" : ", ") + printShape(b.shapeOf(operand));
      b.error("'" + layer.className +
              "' takes elements of several samples together, or has no form with the batch in "
              "this dimension (" +
              op->getName().stripDialect() + " of " + shapes +
              "); keep the batch as the first dimension, or put TimeDistributed around layers that "
              "take an axis together with it");
      outputs.assign(outputs.size(), Value());
    }
  const bool hasOutputs = judgeResults(b, outputs);
  if (b.hasFailed())
    report.error(path, b.getError());
  else if (!hasOutputs)
    report.error(path, "the operation could not be imported");
  return hasOutputs;
}

} // namespace mpc::keras
