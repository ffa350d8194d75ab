// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Arguments of TensorFlow functions, by position or by any of their spellings.
#include "lib/Import/Keras/Legacy/TensorFlowBuilder.h"

#include "lib/Import/Keras/ArrayLiteral.h"
#include "lib/Import/Keras/Dtype.h"
#include "lib/Import/Keras/GraphImporter.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <limits>

namespace mpc::keras {

using mlir::Value;

namespace {

constexpr unsigned kMostItems = 1u << 16;

bool isPythonNone(const Argument &argument) {
  return argument.kind == Argument::Kind::Constant &&
         argument.constant.kind() == llvm::json::Value::Null;
}

llvm::SmallVector<llvm::StringRef> spellingsOf(llvm::StringRef parameter) {
  llvm::SmallVector<llvm::StringRef> spellings;
  parameter.split(spellings, '|');
  return spellings;
}

llvm::SmallVector<llvm::StringRef> parametersOf(const TensorFlowFunction &function) {
  llvm::SmallVector<llvm::StringRef> parameters;
  llvm::StringRef(function.parameters).split(parameters, ' ', -1, /*KeepEmpty=*/false);
  return parameters;
}

/// A constant, or nested lists of them, as JSON; nothing where a tensor is among them.
std::optional<llvm::json::Value> toLiteral(const Argument &argument) {
  if (argument.kind == Argument::Kind::Constant)
    return argument.constant;
  if (argument.kind != Argument::Kind::List)
    return std::nullopt;
  llvm::json::Array array;
  for (const Argument &item : argument.items) {
    std::optional<llvm::json::Value> value = toLiteral(item);
    if (!value)
      return std::nullopt;
    array.push_back(std::move(*value));
  }
  return array;
}

/// The kinds of values in a literal.
struct LiteralKinds {
  bool number = false, floating = false, truth = false, other = false;

  explicit LiteralKinds(const llvm::json::Value &value) { visit(value); }
  void visit(const llvm::json::Value &value) {
    if (const llvm::json::Array *array = value.getAsArray()) {
      for (const llvm::json::Value &item : *array)
        visit(item);
    } else if (value.getAsBoolean()) {
      truth = true;
    } else if (value.getAsNumber()) {
      number = true;
      floating |= isWrittenAsFloat(value);
    } else if (value.getAsString() == llvm::StringRef("NaN")) {
      number = floating = true;
    } else {
      other = true;
    }
  }
};

/// The numbers of nested lists of equal lengths, and their shape.
struct NumberArray {
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<double> numbers;

