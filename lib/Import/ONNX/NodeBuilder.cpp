// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/NodeBuilder.h"

#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/GraphImporter.h"

namespace mpc::onnx {

using mlir::Value;

static mlir::OpBuilder atEnd(mlir::Block &body, mlir::MLIRContext *context) {
  mlir::OpBuilder builder(context);
  builder.setInsertionPointToEnd(&body);
  return builder;
}

NodeBuilder::NodeBuilder(GraphImporter &importer, const Node &node, llvm::StringRef path,
                         int64_t opset, llvm::ArrayRef<const NodeValue *> inputs, mlir::Block &body)
    : ValueBuilder(atEnd(body, importer.forward.builder.getContext()),
                   mlir::NameLoc::get(importer.forward.builder.getStringAttr(path))),
      node(node), path(path), opset(opset), attributes(node), importer(importer), body(body),
      inputs(inputs), bound(inputs.size()), results(node.outputs.size()) {}

Value NodeBuilder::error(const llvm::Twine &message) {
  failed = true;
  importer.error(path, node.op + ": " + message);
  return {};
}

// ---- Inputs -------------------------------------------------------------------------------------

Value NodeBuilder::get(unsigned i) {
  if (!has(i))
    return error("input " + llvm::Twine(i) + " is missing");
  const NodeValue &input = *inputs[i];
  if (bound[i])
    return bound[i];
  if (input.elements)
    return error("input " + llvm::Twine(i) + " is a sequence; expected a tensor");
  if (input.literal) {
    if (input.literal->hasBatch && !movesElements)
      return error("input " + llvm::Twine(i) +
                   " depends on the open batch in a way that is not supported; say the batch: "
                   "--batch=N");
    return bound[i] = makeLiteral(*input.literal);
  }
  const bool isVariable = input.variable.has_value();
  Value outer = isVariable ? importer.forward.getVariable(*input.variable, path) : input.value;
  for (unsigned other = 0; other < i; ++other)
    if (has(other) && bound[other] && inputs[other] == inputs[i])
      return bound[i] = bound[other];
  if (isVariable) {
    variables.push_back(outer);
    return bound[i] = body.addArgument(outer.getType(), location);
  }
  bound[i] = body.insertArgument(unsigned(operands.size()), outer.getType(), location);
  operands.push_back(outer);
  return bound[i];
}

llvm::SmallVector<int64_t> NodeBuilder::getShape(unsigned i) const {
  return has(i) ? importer.getShape(*inputs[i]) : llvm::SmallVector<int64_t>();
}

const Literal *NodeBuilder::getLiteral(unsigned i) {
  if (!has(i))
    return nullptr;
  std::shared_ptr<const Literal> literal = importer.getLiteral(*inputs[i]);
  if (literal)
    literals.push_back(literal);
  return literal.get();
}

std::optional<llvm::SmallVector<int64_t>> NodeBuilder::getExtents(unsigned i,
                                                                  llvm::StringRef what) {
  const Literal *literal = getLiteral(i);
  if (!literal || !literal->isInteger()) {
    error(what + (literal ? " must be integers"
                          : " must be constant: a compiled model has static "
                            "shapes; give the model extents that are known "
                            "(--input-shape, --batch)"));
    return std::nullopt;
  }
  llvm::SmallVector<int64_t> values(literal->tensor.integers.begin(),
                                    literal->tensor.integers.end());
  if (literal->hasBatch)
    for (int64_t &value : values)
      if (value == Literal::kBatch)
        value = mlir::ShapedType::kDynamic;
  return values;
}

std::optional<llvm::SmallVector<int64_t>> NodeBuilder::getIntegers(unsigned i,
                                                                   llvm::StringRef what) {
  if (const Literal *literal = getLiteral(i); literal && literal->hasBatch) {
    error(what + " depends on the open batch; say the batch: --batch=N");
    return std::nullopt;
  }
  return getExtents(i, what);
}

std::optional<llvm::SmallVector<double>> NodeBuilder::getNumbers(unsigned i, llvm::StringRef what) {
  const Literal *literal = getLiteral(i);
  if (!literal || literal->hasBatch) {
    error(what + " must be constant");
    return std::nullopt;
  }
  llvm::SmallVector<double> values;
  for (int64_t element = 0, count = literal->tensor.size(); element < count; ++element)
    values.push_back(literal->tensor.at(element));
  return values;
}

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
  error("the shapes " + printed + " do not broadcast");
  return false;
}

// ---- Values -------------------------------------------------------------------------------------

Value NodeBuilder::makeLiteral(const Literal &literal) {
  const mlir::Type element = nominalType(builder, literal.type);
  const bool isDouble = literal.type == DataType::Double && !importer.options.policy;
  Value constant = make<ConstantOp>(llvm::cast<mlir::ElementsAttr>(
      literal.toAttribute(isDouble ? mlir::Type(builder.getF64Type()) : element)));
  return isDouble ? makeCastTo(constant, builder.getF64Type()) : constant;
}

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
    results[i] = {value, type};
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
