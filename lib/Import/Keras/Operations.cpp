// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/ops/numpy.py, as far as Keras itself records operations: the arithmetic of masks.
#include "Operations.h"

#include "GraphImporter.h"

#include "llvm/ADT/StringSwitch.h"

namespace mpc::keras {

using mlir::Value;

OperationBuilder::OperationBuilder(mlir::OpBuilder &builder, mlir::Location location,
                                   const LayerConfig &layer, const Node &node,
                                   llvm::ArrayRef<Value> tensors)
    : builder(builder), location(location), layer(layer), node(node), tensors(tensors) {}

Value OperationBuilder::makeScalar(mlir::Type elementType, double value) {
  if (mlir::isa<mlir::FloatType>(elementType))
    return scalarConstant(builder, location, elementType, value);
  auto type = mlir::RankedTensorType::get({}, elementType);
  const llvm::APInt bits(elementType.getIntOrFloatBitWidth(), uint64_t(int64_t(value)),
                         /*isSigned=*/false, /*implicitTrunc=*/true);
  return make<ConstantOp>(
      llvm::cast<mlir::ElementsAttr>(mlir::DenseElementsAttr::get(type, llvm::ArrayRef(bits))));
}

Value OperationBuilder::getOperand(unsigned position) {
  unsigned next = 0;
  for (const auto &[index, argument] : llvm::enumerate(node.arguments)) {
    const unsigned count = unsigned(argument.tensors().size());
    if (index == position) {
      if (argument.kind == Argument::Kind::Tensor)
        return tensors[next];
      const mlir::Type type = elementTypeOf(tensors.front());
      const bool isNumber = argument.kind == Argument::Kind::Constant;
      if (std::optional<bool> flag = isNumber ? argument.constant.getAsBoolean() : std::nullopt)
        return makeScalar(type, *flag);
      std::optional<double> number = isNumber ? argument.constant.getAsNumber() : std::nullopt;
      if (number && (mlir::isa<mlir::FloatType>(type) || *number == double(int64_t(*number))))
        return makeScalar(type, *number);
      return error("argument " + llvm::Twine(position) + " of '" + layer.className +
                   "' is neither a tensor nor a number of the other tensor's type");
    }
    next += count;
  }
  return error("'" + layer.className + "' has no argument " + llvm::Twine(position));
}

std::optional<int64_t> OperationBuilder::resolveAxis(int64_t axis, int64_t rank) {
  axis = axis < 0 ? axis + rank : axis;
  if (axis > 0 && axis < rank)
    return axis;
  error("'" + layer.className + "' works along an axis that is the batch or outside of the tensor");
  return std::nullopt;
}

Value OperationBuilder::toBool(Value value) {
  const mlir::Type type = elementTypeOf(value);
  return type.isInteger(1) ? value
                           : make<CompareOp>(ComparePredicate::NE, value, makeScalar(type, 0));
}

namespace {

using B = OperationBuilder;

template <ComparePredicate predicate> Value compare(B &b) {
  Value lhs = b.getOperand(0), rhs = b.getOperand(1);
  if (!lhs || !rhs)
    return {};
  if (elementTypeOf(lhs) != elementTypeOf(rhs))
    return b.error("'" + b.layer.className + "' compares tensors of different dtypes");
  return b.make<CompareOp>(predicate, lhs, rhs);
}

template <bool isAnd> Value logical(B &b) {
  Value lhs = b.getOperand(0), rhs = b.getOperand(1);
  if (!lhs || !rhs)
    return {};
  lhs = b.toBool(lhs), rhs = b.toBool(rhs);
  return isAnd ? b.make<SelectOp>(lhs, rhs, lhs) : b.make<SelectOp>(lhs, lhs, rhs);
}

Value logicalNot(B &b) {
  Value x = b.getOperand(0);
  return x ? b.make<CompareOp>(ComparePredicate::EQ, b.toBool(x),
                               b.makeScalar(b.builder.getI1Type(), 0))
           : Value();
}

template <ReduceKind kind> Value reduce(B &b) {
  Value x = b.getOperand(0);
  if (!x)
    return {};
  const int64_t rank = tensorTypeOf(x).getRank();
  llvm::SmallVector<int64_t> axes;
  const llvm::json::Value *config = b.layer.config.get("axis");
  if (const llvm::json::Array *list = config ? config->getAsArray() : nullptr) {
    for (const llvm::json::Value &axis : *list)
      axes.push_back(axis.getAsInteger().value_or(rank));
  } else if (config && config->getAsInteger()) {
    axes.push_back(*config->getAsInteger());
  } else {
    return b.error("'" + b.layer.className + "' without an axis reduces over the batch");
  }
  for (int64_t &axis : axes)
    axis = b.resolveAxis(axis, rank).value_or(-1);
  if (!b.getError().empty())
    return {};
  llvm::sort(axes);
  return b.make<ReduceOp>(kind, b.toBool(x), axes,
                          b.layer.config.getBoolean("keepdims").value_or(false));
}

Value expandDims(B &b) {
  Value x = b.getOperand(0);
  std::optional<int64_t> config = b.layer.config.getInteger("axis");
  if (!x || !config)
    return x ? b.error("'ExpandDims' expects one axis") : Value();
  llvm::SmallVector<int64_t> shape(tensorTypeOf(x).getShape());
  std::optional<int64_t> axis = b.resolveAxis(*config, int64_t(shape.size()) + 1);
  if (!axis)
    return {};
  shape.insert(shape.begin() + *axis, 1);
  return b.make<ReshapeOp>(tensorTypeOf(x).clone(shape), x);
}

Value squeeze(B &b) {
  Value x = b.getOperand(0);
  std::optional<int64_t> config = b.layer.config.getInteger("axis");
  if (!x || !config)
    return x ? b.error("'Squeeze' expects one axis") : Value();
  llvm::SmallVector<int64_t> shape(tensorTypeOf(x).getShape());
  std::optional<int64_t> axis = b.resolveAxis(*config, int64_t(shape.size()));
  if (!axis)
    return {};
  if (shape[*axis] != 1)
    return b.error("'Squeeze' needs an axis of extent 1");
  shape.erase(shape.begin() + *axis);
  return b.make<ReshapeOp>(tensorTypeOf(x).clone(shape), x);
}

template <bool one> Value fillLike(B &b) {
  Value x = b.getOperand(0);
  return x ? b.make<BroadcastLikeOp>(b.makeScalar(elementTypeOf(x), one), x) : Value();
}

/// Masks joined with ones of a floating tensor become truth values: what reads them tests for zero.
Value concatenate(B &b) {
  llvm::SmallVector<Value> values(b.getTensors());
  if (values.empty())
    return b.error("'Concatenate' needs a list of tensors");
  const int64_t rank = tensorTypeOf(values.front()).getRank();
  std::optional<int64_t> axis = b.resolveAxis(b.layer.config.getInteger("axis").value_or(0), rank);
  if (!axis)
    return {};
  const bool masks = llvm::any_of(values, [](Value v) { return elementTypeOf(v).isInteger(1); });
  llvm::SmallVector<int64_t> expected(tensorTypeOf(values.front()).getShape());
  for (Value &value : values) {
    if (masks)
      value = b.toBool(value);
    llvm::SmallVector<int64_t> shape(tensorTypeOf(value).getShape());
    if (int64_t(shape.size()) == rank)
      shape[*axis] = expected[*axis];
    if (shape != expected || elementTypeOf(value) != elementTypeOf(values.front()))
      return b.error("'Concatenate' joins tensors of different shapes or dtypes");
  }
  return values.size() == 1 ? values.front()
                            : b.make<ConcatenateOp>(mlir::ValueRange(values), *axis);
}

/// Between floating types and to bool: what Keras casts before it computes a mask.
Value cast(B &b) {
  Value x = b.getOperand(0);
  const llvm::StringRef dtype = b.layer.config.getString("dtype").value_or("");
  if (!x)
    return {};
  if (dtype == "bool")
    return b.toBool(x);
  mlir::Builder &types = b.builder;
  mlir::Type type = llvm::StringSwitch<mlir::Type>(dtype)
                        .Case("float16", types.getF16Type())
                        .Case("bfloat16", types.getBF16Type())
                        .Case("float32", types.getF32Type())
                        .Case("float64", types.getF64Type())
                        .Default({});
  if (!type)
    return b.error("'Cast' to '" + dtype + "' is not supported");
  return elementTypeOf(x) == type ? x : b.make<CastOp>(tensorTypeOf(x).clone(type), x);
}

struct Entry {
  llvm::StringLiteral name;
  OperationImportFn import;
};
constexpr Entry kOperations[] = {
    {"All", reduce<ReduceKind::All>},
    {"Any", reduce<ReduceKind::Any>},
    {"Concatenate", concatenate},
    {"Equal", compare<ComparePredicate::EQ>},
    {"ExpandDims", expandDims},
    {"Greater", compare<ComparePredicate::GT>},
    {"GreaterEqual", compare<ComparePredicate::GE>},
    {"Less", compare<ComparePredicate::LT>},
    {"LessEqual", compare<ComparePredicate::LE>},
    {"LogicalAnd", logical<true>},
    {"LogicalNot", logicalNot},
    {"LogicalOr", logical<false>},
    {"NotEqual", compare<ComparePredicate::NE>},
    {"OnesLike", fillLike<true>},
    {"Squeeze", squeeze},
    {"ZerosLike", fillLike<false>},
};

} // namespace

bool isOperation(const LayerConfig &layer) {
  return llvm::StringRef(layer.module).starts_with("keras.src.ops");
}

OperationImportFn findOperation(const LayerConfig &layer) {
  if (llvm::StringRef(layer.module) == "keras.src.ops.core" && layer.className == "Cast")
    return cast;
  if (llvm::StringRef(layer.module) == "keras.src.ops.numpy")
    for (const Entry &entry : kOperations)
      if (entry.name == layer.className)
        return entry.import;
  return nullptr;
}

bool GraphImporter::importOperation(const LayerConfig &layer, const Node &node,
                                    llvm::StringRef path, llvm::ArrayRef<Value> tensors,
                                    Values &outputs) {
  if (tensors.empty()) {
    report(path, "the operation is called without a tensor");
    return false;
  }
  for (const auto &[keyword, argument] : node.keywords)
    if (argument.kind != Argument::Kind::Constant ||
        argument.constant.kind() != llvm::json::Value::Null) {
      report(path, "the operation '" + layer.className + "' has the keyword '" + keyword +
                       "', which is not supported");
      return false;
    }
  OperationBuilder b(builder, mlir::NameLoc::get(builder.getStringAttr(path)), layer, node,
                     tensors);
  Value result = findOperation(layer)(b);
  if (!result) {
    report(path, b.getError());
    return false;
  }
  outputs.push_back(result);
  return true;
}

} // namespace mpc::keras