  bool read(const llvm::json::Value &value, size_t depth = 0) {
    const llvm::json::Array *array = value.getAsArray();
    if (!array) {
      std::optional<double> number = value.getAsNumber();
      if (value.getAsString() == llvm::StringRef("NaN"))
        number = std::numeric_limits<double>::quiet_NaN();
      if (std::optional<bool> truth = value.getAsBoolean())
        number = *truth;
      if (!number || (isKnown && depth != shape.size()))
        return false;
      isKnown = true;
      numbers.push_back(*number);
      return true;
    }
    if (depth == shape.size()) {
      if (isKnown || array->empty())
        return false;
      shape.push_back(int64_t(array->size()));
    }
    if (depth >= shape.size() || shape[depth] != int64_t(array->size()))
      return false;
    return llvm::all_of(*array, [&](const auto &item) { return read(item, depth + 1); });
  }

private:
  bool isKnown = false; ///< an element was read, and so the number of dimensions
};

} // namespace

TensorFlowBuilder::TensorFlowBuilder(GraphImporter &importer, mlir::OpBuilder builder,
                                     mlir::Location location, const TensorFlowFunction &function,
                                     const Node &node, llvm::ArrayRef<Value> values)
    : ValueBuilder(builder, location), importer(importer), function(function), node(node) {
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
  const llvm::SmallVector<llvm::StringRef> parameters = parametersOf(function);
  for (const auto &[keyword, argument] : node.keywords) {
    const llvm::StringRef name = keyword;
    if (name != "name" && !isPythonNone(argument) &&
        llvm::none_of(parameters,
                      [&](llvm::StringRef p) { return llvm::is_contained(spellingsOf(p), name); }))
      error("argument '" + name + "' is not supported; expected " + llvm::join(parameters, ", "));
  }
  if (node.arguments.size() > parameters.size())
    error("there are more arguments than the " + llvm::Twine(parameters.size()) +
          " that are supported");
}

const Argument *TensorFlowBuilder::find(llvm::StringRef parameter) const {
  for (const auto &[position, group] : llvm::enumerate(parametersOf(function))) {
    const llvm::SmallVector<llvm::StringRef> spellings = spellingsOf(group);
    if (spellings.front() != parameter)
      continue;
    if (position < node.arguments.size() && !isPythonNone(node.arguments[position]))
      return &node.arguments[position];
    for (const auto &[keyword, argument] : node.keywords)
      if (llvm::is_contained(spellings, llvm::StringRef(keyword)) && !isPythonNone(argument))
        return &argument;
    return nullptr;
  }
  return nullptr; // this spelling of the function does not have the parameter
}

Value TensorFlowBuilder::makeLiteral(const Argument &argument, Value like) {
  std::optional<llvm::json::Value> literal = toLiteral(argument);
  if (!literal)
    return error("a list of tensors stands where one tensor is expected");
  const LiteralKinds kinds(*literal);
  if (kinds.other || (!kinds.truth && !kinds.number))
    return error("an argument is neither a tensor nor a number nor an array of numbers");
  const mlir::Type likeType = like ? elementTypeOf(like) : mlir::Type();
  const bool isFloating =
      likeType ? mlir::isa<mlir::FloatType>(likeType) : kinds.number && kinds.floating;
  if (isFloating) {
    NumberArray array;
    if (!array.read(*literal))
      return error("a constant array is empty, or its rows differ in length");
    return array.shape.empty() ? makeConstant(array.numbers.front())
                               : makeConstant(array.shape, array.numbers);
  }
  if (kinds.floating)
    return error("a constant that is no integer goes with a tensor of integers");
  const mlir::Type element = likeType      ? likeType
                             : kinds.truth ? mlir::Type(builder.getI1Type())
                                           : mlir::Type(builder.getI32Type());
  if (!literal->getAsArray()) {
    const std::optional<bool> truth = literal->getAsBoolean();
    return makeInteger(element, truth ? *truth : literal->getAsInteger().value_or(0));
  }
  const mlir::DenseElementsAttr array = readArray(*literal, element);
  if (!array || array.empty())
    return error("a constant array is empty, its rows differ in length, or it has numbers that its "
                 "dtype has not");
  return make<ConstantOp>(llvm::cast<mlir::ElementsAttr>(array));
}

Value TensorFlowBuilder::toTensor(const Argument &argument, Value like) {
  if (argument.kind == Argument::Kind::Tensor)
    return tensors.lookup(&argument.tensor);
  if (argument.kind == Argument::Kind::Dict)
    return error("an argument is a dictionary where a tensor is expected");
  if (argument.kind == Argument::Kind::Constant || argument.tensors().empty())
    return makeLiteral(argument, like);
  if (std::optional<SymbolicIntegers> known = toSymbolic(argument))
    return makeIntegers(*known, like ? elementTypeOf(like) : mlir::Type(builder.getI32Type()));
  // As tf.convert_to_tensor packs a list.
  llvm::SmallVector<Value> parts;
  Value first = tensors.lookup(argument.tensors().front());
  for (const Argument &item : argument.items)
    if (Value part = toTensor(item, first))
      parts.push_back(part);
  return hasFailed() ? Value() : call("Stack", {{"xs", llvm::ArrayRef<Value>(parts)}, {"axis", 0}});
}

Value TensorFlowBuilder::getTensor(llvm::StringRef parameter, Value like) {
  const Argument *argument = find(parameter);
  if (!argument)
    return error("argument '" + parameter + "' is missing");
  return hasFailed() ? Value() : toTensor(*argument, like);
}

Value TensorFlowBuilder::getFloat(llvm::StringRef parameter) {
  Value x = getTensor(parameter);
  return !x || mlir::isa<mlir::FloatType>(elementTypeOf(x)) ? x : makeCastToFloat(x);
}

std::pair<Value, Value> TensorFlowBuilder::getPair(llvm::StringRef first, llvm::StringRef second) {
  const Argument *x = find(first), *y = find(second);
  if (!x || !y) {
    error("argument '" + (x ? second : first) + "' is missing");
    return {};
  }
  if (hasFailed())
    return {};
  Value a, b;
  if (x->tensors().empty()) {
    b = toTensor(*y, {});
    if (b && y->tensors().empty())
      a = toTensor(*x, {});
    // One float among two constants makes both floats: -1.0 reads like an integer.
    if (a && mlir::isa<mlir::FloatType>(elementTypeOf(a)) && elementTypeOf(b).isInteger(32))
      b = toTensor(*y, a);
    else
      a = b ? toTensor(*x, b) : Value();
  } else {
    a = toTensor(*x, {});
    b = a ? toTensor(*y, a) : Value();
  }
  if (!a || !b)
    return {};
  const mlir::Type left = elementTypeOf(a), right = elementTypeOf(b);
  if (left != right && !(mlir::isa<mlir::FloatType>(left) && mlir::isa<mlir::FloatType>(right))) {
    error("the operands differ in dtype, which TensorFlow refuses; cast one of them");
    return {};
  }
  if (failed(broadcastShapes({shapeOf(a), shapeOf(b)}))) {
    error("the operands have shapes that do not broadcast");
    return {};
  }
  return {a, b};
}

llvm::SmallVector<Value> TensorFlowBuilder::getTensors(llvm::StringRef parameter) {
  const Argument *argument = find(parameter);
  llvm::SmallVector<Value> values;
  if (argument && argument->kind == Argument::Kind::Tensor) {
    values.push_back(tensors.lookup(&argument->tensor));
    return values;
  }
  if (!argument || argument->kind != Argument::Kind::List || argument->items.empty() ||
      argument->items.size() > kMostItems) {
    error("argument '" + parameter + "' must be a list of tensors");
    return values;
  }
  Value like;
  for (const TensorRef *tensor : argument->tensors())
    like = like ? like : tensors.lookup(tensor);
  for (const Argument &item : argument->items)
    if (Value value = toTensor(item, like))
      values.push_back(value);
  if (hasFailed())
    values.clear();
  return values;
}

std::optional<double> TensorFlowBuilder::findNumber(llvm::StringRef parameter) {
  const Argument *argument = find(parameter);
  if (!argument)
    return std::nullopt;
  std::optional<double> number;
  if (argument->kind == Argument::Kind::Constant) {
    number = argument->constant.getAsNumber();
    if (std::optional<bool> truth = argument->constant.getAsBoolean())
      number = *truth;
  } else if (std::optional<SymbolicIntegers> known = toSymbolic(*argument)) {
    if (known->elements.size() == 1 && known->isConstant())
      number = double(known->elements.front().constant);
  }
  if (!number)
    error("'" + parameter + "' must be a number");
  return number;
}

bool TensorFlowBuilder::getFlag(llvm::StringRef parameter, bool otherwise) {
  const Argument *argument = find(parameter);
  if (!argument)
    return otherwise;
  const std::optional<bool> flag =
      argument->kind == Argument::Kind::Constant ? readFlag(&argument->constant) : std::nullopt;
  if (!flag)
    error("'" + parameter + "' must be true or false");
  return flag.value_or(otherwise);
}

std::string TensorFlowBuilder::getString(llvm::StringRef parameter, llvm::StringRef otherwise) {
  const Argument *argument = find(parameter);
  if (!argument)
    return otherwise.str();
  const std::optional<llvm::StringRef> text =
      argument->kind == Argument::Kind::Constant ? argument->constant.getAsString() : std::nullopt;
  if (!text)
    error("'" + parameter + "' must be a string");
  return text.value_or(otherwise).str();
}

std::optional<SymbolicIntegers> TensorFlowBuilder::toSymbolic(const Argument &argument) const {
  if (argument.kind == Argument::Kind::Tensor) {
    Value value = tensors.lookup(&argument.tensor);
    return value ? importer.forward.symbolicIntegers.lookup(value) : std::nullopt;
  }
  SymbolicIntegers result;
  if (argument.kind == Argument::Kind::Constant) {
    std::optional<int64_t> integer = argument.constant.getAsInteger();
    // TensorFlow's shapes may hold None for an extent that it does not know: -1 stands for it.
    if (!integer || isWrittenAsFloat(argument.constant))
      return std::nullopt;
    result.isScalar = true;
    result.elements.push_back({0, *integer});
    return result;
  }
  if (argument.kind != Argument::Kind::List || argument.items.size() > kMostItems)
    return std::nullopt;
  for (const Argument &item : argument.items) {
    std::optional<SymbolicIntegers> part;
    if (isPythonNone(item)) {
      part.emplace();
      part->isScalar = true;
      part->elements.push_back({0, -1});
    } else {
      part = toSymbolic(item);
    }
    if (!part || !part->isScalar)
      return std::nullopt;
    result.elements.push_back(part->elements.front());
    result.sample = result.sample ? result.sample : part->sample;
  }
  return result;
}

std::optional<SymbolicIntegers> TensorFlowBuilder::findSymbolic(llvm::StringRef parameter) const {
  const Argument *argument = find(parameter);
  return argument ? toSymbolic(*argument) : std::nullopt;
}

std::optional<llvm::SmallVector<int64_t>>
TensorFlowBuilder::getIntegers(llvm::StringRef parameter) {
  const Argument *argument = find(parameter);
  if (!argument)
    return std::nullopt;
  const std::optional<SymbolicIntegers> known = toSymbolic(*argument);
  std::optional<llvm::SmallVector<int64_t>> constants =
      known ? known->getConstants() : std::nullopt;
  if (!constants)
    error("'" + parameter + "' must be integers that are known when the model is compiled");
  return constants;
}

std::optional<int64_t> TensorFlowBuilder::getInteger(llvm::StringRef parameter) {
  std::optional<llvm::SmallVector<int64_t>> integers = getIntegers(parameter);
  if (!integers)
    return std::nullopt;
  if (integers->size() == 1)
    return integers->front();
  error("'" + parameter + "' must be one integer");
  return std::nullopt;
}

std::optional<llvm::SmallVector<int64_t>> TensorFlowBuilder::getShape(llvm::StringRef parameter) {
  std::optional<SymbolicIntegers> known = findSymbolic(parameter);
  if (!known) {
    error("'" + parameter +
          "' is computed of values that only a call has; expected extents that are known when the "
          "model is compiled, but for the batch's; give open ones with --input-shape");
    return std::nullopt;
  }
  llvm::SmallVector<int64_t> shape;
  for (const auto &[position, extent] : llvm::enumerate(known->elements)) {
    if (!extent.isConstant() && !(extent.isBatch() && position == 0)) {
      error("'" + parameter + "' has an extent of " + llvm::Twine(extent.batches) +
            " times the batch in dimension " + llvm::Twine(position) +
            "; the batch must stay the first dimension, alone");
      return std::nullopt;
    }
    shape.push_back(extent.isBatch() ? mlir::ShapedType::kDynamic : extent.constant);
  }
  return shape;
}

} // namespace mpc::keras
