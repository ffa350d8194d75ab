// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Literal.h"

#include "lib/Import/ONNX/CodePoints.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/Endian.h"

#include <cmath>
#include <limits>

namespace mpc::onnx {

namespace {

struct TypeRow {
  DataType type;
  llvm::StringLiteral name;
  unsigned bits;
  enum Kind { Signed, Unsigned, Bool, Float, None } kind;
};

constexpr TypeRow kTypes[] = {
    {DataType::Float, "float32", 32, TypeRow::Float},
    {DataType::UInt8, "uint8", 8, TypeRow::Unsigned},
    {DataType::Int8, "int8", 8, TypeRow::Signed},
    {DataType::UInt16, "uint16", 16, TypeRow::Unsigned},
    {DataType::Int16, "int16", 16, TypeRow::Signed},
    {DataType::Int32, "int32", 32, TypeRow::Signed},
    {DataType::Int64, "int64", 64, TypeRow::Signed},
    {DataType::String, "string", 0, TypeRow::None},
    {DataType::Bool, "bool", 8, TypeRow::Bool},
    {DataType::Float16, "float16", 16, TypeRow::Float},
    {DataType::Double, "float64", 64, TypeRow::Float},
    {DataType::UInt32, "uint32", 32, TypeRow::Unsigned},
    {DataType::UInt64, "uint64", 64, TypeRow::Unsigned},
    {DataType::Complex64, "complex64", 0, TypeRow::None},
    {DataType::Complex128, "complex128", 0, TypeRow::None},
    {DataType::BFloat16, "bfloat16", 16, TypeRow::Float},
    {DataType::Float8E4M3FN, "float8e4m3fn", 8, TypeRow::Float},
    {DataType::Float8E4M3FNUZ, "float8e4m3fnuz", 8, TypeRow::Float},
    {DataType::Float8E5M2, "float8e5m2", 8, TypeRow::Float},
    {DataType::Float8E5M2FNUZ, "float8e5m2fnuz", 8, TypeRow::Float},
    {DataType::UInt4, "uint4", 4, TypeRow::Unsigned},
    {DataType::Int4, "int4", 4, TypeRow::Signed},
    {DataType::Float4E2M1, "float4e2m1", 4, TypeRow::Float},
    {DataType::Float8E8M0, "float8e8m0", 8, TypeRow::Float},
    {DataType::UInt2, "uint2", 2, TypeRow::Unsigned},
    {DataType::Int2, "int2", 2, TypeRow::Signed},
};

const TypeRow *findRow(DataType type) {
  for (const TypeRow &row : kTypes)
    if (row.type == type)
      return &row;
  return nullptr;
}

const llvm::fltSemantics &semanticsOf(DataType type) {
  switch (type) {
  case DataType::Float16:
    return llvm::APFloat::IEEEhalf();
  case DataType::BFloat16:
    return llvm::APFloat::BFloat();
  case DataType::Double:
    return llvm::APFloat::IEEEdouble();
  case DataType::Float8E4M3FN:
    return llvm::APFloat::Float8E4M3FN();
  case DataType::Float8E4M3FNUZ:
    return llvm::APFloat::Float8E4M3FNUZ();
  case DataType::Float8E5M2:
    return llvm::APFloat::Float8E5M2();
  case DataType::Float8E5M2FNUZ:
    return llvm::APFloat::Float8E5M2FNUZ();
  case DataType::Float4E2M1:
    return llvm::APFloat::Float4E2M1FN();
  case DataType::Float8E8M0:
    return llvm::APFloat::Float8E8M0FNU();
  default:
    return llvm::APFloat::IEEEsingle();
  }
}

/// Bits of element `index`, the first one lowest in packed types.
uint64_t readBits(llvm::ArrayRef<char> bytes, unsigned bits, int64_t index) {
  if (bits < 8) {
    const uint64_t position = uint64_t(index) * bits;
    return (uint64_t(uint8_t(bytes[position / 8])) >> (position % 8)) & ((1u << bits) - 1);
  }
  uint64_t value = 0;
  for (unsigned byte = 0; byte < bits / 8; ++byte)
    value |= uint64_t(uint8_t(bytes[uint64_t(index) * (bits / 8) + byte])) << (8 * byte);
  return value;
}

} // namespace

bool isFloating(DataType type) {
  const TypeRow *row = findRow(type);
  return row && row->kind == TypeRow::Float;
}

mlir::Type nominalType(mlir::Builder &builder, DataType type) {
  const TypeRow *row = findRow(type);
  if (!row || row->kind == TypeRow::None)
    return {};
  if (row->kind == TypeRow::Float)
    return builder.getF32Type();
  if (row->kind == TypeRow::Bool)
    return builder.getI1Type();
  const unsigned bits = std::max(row->bits, 8u);
  return row->kind == TypeRow::Unsigned ? builder.getIntegerType(bits, /*isSigned=*/false)
                                        : builder.getIntegerType(bits);
}

mlir::Type heldType(mlir::Builder &builder, DataType type) {
  return type == DataType::String ? builder.getI32Type() : nominalType(builder, type);
}

mlir::FloatType floatType(mlir::Builder &builder, DataType type) {
  switch (type) {
  case DataType::Float16:
    return builder.getF16Type();
  case DataType::BFloat16:
    return builder.getBF16Type();
  case DataType::Double:
    return builder.getF64Type();
  default:
    return builder.getF32Type();
  }
}

DataType dataTypeOf(mlir::Type elementType) {
  if (elementType.isF16())
    return DataType::Float16;
  if (elementType.isBF16())
    return DataType::BFloat16;
  if (elementType.isF64())
    return DataType::Double;
  if (!elementType.isInteger())
    return DataType::Float;
  const unsigned width = elementType.getIntOrFloatBitWidth();
  if (width == 1)
    return DataType::Bool;
  for (const TypeRow &row : kTypes)
    if (row.bits == width &&
        row.kind == (elementType.isUnsignedInteger() ? TypeRow::Unsigned : TypeRow::Signed))
      return row.type;
  return DataType::Undefined;
}

llvm::StringRef spell(DataType type) {
  const TypeRow *row = findRow(type);
  return row ? llvm::StringRef(row->name) : "undefined";
}

Literal Literal::fromIntegers(mlir::Builder &builder, llvm::ArrayRef<int64_t> shape,
                              llvm::ArrayRef<int64_t> values) {
  Literal literal;
  literal.type = DataType::Int64;
  literal.tensor.elementType = builder.getI64Type();
  literal.tensor.shape.assign(shape.begin(), shape.end());
  literal.tensor.integers.assign(values.begin(), values.end());
  return literal;
}

static std::optional<Literal> decodeStrings(mlir::Builder &builder, const Tensor &tensor) {
  int64_t width = 1;
  std::optional<std::vector<int64_t>> points = decodeTexts(tensor.strings, width);
  if (!points || width > kMostTextWidth || int64_t(points->size()) > kMostTextConstants)
    return std::nullopt;
  Literal literal;
  literal.type = DataType::String;
  literal.tensor.elementType = builder.getI32Type();
  literal.tensor.shape.assign(tensor.shape.begin(), tensor.shape.end());
  literal.tensor.shape.push_back(width);
  literal.tensor.integers.assign(points->begin(), points->end());
  return literal;
}

std::optional<Literal> Literal::decode(mlir::Builder &builder, const Tensor &tensor) {
  if (tensor.type == DataType::String)
    return decodeStrings(builder, tensor);
  const TypeRow *row = findRow(tensor.type);
  if (!row || row->kind == TypeRow::None)
    return std::nullopt;
  Literal literal;
  literal.type = tensor.type;
  literal.tensor.elementType =
      tensor.type == DataType::Double ? builder.getF64Type() : nominalType(builder, tensor.type);
  literal.tensor.shape.assign(tensor.shape.begin(), tensor.shape.end());
  const int64_t count = literal.tensor.size();
  if ((uint64_t(count) * row->bits + 7) / 8 > tensor.bytes.size())
    return std::nullopt; // the reader has refused such a tensor
  literal.tensor.allocate();
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t bits = readBits(tensor.bytes, row->bits, i);
    if (row->kind == TypeRow::Float) {
      llvm::APFloat number(semanticsOf(tensor.type), llvm::APInt(row->bits, bits));
      bool losesInfo = false;
      number.convert(llvm::APFloat::IEEEdouble(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      literal.tensor.floats[i] = number.convertToDouble();
    } else if (row->kind == TypeRow::Bool) {
      literal.tensor.integers[i] = bits != 0;
    } else {
      const llvm::APInt number(row->bits, bits);
      literal.tensor.integers[i] =
          row->kind == TypeRow::Signed ? number.getSExtValue() : int64_t(number.getZExtValue());
    }
  }
  return literal;
}

bool Literal::hasLastFloat() const {
  return tensor.isFloating() && llvm::any_of(tensor.floats, [](double number) {
           return std::abs(number) == double(std::numeric_limits<float>::max());
         });
}

mlir::DenseElementsAttr Literal::toAttribute(mlir::Type element) const {
  auto type = mlir::RankedTensorType::get(tensor.shape, element);
  if (element.isF64())
    return mlir::DenseElementsAttr::get(type, llvm::ArrayRef<double>(tensor.floats));
  if (tensor.isFloating()) {
    llvm::SmallVector<float> numbers(tensor.floats.begin(), tensor.floats.end());
    return mlir::DenseElementsAttr::get(type, llvm::ArrayRef<float>(numbers));
  }
  llvm::SmallVector<llvm::APInt> numbers;
  for (int64_t value : tensor.integers)
    numbers.emplace_back(element.getIntOrFloatBitWidth(), uint64_t(value), /*isSigned=*/false,
                         /*implicitTrunc=*/true);
  return mlir::DenseElementsAttr::get(type, numbers);
}

} // namespace mpc::onnx
