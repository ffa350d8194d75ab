// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Nodes that no file has, given to the importer like others: what reads constants becomes one.
#include "lib/Import/ONNX/Ops/Pieces.h"

#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/NodeBuilder.h"

#include <limits>

namespace mpc::onnx {

using mlir::Value;
using B = NodeBuilder;
using Extents = llvm::SmallVector<int64_t>;

static void emitSlice(B &b) {
  Value x = b.get(0);
  if (!x)
    return;
  const int64_t axis = b.attributes.getInteger("axis", 0),
                first = b.attributes.getInteger("first", 0),
                count = b.attributes.getInteger("count", 1);
  const int64_t extent = b.shapeOf(x)[size_t(axis)];
  if (mlir::ShapedType::isDynamic(extent))
    return (void)b.errorOfOpenBatch("takes parts of the open batch");
  if (first < 0 || count < 1 || first > extent - count)
    return (void)b.error("takes elements " + llvm::Twine(first) + " to " +
                         llvm::Twine(first + count) + " of " + llvm::Twine(extent));
  Value y = count == extent ? x : b.make<SliceOp>(x, axis, first, count);
  Extents shape(b.shapeOf(y));
  if (b.attributes.getFlag("drops"))
    shape.erase(shape.begin() + axis);
  b.setResult(0, b.makeReshape(y, shape), b.getType(0));
}

static void emitJoin(B &b) {
  const int64_t axis = b.attributes.getInteger("axis", 0);
  const bool isNew = b.attributes.getFlag("new");
  llvm::SmallVector<Value> parts;
  for (unsigned i = 0; i < b.getInputCount(); ++i) {
    Value part = b.get(i);
    if (!part)
      return;
    Extents shape(b.shapeOf(part));
    if (isNew)
      shape.insert(shape.begin() + axis, 1);
    parts.push_back(b.makeReshape(part, shape));
    const Extents first(b.shapeOf(parts.front()));
    bool fits = shape.size() == first.size() && b.getType(i) == b.getType(0);
    for (size_t d = 0; fits && d < shape.size(); ++d)
      fits = int64_t(d) == axis || shape[d] == first[d];
    if (!fits || mlir::ShapedType::isDynamic(shape[size_t(axis)]))
      return (void)b.error("joins tensors of the shapes " + printShape(first) + " and " +
                           printShape(shape) + " along dimension " + llvm::Twine(axis));
  }
  b.setResult(
      0, parts.size() == 1 ? parts.front() : b.make<ConcatenateOp>(mlir::ValueRange(parts), axis),
      b.getType(0));
}

static void emitSelect(B &b) {
  Value condition = b.get(0), onTrue = b.get(1), onFalse = b.get(2);
  if (!condition || !onTrue || !onFalse)
    return;
  if (b.shapeOf(onTrue) != b.shapeOf(onFalse) || b.getType(1) != b.getType(2))
    return (void)b.error("has branches with results of the shapes " +
                         printShape(b.shapeOf(onTrue)) + " and " + printShape(b.shapeOf(onFalse)) +
                         " under a condition that is not constant; expected one shape and type");
  if (isFloating(b.getType(1)))
    b.setComputeType(b.getType(1));
  b.setResult(0, b.makeSelect(b.makeReshape(b.makeBool(condition), {}), onTrue, onFalse),
              b.getType(1));
}

static void emitRequire(B &b) {
  Value condition = b.get(0), value = b.get(1);
  if (!condition || !value)
    return;
  if (!b.isFloat(value))
    return (void)b.error("an integer has no NaN");
  b.setComputeType(b.getType(1));
  Value nan = b.makeConstant(std::numeric_limits<double>::quiet_NaN());
  Value isTrue = b.makeReshape(b.makeBool(condition), {});
  const bool wanted = b.attributes.getFlag("wanted");
  b.setResult(0, b.makeSelect(isTrue, wanted ? value : nan, wanted ? nan : value), b.getType(1));
}

std::optional<NodeValue>
Pieces::emit(const OpEntry &entry, llvm::ArrayRef<NodeValue> inputs,
             llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> attributes) {
  Node node;
  node.op = kind;
  node.outputs = {"out"};
  Scope scope;
  for (const auto &[i, input] : llvm::enumerate(inputs)) {
    node.inputs.push_back("in" + std::to_string(i));
    scope.set(node.inputs.back(), input);
  }
  for (const auto &[name, number] : attributes) {
    Attribute &attribute = node.attributes.emplace_back();
    attribute.name = name.str();
    attribute.value = number;
  }
  node.name = entry.name.str();
  if (!emitNode(importer, entry, node, scope, importer.makePath(node, path)))
    return std::nullopt;
  return *scope.find("out");
}

std::optional<NodeValue> Pieces::slice(const NodeValue &x, int64_t axis, int64_t first,
                                       int64_t count, bool drops) {
  static constexpr OpEntry entry{"slice", 1, emitSlice, nullptr, OpenBatch::anywhere};
  return emit(entry, x, {{"axis", axis}, {"first", first}, {"count", count}, {"drops", drops}});
}

std::optional<NodeValue> Pieces::join(llvm::ArrayRef<NodeValue> parts, int64_t axis, bool isNew) {
  static constexpr OpEntry entry{"join", 1, emitJoin, nullptr, OpenBatch::anywhere};
  return emit(entry, parts, {{"axis", axis}, {"new", isNew}});
}

std::optional<NodeValue> Pieces::select(const NodeValue &condition, const NodeValue &onTrue,
                                        const NodeValue &onFalse) {
  static constexpr OpEntry entry{"select", 1, emitSelect, nullptr, OpenBatch::anywhere};
  return emit(entry, {condition, onTrue, onFalse}, {});
}

std::optional<NodeValue> Pieces::require(const NodeValue &condition, bool wanted,
                                         const NodeValue &value) {
  static constexpr OpEntry entry{"require", 1, emitRequire, nullptr, OpenBatch::anywhere};
  return emit(entry, {condition, value}, {{"wanted", wanted}});
}

NodeValue Pieces::makeInteger(int64_t value) const {
  Literal literal = Literal::fromIntegers(importer.forward.builder, {}, {value});
  return NodeValue::fromLiteral(std::move(literal));
}

NodeValue Pieces::makeTruth(bool value) const {
  Literal literal = Literal::fromIntegers(importer.forward.builder, {}, {value});
  literal.type = DataType::Bool;
  literal.tensor.elementType = importer.forward.builder.getI1Type();
  return NodeValue::fromLiteral(std::move(literal));
}

std::optional<int64_t> findNumber(GraphImporter &importer, const NodeValue &value) {
  std::shared_ptr<const Literal> literal = importer.getLiteral(value);
  if (!literal || literal->hasBatch || !literal->isInteger() || literal->tensor.size() != 1)
    return std::nullopt;
  return literal->tensor.integers.front();
}

} // namespace mpc::onnx
