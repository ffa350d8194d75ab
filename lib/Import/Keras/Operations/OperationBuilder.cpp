// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments of operations, promotion of integers, and the table of all operations.
#include "lib/Import/Keras/Operations/OperationBuilder.h"

#include "lib/Import/Keras/ArrayLiteral.h"
#include "lib/Import/Keras/Dtype.h"

namespace mpc::keras {

using mlir::Value;

OperationBuilder::OperationBuilder(mlir::OpBuilder builder, mlir::Location location,
                                   const LayerConfig &layer, const Node &node,
                                   llvm::ArrayRef<Value> values)
    : ValueBuilder(builder, location), layer(layer), node(node) {
  size_t next = 0;
  auto take = [&](const Argument &argument) {
    for (const TensorRef *tensor : argument.tensors())
      if (next < values.size())
        tensors[tensor] = values[next++];
  };
  for (const Argument &argument : node.arguments)
    take(argument);
  for (const auto &keyword : node.keywords)
    take(keyword.second);
}

// ---- Arguments ----------------------------------------------------------------------------------

static bool isNone(const Argument &argument) {
  return argument.kind == Argument::Kind::Constant &&
         argument.constant.kind() == llvm::json::Value::Null;
}

/// A literal of the config in the form of an argument.
static Argument toArgument(const llvm::json::Value &value) {
  Argument argument;
  if (const llvm::json::Array *array = value.getAsArray()) {
    argument.kind = Argument::Kind::List;
    for (const llvm::json::Value &item : *array)
      argument.items.push_back(toArgument(item));
  } else {
    argument.constant = value;
  }
  return argument;
}

const Argument *OperationBuilder::findArgument(unsigned position, llvm::StringRef name) const {
  if (position < node.arguments.size() && !isNone(node.arguments[position]))
    return &node.arguments[position];
  for (const auto &[keyword, argument] : node.keywords)
    if (keyword == name && !isNone(argument))
      return &argument;
  const llvm::json::Value *config = layer.config.get(name);
  if (!config || config->kind() == llvm::json::Value::Null)
    return nullptr;
  fromConfig.push_back(std::make_unique<Argument>(toArgument(*config)));
  return fromConfig.back().get();
}

Operand OperationBuilder::makeArray(const llvm::json::Value &value, llvm::StringRef dtype,
                                    llvm::StringRef name) {
  const mlir::Type element = dtypeElement(builder, dtype);
  const bool isFloating = mlir::isa_and_nonnull<mlir::FloatType>(element);
  const mlir::DenseElementsAttr array =
      element ? readArray(value, isFloating ? builder.getF64Type() : element)
              : mlir::DenseElementsAttr();
  if (!array) {
    error("argument '" + name + "' of '" + layer.className +
          "' holds an array that is not readable");
    return {};
  }
  if (!isFloating)
    return {make<ConstantOp>(llvm::cast<mlir::ElementsAttr>(array))};
  return {makeCastTo(
      makeConstant(array.getType().getShape(), llvm::to_vector(array.getValues<double>())),
      element)};
}

Operand OperationBuilder::makeOperand(const Argument &argument, llvm::StringRef name) {
  if (argument.kind == Argument::Kind::Tensor)
    return {tensors.lookup(&argument.tensor)};
  if (argument.kind == Argument::Kind::Constant) {
    const llvm::json::Value &value = argument.constant;
    if (std::optional<bool> flag = value.getAsBoolean())
      return {makeScalar(builder.getI1Type(), *flag)};
    // Python's 2 and 2.0 differ in dtype; JSON keeps the difference.
    if (std::optional<int64_t> integer = value.getAsInteger();
        integer && value.getAsNumber() && !isWrittenAsFloat(value)) {
      const mlir::Type narrow = builder.getI32Type(), wide = builder.getI64Type();
      return {makeInteger(llvm::isInt<32>(*integer) ? narrow : wide, *integer), /*weak=*/true};
    }
    if (std::optional<double> number = value.getAsNumber())
      return {makeConstant(*number), /*weak=*/true};
    if (const llvm::json::Object *object = value.getAsObject()) {
      const llvm::json::Object *config = object->getObject("config");
      const llvm::StringRef kind = object->getString("class_name").value_or("");
      if (config && config->get("value") && (kind == "__tensor__" || kind == "__numpy__"))
        return makeArray(*config->get("value"), config->getString("dtype").value_or("float32"),
                         name);
    }
  }
  if (argument.kind == Argument::Kind::List && argument.tensors().empty()) {
    // A list of numbers: what numpy makes of it.
    llvm::json::Array array;
    bool floating = false;
    std::function<llvm::json::Value(const Argument &)> convert =
        [&](const Argument &item) -> llvm::json::Value {
      if (item.kind == Argument::Kind::Constant) {
        floating |= isWrittenAsFloat(item.constant);
        return item.constant;
      }
      llvm::json::Array inner;
      for (const Argument &child : item.items)
        inner.push_back(convert(child));
      return inner;
    };
    const llvm::json::Value list = convert(argument);
    return makeArray(list, floating ? "float32" : "int32", name);
  }
  error("argument '" + name + "' of '" + layer.className +
        "' is neither a tensor nor a number nor an array");
  return {};
}

Operand OperationBuilder::getOperand(unsigned position, llvm::StringRef name) {
  const Argument *argument = findArgument(position, name);
  if (!argument) {
    error("'" + layer.className + "' has no argument '" + name + "'");
    return {};
  }
  return makeOperand(*argument, name);
}

llvm::SmallVector<Operand> OperationBuilder::getOperands(unsigned position, llvm::StringRef name) {
  const Argument *argument = findArgument(position, name);
  llvm::SmallVector<Operand> operands;
  if (argument && argument->kind == Argument::Kind::List)
    for (const Argument &item : argument->items)
      operands.push_back(makeOperand(item, name));
  if (operands.empty())
    error("'" + layer.className + "' needs a list of tensors in '" + name + "'");
  if (hasFailed())
    operands.clear();
  return operands;
}

Value OperationBuilder::getFloat(unsigned position, llvm::StringRef name) {
  Operand operand = getOperand(position, name);
  if (!operand || operand.isFloat())
    return operand.value;
  return makeCastToFloat(operand.value);
}

const llvm::json::Value *OperationBuilder::getLiteral(unsigned position, llvm::StringRef name) {
  const Argument *argument = findArgument(position, name);
  return argument && argument->kind == Argument::Kind::Constant ? &argument->constant : nullptr;
}

std::optional<int64_t> OperationBuilder::getInteger(unsigned position, llvm::StringRef name) {
  const Argument *argument = findArgument(position, name);
  if (!argument)
    return std::nullopt;
  std::optional<int64_t> integer =
      argument->kind == Argument::Kind::Constant ? argument->constant.getAsInteger() : std::nullopt;
  if (!integer)
    error("'" + name + "' of '" + layer.className + "' must be an integer");
  return integer;
}

std::optional<double> OperationBuilder::getNumber(unsigned position, llvm::StringRef name) {
  const Argument *argument = findArgument(position, name);
  if (!argument)
    return std::nullopt;
  std::optional<double> number;
  if (argument->kind == Argument::Kind::Constant) {
    number = argument->constant.getAsNumber();
    if (std::optional<bool> flag = argument->constant.getAsBoolean()) // 0 or 1 in Python
      number = *flag ? 1.0 : 0.0;
  }
  if (!number)
    error("'" + name + "' of '" + layer.className + "' must be a number");
  return number;
}

bool OperationBuilder::refuseFloat64(unsigned position, llvm::StringRef name,
                                     llvm::StringRef reason) {
  const Argument *argument = findArgument(position, name);
  if (!argument || llvm::none_of(argument->tensors(), [](const TensorRef *tensor) {
        return tensor->dtype == "float64";
      }))
    return false;
  error("'" + layer.className + "' of float64 tensors is not supported: " + reason +
        "; cast them first");
  return true;
}

bool OperationBuilder::getFlag(unsigned position, llvm::StringRef name, bool otherwise) {
  if (!findArgument(position, name))
    return otherwise;
  const std::optional<bool> flag = readFlag(getLiteral(position, name));
  if (!flag)
    error("'" + name + "' of '" + layer.className + "' must be true or false");
  return flag.value_or(otherwise);
}

std::string OperationBuilder::getString(unsigned position, llvm::StringRef name,
                                        llvm::StringRef otherwise) {
  if (!findArgument(position, name))
    return otherwise.str();
  const llvm::json::Value *literal = getLiteral(position, name);
  std::optional<llvm::StringRef> text = literal ? literal->getAsString() : std::nullopt;
  if (!text)
    error("'" + name + "' of '" + layer.className + "' must be a string");
  return text.value_or(otherwise).str();
}

std::optional<llvm::SmallVector<int64_t>> OperationBuilder::getIntegers(unsigned position,
                                                                        llvm::StringRef name) {
  const Argument *argument = findArgument(position, name);
  if (!argument)
    return std::nullopt;
  llvm::SmallVector<int64_t> result;
  auto take = [&](const Argument &item) {
    if (item.kind != Argument::Kind::Constant)
      return false;
    if (!isNone(item) && !item.constant.getAsInteger())
      return false;
    result.push_back(item.constant.getAsInteger().value_or(-1));
    return true;
  };
  if (argument->kind == Argument::Kind::List
          ? argument->items.size() <= 4096 && llvm::all_of(argument->items, take)
          : take(*argument))
    return result;
  error("'" + name + "' of '" + layer.className + "' must be an integer or a list of integers");
  return std::nullopt;
}

std::pair<Operand, Operand> OperationBuilder::getPair() {
  Operand pair[2] = {getOperand(0, "x1"), getOperand(1, "x2")};
  if (hasFailed() || !promote(pair))
    return {};
  if (failed(broadcastShapes({shapeOf(pair[0].value), shapeOf(pair[1].value)}))) {
    error("the operands of '" + layer.className + "' have shapes that do not broadcast");
    return {};
  }
  return {pair[0], pair[1]};
}

std::pair<Value, Value> OperationBuilder::getFloatPair() {
  auto [x, y] = getPair();
  if (!x)
    return {};
  return {x.isFloat() ? x.value : makeCastToFloat(x.value),
          y.isFloat() ? y.value : makeCastToFloat(y.value)};
}

std::pair<Value, Value> OperationBuilder::getFloats(llvm::StringRef first, llvm::StringRef second) {
  Operand pair[2] = {getOperand(0, first), getOperand(1, second)};
  if (hasFailed() || !promote(pair))
    return {};
  auto floating = [&](Operand &o) { return o.isFloat() ? o.value : makeCastToFloat(o.value); };
  return {floating(pair[0]), floating(pair[1])};
}

std::optional<llvm::SmallVector<int64_t>> OperationBuilder::getAxes(unsigned position,
                                                                    llvm::StringRef name,
                                                                    Value value,
                                                                    bool acrossSamples) {
  const int64_t rank = rankOf(value);
  llvm::SmallVector<int64_t> axes =
      getIntegers(position, name).value_or(llvm::to_vector(llvm::seq<int64_t>(0, rank)));
  for (int64_t &axis : axes) {
    if (axis < -rank || axis >= rank) {
      error("axis " + llvm::Twine(axis) + " of '" + layer.className + "' is outside a tensor of " +
            llvm::Twine(rank) + " dimensions");
      return std::nullopt;
    }
    axis = axis < 0 ? axis + rank : axis;
    if (tensorTypeOf(value).isDynamicDim(axis) && !acrossSamples) {
      error("'" + layer.className + "' over the batch is not supported");
      return std::nullopt;
    }
  }
  llvm::sort(axes);
  if (hasFailed() || std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    return std::nullopt;
  return axes;
}

std::optional<int64_t> OperationBuilder::getAxis(unsigned position, llvm::StringRef name,
                                                 int64_t otherwise, Value value) {
  const int64_t rank = rankOf(value), written = getInteger(position, name).value_or(otherwise);
  const int64_t axis = written < 0 ? written + rank : written;
  const auto type = tensorTypeOf(value);
  if (!type.getNumDynamicDims() || type.isDynamicDim(0))
    return getAxis(written, rank);
  if (axis >= 0 && axis < rank && !type.isDynamicDim(axis) && !hasFailed())
    return axis;
  error("'" + layer.className + "' works along axis " + llvm::Twine(written) +
        ", which is the batch or outside of a tensor of " + llvm::Twine(rank) + " dimensions");
  return std::nullopt;
}

std::optional<int64_t> OperationBuilder::getAxis(int64_t written, int64_t rank) {
  const int64_t axis = written < 0 ? written + rank : written;
  if (axis > 0 && axis < rank && !hasFailed())
    return axis;
  error("'" + layer.className + "' works along axis " + llvm::Twine(written) +
        ", which is the batch or outside of a tensor of " + llvm::Twine(rank) + " dimensions");
  return std::nullopt;
}

// ---- Promotion ----------------------------------------------------------------------------------

/// The join of two integer types (or i1) in Keras's lattice; null stands for "a float".
static mlir::Type joinIntegers(mlir::Builder &builder, mlir::Type a, mlir::Type b) {
  if (a == b || b.isInteger(1))
    return a;
  if (a.isInteger(1))
    return b;
  const bool aUnsigned = a.isUnsignedInteger(), bUnsigned = b.isUnsignedInteger();
  const unsigned aWidth = a.getIntOrFloatBitWidth(), bWidth = b.getIntOrFloatBitWidth();
  if (aUnsigned == bUnsigned)
    return aWidth >= bWidth ? a : b;
  const unsigned signedWidth = aUnsigned ? bWidth : aWidth,
                 unsignedWidth = aUnsigned ? aWidth : bWidth;
  if (signedWidth > unsignedWidth)
    return builder.getIntegerType(signedWidth);
  return unsignedWidth < 64 ? mlir::Type(builder.getIntegerType(2 * unsignedWidth)) : mlir::Type();
}

bool OperationBuilder::promote(llvm::MutableArrayRef<Operand> operands) {
  llvm::SmallVector<Value> floats; // that decide the dtype
  bool anyFloat = false, anyStrong = false;
  mlir::Type integer;
  for (const Operand &operand : operands) {
    if (!operand)
      return false;
    anyStrong |= !operand.weak;
    if (operand.isFloat()) {
      anyFloat = true;
      if (!operand.weak)
        floats.push_back(operand.value);
      continue;
    }
    if (operand.weak)
      continue;
    const mlir::Type type = elementTypeOf(operand.value);
    integer = integer ? joinIntegers(builder, integer, type) : type;
    anyFloat |= !integer;
    if (!integer)
      integer = type;
  }
  const bool weakInteger =
      llvm::any_of(operands, [](const Operand &o) { return o.weak && !o.isFloat(); });
  if (!anyFloat && (!integer || integer.isInteger(1)) && weakInteger)
    integer = builder.getI32Type();
  for (Operand &operand : operands) {
    const mlir::Type type = elementTypeOf(operand.value);
    if (anyFloat) {
      if (operand.isFloat())
        continue;
      // With a float tensor integers take its dtype; with a Python float they become float32.
      auto constant = operand.weak ? operand.value.getDefiningOp<ConstantOp>() : ConstantOp();
      if (constant)
        operand.value =
            makeConstant(double(llvm::cast<mlir::DenseIntElementsAttr>(constant.getValue())
                                    .getSplatValue<llvm::APInt>()
                                    .getSExtValue()));
      else
        operand.value =
            floats.empty() ? makeCastToFloat(operand.value) : makeCastLike(operand.value, floats);
    } else if (type != integer) {
      operand.value =
          make<CastOp>(mlir::RankedTensorType::get(shapeOf(operand.value), integer), operand.value);
    }
  }
  return anyStrong || !operands.empty();
}

// ---- The table ----------------------------------------------------------------------------------

OperationImportFn findOperation(const LayerConfig &layer) {
  for (llvm::ArrayRef<OperationEntry> family : {arithmeticOperations(),  activationOperations(),
                                                complexOperations(),     imageFilters(),
                                                imageOperations(),       imageTransforms(),
                                                indexingOperations(),    integerOperations(),
                                                matrixOperations(),      normalizationOperations(),
                                                productOperations(),     realFunctions(),
                                                reductionOperations(),   shapeOperations(),
                                                smallMatrixOperations(), sortingOperations(),
                                                specialFunctions(),      splitOperations(),
                                                statisticOperations(),   windowOperations()})
    for (const OperationEntry &entry : family)
      if (entry.name == layer.className)
        return entry.import;
  return nullptr;
}

mlir::Value gatherAlong(OperationBuilder &b, mlir::Value x, int64_t axis,
                        llvm::ArrayRef<int64_t> places) {
  return b.make<GatherOp>(x, b.makeIndices(int64_t(places.size()), places), axis, int64_t(0));
}

} // namespace mpc::keras
