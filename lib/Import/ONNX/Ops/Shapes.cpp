// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constants, shapes as values, and numbers that follow from shapes: all known at import.
#include "lib/Import/ONNX/CodePoints.h"
#include "lib/Import/ONNX/GraphImporter.h"
#include "lib/Import/ONNX/NodeAttributes.h"
#include "lib/Import/ONNX/NodeBuilder.h"
#include "lib/Import/ONNX/Ops/Broadcasts.h"

#include <cmath>

namespace mpc::onnx {
namespace {

using mlir::Value;
using B = NodeBuilder;

bool setLiteral(GraphImporter &importer, const Node &node, Scope &scope, Literal literal) {
  importer.setOutput(node, 0, scope, NodeValue::fromLiteral(std::move(literal)));
  return true;
}

Literal makeNumbers(mlir::Builder &builder, llvm::ArrayRef<int64_t> shape,
                    llvm::ArrayRef<double> values) {
  Literal literal;
  literal.type = DataType::Float;
  literal.tensor.elementType = builder.getF32Type();
  literal.tensor.shape.assign(shape.begin(), shape.end());
  literal.tensor.floats.assign(values.begin(), values.end());
  return literal;
}

bool constant(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
              const NodeAttributes &attributes) {
  mlir::Builder &builder = importer.forward.builder;
  if (const Tensor *tensor = attributes.getTensor("value")) {
    std::optional<Literal> literal = Literal::decode(builder, *tensor);
    if (literal)
      return setLiteral(importer, node, scope, std::move(*literal));
    importer.error(path, tensor->type == DataType::String
                             ? "Constant: " + llvm::Twine(kTextFault)
                             : "constants of type " + spell(tensor->type) + " are not supported");
    return false;
  }
  if (attributes.has("value_string") || attributes.has("value_strings")) {
    Tensor texts;
    texts.type = DataType::String;
    if (attributes.has("value_string")) {
      texts.strings = {attributes.getText("value_string").str()};
    } else {
      texts.strings = attributes.getTexts("value_strings").vec();
      texts.shape = {int64_t(texts.strings.size())};
    }
    if (std::optional<Literal> literal = Literal::decode(builder, texts))
      return setLiteral(importer, node, scope, std::move(*literal));
    importer.error(path, "Constant: " + llvm::Twine(kTextFault));
    return false;
  }
  if (attributes.has("value_int"))
    return setLiteral(importer, node, scope,
                      Literal::fromIntegers(builder, {}, {attributes.getInteger("value_int", 0)}));
  if (attributes.has("value_float"))
    return setLiteral(importer, node, scope,
                      makeNumbers(builder, {}, {attributes.getNumber("value_float", 0)}));
  if (attributes.has("value_ints")) {
    const auto values = attributes.getIntegers("value_ints");
    return setLiteral(importer, node, scope,
                      Literal::fromIntegers(builder, {int64_t(values.size())}, values));
  }
  if (attributes.has("value_floats")) {
    const auto values = attributes.getNumbers("value_floats");
    return setLiteral(importer, node, scope,
                      makeNumbers(builder, {int64_t(values.size())}, values));
  }
  importer.error(path, "Constant: of a sparse tensor is not supported; expected numbers or text");
  return false;
}

bool identity(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
              const NodeAttributes &attributes) {
  const NodeValue *value = importer.read(node, 0, scope, path);
  if (!value)
    return false;
  importer.setOutput(node, 0, scope, *value);
  return true;
}

/// Code points are no dimension of a tensor of texts.
llvm::SmallVector<int64_t> getShapeInFile(GraphImporter &importer, const NodeValue &value) {
  llvm::SmallVector<int64_t> shape = importer.getShape(value);
  if (value.type == DataType::String)
    shape.pop_back();
  return shape;
}

/// Extents of which `count` is the one at `place`.
bool setBoundedShape(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
                     llvm::ArrayRef<int64_t> extents, int64_t place, Value count) {
  llvm::SmallVector<int64_t> known(extents), times(extents.size(), 0);
  known[size_t(place)] = 0;
  times[size_t(place)] = 1;
  mlir::Builder &builder = importer.forward.builder;
  const int64_t rank = int64_t(extents.size());
  Node sum;
  sum.name = path.str();
  sum.op = node.op;
  sum.inputs = {"known", "times", "count"};
  sum.outputs = {node.outputs.front()};
  Scope inner;
  inner.set("known", NodeValue::fromLiteral(Literal::fromIntegers(builder, {rank}, known)));
  inner.set("times", NodeValue::fromLiteral(Literal::fromIntegers(builder, {rank}, times)));
  NodeValue counted;
  counted.type = DataType::Int64;
  counted.value = count;
  inner.set("count", std::move(counted));
  static constexpr OpEntry entry{"Shape", 1, [](NodeBuilder &b) {
                                   Value variable = b.make<MultiplyOp>(b.get(1), b.get(2));
                                   b.setResult(0, b.make<AddOp>(b.get(0), variable),
                                               DataType::Int64);
                                 }};
  if (!emitNode(importer, entry, sum, inner, path))
    return false;
  scope.set(node.outputs.front(), *inner.find(node.outputs.front()));
  return true;
}

/// The extents from `start` up to `end`; the batch is told by a number of its own.
bool shapeOf(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
             const NodeAttributes &attributes) {
  const NodeValue *value = importer.read(node, 0, scope, path);
  if (!value || value->elements) {
    importer.error(path, "Shape: takes a tensor");
    return false;
  }
  const llvm::SmallVector<int64_t> shape = getShapeInFile(importer, *value);
  const int64_t rank = int64_t(shape.size());
  auto bound = [&](llvm::StringRef name, int64_t otherwise) {
    const int64_t given = attributes.getInteger(name, otherwise);
    return std::clamp<int64_t>(given < 0 ? given + rank : given, 0, rank);
  };
  const int64_t start = bound("start", 0), end = std::max(start, bound("end", rank));
  if (value->place.getFactor() > Literal::kMostBatches) {
    importer.errorOfOpenBatch(path, "Shape: the extent is more than 2^20 of the open batch");
    return false;
  }
  llvm::SmallVector<int64_t> values;
  bool hasBatch = false;
  for (int64_t extent : llvm::ArrayRef(shape).slice(size_t(start), size_t(end - start))) {
    const bool isOpen = mlir::ShapedType::isDynamic(extent);
    hasBatch |= isOpen;
    values.push_back(isOpen ? Literal::numberOfBatches(value->place.getFactor()) : extent);
  }
  if (value->bound && value->bound->axis >= start && value->bound->axis < end)
    return setBoundedShape(importer, node, scope, path, values, value->bound->axis - start,
                           value->bound->count);
  Literal literal =
      Literal::fromIntegers(importer.forward.builder, {int64_t(values.size())}, values);
  literal.hasBatch = hasBatch;
  return setLiteral(importer, node, scope, std::move(literal));
}

bool sizeOf(GraphImporter &importer, const Node &node, Scope &scope, llvm::StringRef path,
            const NodeAttributes &attributes) {
  const NodeValue *value = importer.read(node, 0, scope, path);
  if (!value || value->elements) {
    importer.error(path, "Size: takes a tensor");
    return false;
  }
  int64_t count = value->place.getFactor();
  bool hasBatch = false;
  for (int64_t extent : getShapeInFile(importer, *value))
    if (mlir::ShapedType::isDynamic(extent))
      hasBatch = true;
    else
      count *= extent;
  if (hasBatch && (count < 1 || count > Literal::kMostBatches)) {
    importer.errorOfOpenBatch(path, "Size: depends on the open batch");
    return false;
  }
  Literal literal = Literal::fromIntegers(importer.forward.builder, {},
                                          {hasBatch ? Literal::numberOfBatches(count) : count});
  literal.hasBatch = hasBatch;
  return setLiteral(importer, node, scope, std::move(literal));
}

void constantOfShape(B &b) {
  std::optional<llvm::SmallVector<int64_t>> shape =
      b.getLiteral(0) ? b.getExtents(0, "the shape") : b.takeStatedShape(0, "the shape");
  if (!shape)
    return;
  Literal element;
  if (const Tensor *tensor = b.attributes.getTensor("value")) {
    std::optional<Literal> read = Literal::decode(b.builder, *tensor);
    if (!read || read->tensor.size() != 1)
      return (void)b.error("'value' must be one number");
    element = std::move(*read);
    element.tensor.shape.clear();
  } else {
    element = makeNumbers(b.builder, {}, {0.0});
  }
  if (isFloating(element.type))
    b.setComputeType(element.type);
  b.setResult(0, broadcastTo(b, b.makeLiteral(element), *shape), element.type);
}

/// start, start + delta, … below the limit.
void range(B &b) {
  if (!b.getLiteral(0) || !b.getLiteral(1) || !b.getLiteral(2)) {
    Value start = b.get(0), delta = b.get(2);
    auto stated = b.takeStatedShape(1, "the limit");
    if (!start || !delta || !stated)
      return;
    if (stated->size() != 1 || mlir::ShapedType::isDynamic(stated->front()))
      return (void)b.error("the file states no list for the result");
    const int64_t count = stated->front();
    Literal numbers =
        Literal::fromIntegers(b.builder, {count}, llvm::to_vector(llvm::seq<int64_t>(0, count)));
    Value steps = b.makeLiteral(numbers);
    const mlir::Type element = elementTypeOf(start);
    steps = b.isFloat(start) ? b.makeCastToFloat(steps)
            : elementTypeOf(steps) == element
                ? steps
                : b.make<CastOp>(mlir::RankedTensorType::get({count}, element), steps);
    Value scaled = b.make<MultiplyOp>(steps, b.makeReshape(delta, {}));
    return b.setResult(0, b.make<AddOp>(scaled, b.makeReshape(start, {})), b.getType(0));
  }
  auto start = b.getNumbers(0, "the start"), limit = b.getNumbers(1, "the limit"),
       delta = b.getNumbers(2, "the delta");
  if (!start || !limit || !delta || start->size() != 1 || limit->size() != 1 || delta->size() != 1)
    return;
  const double places = std::ceil((limit->front() - start->front()) / delta->front());
  if (!(places >= 1 && places <= double(1 << 24)))
    return (void)b.error("the range has no elements, or more than 2^24");
  const int64_t count = int64_t(places);
  Literal literal;
  literal.type = b.getType(0);
  literal.tensor.elementType = b.getLiteral(0)->tensor.elementType;
  literal.tensor.shape = {count};
  literal.tensor.allocate();
  for (int64_t i = 0; i < count; ++i)
    literal.tensor.set(i, start->front() + double(i) * delta->front());
  if (isFloating(literal.type))
    b.setComputeType(literal.type);
  b.setResult(0, b.makeLiteral(literal), literal.type);
}

/// Ones on a diagonal; the type is an attribute, else the input's.
void eyeLike(B &b) {
  if (!b.has(0))
    return;
  const llvm::SmallVector<int64_t> shape = b.getShape(0);
  if (shape.size() != 2 || llvm::is_contained(shape, mlir::ShapedType::kDynamic))
    return (void)b.error("takes a matrix of known shape");
  const auto type = DataType(b.attributes.getInteger("dtype", int64_t(b.getType(0))));
  const mlir::Type element = nominalType(b.builder, type);
  if (!element || shape[0] * shape[1] > (1 << 24))
    return (void)b.error("the type is not supported, or the matrix too large");
  Literal literal;
  literal.type = type;
  literal.tensor.elementType =
      type == DataType::Double ? mlir::Type(b.builder.getF64Type()) : element;
  literal.tensor.shape = shape;
  literal.tensor.allocate();
  const int64_t diagonal = b.attributes.getInteger("k", 0);
  for (int64_t row = 0; row < shape[0]; ++row)
    if (row + diagonal >= 0 && row + diagonal < shape[1])
      literal.tensor.set(row * shape[1] + row + diagonal, 1.0);
  if (isFloating(type))
    b.setComputeType(type);
  b.setResult(0, b.makeLiteral(literal), type);
}

constexpr OpEntry kTable[] = {
    {"Constant", 1, nullptr, constant},
    {"ConstantOfShape", 9, constantOfShape},
    {"EyeLike", 9, eyeLike},
    {"Identity", 1, nullptr, identity, OpenBatch::first, "", /*takesBounded=*/true},
    {"Range", 11, range},
    {"Shape", 1, nullptr, shapeOf, OpenBatch::first, "", /*takesBounded=*/true},
    {"Size", 1, nullptr, sizeOf},
};

} // namespace

llvm::ArrayRef<OpEntry> getShapeOps() { return kTable; }

} // namespace mpc::onnx
