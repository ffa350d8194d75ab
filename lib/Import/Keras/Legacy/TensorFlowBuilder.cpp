// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Values that importers of TensorFlow functions make. TensorFlowArguments.cpp reads the arguments.
#include "lib/Import/Keras/Legacy/TensorFlowBuilder.h"

#include "lib/Import/Keras/Dtype.h"
#include "lib/Import/Keras/GraphImporter.h"
#include "lib/Import/Keras/Operations/OperationBuilder.h"

namespace mpc::keras {

using mlir::Value;

/// A literal of a call in the form of an argument.
static Argument makeArgument(const llvm::json::Value &value) {
  Argument argument;
  if (const llvm::json::Array *array = value.getAsArray()) {
    argument.kind = Argument::Kind::List;
    for (const llvm::json::Value &item : *array)
      argument.items.push_back(makeArgument(item));
  } else {
    argument.constant = value;
  }
  return argument;
}

static Argument makeArgument(const Given &given) {
  Argument argument;
  if (given.tensor) {
    argument.kind = Argument::Kind::Tensor;
    return argument;
  }
  if (!given.isList)
    return makeArgument(given.literal);
  argument.kind = Argument::Kind::List;
  for (size_t i = 0; i < given.list.size(); ++i)
    argument.items.emplace_back().kind = Argument::Kind::Tensor;
  return argument;
}

Value TensorFlowBuilder::call(llvm::StringRef operation, llvm::ArrayRef<Given> arguments) {
  laterResults.clear();
  if (hasFailed())
    return {};
  LayerConfig layer;
  layer.className = operation.str();
  Node node;
  llvm::SmallVector<Value> values;
  for (const Given &given : arguments) {
    node.keywords.emplace_back(given.keyword.str(), makeArgument(given));
    if (given.tensor)
      values.push_back(given.tensor);
    llvm::append_range(values, given.list);
  }
  OperationImportFn import = findOperation(layer);
  assert(import && "an operation that keras.ops does not have");
  OperationBuilder inner(builder, location, layer, node, values);
  Value result = import(inner);
  laterResults = inner.furtherResults;
  if (inner.hasFailed())
    return error(inner.getError());
  return result ? result : error("the operation could not be imported");
}

Value TensorFlowBuilder::cast(Value value, llvm::StringRef dtype) {
  const mlir::Type element = dtypeElement(builder, dtype);
  if (!element)
    return error("dtype '" + dtype + "' is not supported");
  if (mlir::isa<mlir::FloatType>(element))
    return makeCastTo(value, element);
  if (element == elementTypeOf(value))
    return value;
  const bool isWhole = !mlir::isa<mlir::FloatType>(elementTypeOf(value)) && !element.isInteger(1);
  if (std::optional<SymbolicIntegers> known =
          isWhole ? importer.forward.symbolicIntegers.lookup(value) : std::nullopt)
    return makeIntegers(*known, element);
  return make<CastOp>(mlir::RankedTensorType::get(shapeOf(value), element), value);
}

/// One for each sample, summed.
static Value countSamples(ValueBuilder &b, Value sample, mlir::Type elementType) {
  int64_t count = 1;
  for (int64_t extent : b.shapeOf(sample).drop_front())
    count *= extent;
  const int64_t batch = b.shapeOf(sample).front();
  Value first = b.makeReshape(sample, {batch, count});
  if (count > 1)
    first = b.make<SliceOp>(first, int64_t(1), int64_t(0), int64_t(1));
  Value ones =
      b.make<BroadcastLikeOp>(b.makeInteger(elementType, 1), b.makeReshape(first, {batch}));
  return b.makeReduce(ReduceKind::Sum, ones, {0}, /*keepDims=*/false);
}

Value TensorFlowBuilder::makeIntegers(const SymbolicIntegers &integers, mlir::Type elementType) {
  llvm::SmallVector<int64_t> shape;
  if (!integers.isScalar)
    shape.push_back(int64_t(integers.elements.size()));
  auto type = mlir::RankedTensorType::get(shape, elementType);
  if (std::optional<llvm::SmallVector<int64_t>> constants = integers.getConstants()) {
    llvm::SmallVector<llvm::APInt> bits;
    for (int64_t constant : *constants)
      bits.emplace_back(elementType.getIntOrFloatBitWidth(), uint64_t(constant),
                        /*isSigned=*/false, /*implicitTrunc=*/true);
    return make<ConstantOp>(
        llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(type, bits)));
  }
  if (!integers.sample)
    return error("the number of samples is asked of a tensor without a batch");
  Value samples = countSamples(*this, integers.sample, elementType);
  llvm::SmallVector<Value> parts;
  for (const Extent &extent : integers.elements) {
    Value part = make<MultiplyOp>(samples, makeInteger(elementType, extent.batches));
    part = make<AddOp>(part, makeInteger(elementType, extent.constant));
    parts.push_back(integers.isScalar ? part : makeReshape(part, {1}));
  }
  Value value =
      parts.size() == 1 ? parts.front() : make<ConcatenateOp>(mlir::ValueRange(parts), int64_t(0));
  importer.forward.symbolicIntegers.record(value, integers);
  return value;
}

