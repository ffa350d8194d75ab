// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Keras/ArrayLiteral.h"

#include "lib/Import/Keras/Dtype.h"

namespace mpc::keras {

namespace json = llvm::json;

/// More dimensions than any tensor of a model has; the file may nest as it likes.
constexpr unsigned kMostDimensions = 16;

/// Appends the numbers of a nested list in row-major order and finds its shape; false for anything
/// that is no rectangular array.
static bool flatten(const json::Value &value, unsigned depth, llvm::SmallVectorImpl<int64_t> &shape,
                    llvm::SmallVectorImpl<const json::Value *> &numbers) {
  const json::Array *array = value.getAsArray();
  if (!array) {
    if (depth != shape.size())
      return false;
    numbers.push_back(&value);
    return true;
  }
  if (depth == shape.size()) {
    if (!numbers.empty() || depth >= kMostDimensions)
      return false;
    shape.push_back(int64_t(array->size()));
  }
  if (shape[depth] != int64_t(array->size()))
    return false;
  return llvm::all_of(
      *array, [&](const json::Value &item) { return flatten(item, depth + 1, shape, numbers); });
}

static std::optional<llvm::APFloat> readFloat(const json::Value &value, mlir::FloatType type) {
  std::optional<double> number = value.getAsNumber();
  if (std::optional<bool> flag = value.getAsBoolean())
    number = *flag;
  if (!number)
    return std::nullopt;
  llvm::APFloat result(*number);
  bool losesInfo;
  result.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return result;
}

static std::optional<llvm::APInt> readInteger(const json::Value &value, mlir::IntegerType type) {
  const unsigned bits = type.getWidth();
  if (std::optional<bool> flag = value.getAsBoolean())
    return llvm::APInt(bits, *flag);
  // Truth values and unsigned numbers have no sign bit.
  const bool isSigned = !type.isUnsigned() && bits > 1;
  if (std::optional<int64_t> integer = value.getAsInteger())
    return (isSigned ? llvm::isIntN(bits, *integer)
                     : *integer >= 0 && llvm::isUIntN(bits, uint64_t(*integer)))
               ? std::optional(llvm::APInt(64, uint64_t(*integer)).trunc(bits))
               : std::nullopt;
  if (std::optional<uint64_t> integer = value.getAsUINT64(); integer && !isSigned && bits == 64)
    return llvm::APInt(bits, *integer);
  return std::nullopt;
}

mlir::DenseElementsAttr readArray(const json::Value &value, mlir::Type element) {
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<const json::Value *> numbers;
  if (!flatten(value, 0, shape, numbers))
    return {};
  auto read = [&](auto type, auto readOne) -> mlir::DenseElementsAttr {
    llvm::SmallVector<typename decltype(readOne(value, type))::value_type> values;
    for (const json::Value *number : numbers) {
      auto one = readOne(*number, type);
      if (!one)
        return {};
      values.push_back(*one);
    }
    return mlir::DenseElementsAttr::get(mlir::RankedTensorType::get(shape, element), values);
  };
  if (auto floating = mlir::dyn_cast<mlir::FloatType>(element))
    return read(floating, readFloat);
  return read(mlir::cast<mlir::IntegerType>(element), readInteger);
}

mlir::DenseElementsAttr readArrayObject(mlir::Builder &builder, const json::Object &object) {
  const json::Object *config = object.getObject("config");
  const json::Value *value = config ? config->get("value") : nullptr;
  mlir::Type element =
      value ? dtypeElement(builder, config->getString("dtype").value_or("float32")) : mlir::Type();
  if (mlir::isa_and_nonnull<mlir::FloatType>(element))
    element = builder.getF32Type();
  return element ? readArray(*value, element) : mlir::DenseElementsAttr();
}

} // namespace mpc::keras
