// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/NodeBuilder.h"

#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/GraphImporter.h"

namespace mpc::onnx {

using mlir::Value;

// ---- Axes ---------------------------------------------------------------------------------------

std::optional<int64_t> NodeBuilder::resolveAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) {
    error("axis " + llvm::Twine(axis) + " is outside of " + llvm::Twine(rank) + " dimensions");
    return std::nullopt;
  }
  return axis < 0 ? axis + rank : axis;
}

std::optional<llvm::SmallVector<int64_t>> NodeBuilder::resolveAxes(llvm::ArrayRef<int64_t> axes,
                                                                   int64_t rank) {
  llvm::SmallVector<int64_t> resolved;
  for (int64_t axis : axes) {
    std::optional<int64_t> front = resolveAxis(axis, rank);
    if (!front)
      return std::nullopt;
    if (llvm::is_contained(resolved, *front)) {
      error("axis " + llvm::Twine(axis) + " is named twice");
      return std::nullopt;
    }
    resolved.push_back(*front);
  }
  llvm::sort(resolved);
  return resolved;
}

bool NodeBuilder::checkBroadcast(llvm::ArrayRef<Value> values) {
  llvm::SmallVector<llvm::ArrayRef<int64_t>> shapes;
  std::string printed;
  for (Value value : values) {
    if (!value)
      return false;
    shapes.push_back(shapeOf(value));
    printed += (printed.empty() ? "" : " and ") + printShape(shapes.back());
  }
  if (succeeded(broadcastShapes(shapes)))
    return true;
  const std::string message = "the shapes " + printed + " do not broadcast";
  // Those that would with some batch.
  llvm::SmallVector<llvm::SmallVector<int64_t>> closed;
  for (llvm::ArrayRef<int64_t> shape : shapes) {
    closed.emplace_back(shape);
    llvm::replace(closed.back(), mlir::ShapedType::kDynamic, int64_t(1));
  }
  if (succeeded(broadcastShapes(
          llvm::SmallVector<llvm::ArrayRef<int64_t>>(closed.begin(), closed.end()))))
    errorOfOpenBatch(message);
  else
    error(message);
  return false;
}

// ---- Values -------------------------------------------------------------------------------------

bool NodeBuilder::keepsTypes() const { return !importer.options.policy; }

Value NodeBuilder::getBatchCarrier() {
  Value outer = importer.forward.getBatchCarrier();
  if (!outer)
    return {};
  Value inside = body.insertArgument(unsigned(operands.size()), outer.getType(), location);
  operands.push_back(outer);
  return inside;
}

Value NodeBuilder::getRandomState() {
  if (!randomState) {
    Value outer = importer.forward.getRandomState();
    variables.push_back(outer);
    randomState = body.addArgument(outer.getType(), location);
  }
  return randomState;
}

int64_t NodeBuilder::takeRandomStream() { return importer.forward.takeRandomStream(); }

// ---- Results ------------------------------------------------------------------------------------

void NodeBuilder::setResult(unsigned i, Value value, DataType type) {
  if (i < results.size())
    results[i] = {value, type, /*isEmpty=*/false, BatchPlace(), std::nullopt};
}

void NodeBuilder::renew(unsigned i, Value value) {
  if (has(i) && inputs[i]->variable)
    updates.emplace_back(i, value);
}

DataType NodeBuilder::getComputeType() const {
  if (computeType != DataType::Undefined)
    return computeType;
  for (const NodeValue *input : inputs)
    if (input && isFloating(input->type) && !input->literal)
      return input->type;
  for (const NodeValue *input : inputs)
    if (input && isFloating(input->type))
      return input->type;
  return DataType::Float;
}

} // namespace mpc::onnx