Value TensorFlowBuilder::makeFilled(Value number, llvm::ArrayRef<int64_t> shape, Value sample) {
  int64_t count = 1;
  for (int64_t extent : shape)
    if (!mlir::ShapedType::isDynamic(extent) &&
        (extent < 1 || llvm::MulOverflow(count, extent, count) || count > (int64_t(1) << 31)))
      return error("a tensor is made that is empty or too large");
  const bool hasBatch = !shape.empty() && mlir::ShapedType::isDynamic(shape.front());
  if (hasBatch && !sample)
    return error("the number of samples is asked of a tensor without a batch");
  // A value that repeats along the batch takes the shape of a tensor that has the batch.
  Value like = make<ConstantOp>(llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(
      mlir::RankedTensorType::get(hasBatch ? shape.drop_front() : shape, builder.getI1Type()),
      false)));
  if (hasBatch) {
    int64_t inner = 1;
    for (int64_t extent : shapeOf(sample).drop_front())
      inner *= extent;
    Value first = makeReshape(sample, {mlir::ShapedType::kDynamic, inner});
    if (inner > 1)
      first = make<SliceOp>(first, int64_t(1), int64_t(0), int64_t(1));
    llvm::SmallVector<int64_t> narrow(shape.size(), 1);
    narrow.front() = mlir::ShapedType::kDynamic;
    first = makeReshape(first, narrow);
    Value zeros = make<BroadcastLikeOp>(makeScalar(builder.getI1Type(), 0), first);
    like = make<LogicalAndOp>(zeros, like);
  }
  return shape.empty() ? number : make<BroadcastLikeOp>(number, like);
}

Value tensorFlowUnary(TensorFlowBuilder &b) {
  const llvm::StringRef parameters = b.function.parameters;
  Value x = b.getTensor(parameters.split(' ').first.split('|').first);
  return x ? b.call(b.function.operation, {{"x", x}}) : Value();
}

Value combineIntegers(TensorFlowBuilder &b, llvm::StringRef first, llvm::StringRef second,
                      ExtentFn function) {
  std::optional<SymbolicIntegers> x = b.findSymbolic(first), y = b.findSymbolic(second);
  if (!x || !y)
    return {};
  std::optional<SymbolicIntegers> result = combine(*x, *y, function);
  if (!result)
    return {};
  mlir::Type element = b.builder.getI32Type();
  for (llvm::StringRef name : {first, second})
    if (const Argument *argument = b.find(name); argument->kind == Argument::Kind::Tensor)
      element = elementTypeOf(b.getTensor(name));
  return b.makeIntegers(*result, element);
}

} // namespace mpc::keras
