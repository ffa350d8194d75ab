// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/NodeInputs.h"

#include "lib/Import/Common/Shape.h"
#include "lib/Import/ONNX/GraphImporter.h"

namespace mpc::onnx {

using mlir::Value;

static mlir::OpBuilder atEnd(mlir::Block &body, mlir::MLIRContext *context) {
  mlir::OpBuilder builder(context);
  builder.setInsertionPointToEnd(&body);
  return builder;
}

NodeInputs::NodeInputs(GraphImporter &importer, const Node &node, llvm::StringRef path,
                       int64_t opset, llvm::ArrayRef<const NodeValue *> inputs, mlir::Block &body)
    : ValueBuilder(atEnd(body, importer.forward.builder.getContext()),
                   mlir::NameLoc::get(importer.forward.builder.getStringAttr(path))),
      node(node), path(path), opset(opset), attributes(node), importer(importer), body(body),
      inputs(inputs), bound(inputs.size()) {}

Value NodeInputs::error(const llvm::Twine &message) {
  failed = true;
  importer.error(path, node.op + ": " + message);
  return {};
}

Value NodeInputs::errorOfOpenBatch(const llvm::Twine &message) {
  failed = true;
  importer.errorOfOpenBatch(path, node.op + ": " + message);
  return {};
}

// ---- Inputs -------------------------------------------------------------------------------------

Value NodeInputs::get(unsigned i) {
  if (!has(i))
    return error("input " + llvm::Twine(i) + " is missing");
  const NodeValue &input = *inputs[i];
  if (bound[i])
    return bound[i];
  if (input.elements)
    return error("input " + llvm::Twine(i) + " is a sequence; expected a tensor");
  if (input.literal) {
    if (input.literal->hasBatch && !movesElements)
      return errorOfOpenBatch("input " + llvm::Twine(i) +
                              " depends on the open batch in a way that is not supported");
    return bound[i] = makeLiteral(*input.literal);
  }
  if (!input.place.isFirst() && !takesAnyPlace)
    return errorOfOpenBatch("of input " + llvm::Twine(i) + ", of shape " +
                            printShape(input.getShape()) +
                            ", the open batch is not the first dimension, or not by itself");
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
  if (input.bound)
    bounds.add(bound[i], *input.bound);
  if (!input.place.isFirst()) {
    Value inside = bound[i];
    auto type = mlir::RankedTensorType::get(input.getShape(), elementTypeOf(inside));
    bound[i] = make<mlir::UnrealizedConversionCastOp>(type, inside);
    views.emplace_back(bound[i], BatchFirst::Batched{inside, input.place});
  }
  return bound[i];
}

llvm::SmallVector<int64_t> NodeInputs::getShape(unsigned i) const {
  return has(i) ? importer.getShape(*inputs[i]) : llvm::SmallVector<int64_t>();
}

const Literal *NodeInputs::getLiteral(unsigned i) {
  // A variable that trains has no value that could be known.
  if (!has(i) ||
      (inputs[i]->variable && importer.forward.parameters->get(*inputs[i]->variable).isChosen))
    return nullptr;
  std::shared_ptr<const Literal> literal = importer.getLiteral(*inputs[i]);
  if (literal)
    literals.push_back(literal);
  return literal.get();
}

std::optional<llvm::SmallVector<int64_t>> NodeInputs::getExtents(unsigned i, llvm::StringRef what,
                                                                 int64_t *factor) {
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
  // The smallest integer means "from the end on" to PyTorch's flip, and the open batch to us.
  for (int64_t &value : values)
    value = std::max(value, mlir::ShapedType::kDynamic + 1);
  if (literal->hasBatch)
    for (int64_t &value : values)
      if (std::optional<int64_t> batches = Literal::findBatches(value)) {
        value = mlir::ShapedType::kDynamic;
        if (factor)
          *factor = *batches;
        else if (*batches != 1) {
          errorOfOpenBatch(what + " has a multiple of the open batch");
          return std::nullopt;
        }
      }
  return values;
}

std::optional<llvm::SmallVector<int64_t>>
NodeInputs::takeStatedShape(unsigned i, llvm::StringRef what, unsigned output, bool isRead) {
  std::optional<llvm::SmallVector<int64_t>> shape;
  if (isWanted(output))
    shape = importer.getStatedShape(node.outputs[output]);
  if (!shape || llvm::is_contained(*shape, 0)) {
    error(what + " must be constant: a compiled model has static shapes, and the file does not "
                 "state the result's; give the model extents that are known (--input-shape, "
                 "--batch)");
    return std::nullopt;
  }
  if (!isRead)
    warn("'" + node.inputs[i] + "' is not read: the file states the result's shape, " +
         printShape(*shape) + ", which the library keeps");
  return shape;
}

void NodeInputs::warn(const llvm::Twine &message) { importer.warn(path, node.op + ": " + message); }

std::optional<llvm::SmallVector<int64_t>> NodeInputs::getIntegers(unsigned i,
                                                                  llvm::StringRef what) {
  if (const Literal *literal = getLiteral(i); literal && literal->hasBatch) {
    errorOfOpenBatch(what + " depends on the open batch");
    return std::nullopt;
  }
  return getExtents(i, what);
}

std::optional<llvm::SmallVector<double>> NodeInputs::getNumbers(unsigned i, llvm::StringRef what) {
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

Value NodeInputs::makeLiteral(const Literal &literal) {
  const mlir::Type element = heldType(builder, literal.type);
  const bool isDouble = literal.type == DataType::Double && !importer.options.policy;
  Value constant = make<ConstantOp>(llvm::cast<mlir::ElementsAttr>(
      literal.toAttribute(isDouble ? mlir::Type(builder.getF64Type()) : element)));
  constant.getDefiningOp<ConstantOp>().setFinite(literal.hasLastFloat());
  return isDouble ? makeCastTo(constant, builder.getF64Type()) : constant;
}

} // namespace mpc::onnx
