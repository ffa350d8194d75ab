// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constants of a graph while it is imported, and what ONNX's element types are in the mpc dialect.
#ifndef MPC_LIB_IMPORT_ONNX_LITERAL_H
#define MPC_LIB_IMPORT_ONNX_LITERAL_H

#include "dialects/mpc/IR/Reference.h"
#include "mpc/Import/ONNX/DataTypes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"

#include <optional>

namespace mpc::onnx {

/// Types that the dialect has no floating type of (float8, float4) are among them: their numbers
/// are kept in float32.
bool isFloating(DataType type);

/// The element type that values of this type have in the phase import, where every floating one is
/// float32: null for what mpc has no tensors of. Of 4 and 2 bits are those of 8.
mlir::Type nominalType(mlir::Builder &builder, DataType type);
/// The nominal type, or that of the code points of texts.
mlir::Type heldType(mlir::Builder &builder, DataType type);

/// The floating type that values have once casts are inserted: of float8 and smaller, float32.
mlir::FloatType floatType(mlir::Builder &builder, DataType type);

/// The type of values of this element type in the phase import, where only integers tell.
DataType dataTypeOf(mlir::Type elementType);

/// "float16": ONNX's name of the type in small letters, as Keras spells its dtypes.
llvm::StringRef spell(DataType type);

/// A constant whose elements are at hand.
struct Literal {
  DataType type = DataType::Undefined;
  ReferenceTensor tensor;
  /// There are elements that stand for the extent of the batch, which the call gives, or for a
  /// multiple of it.
  bool hasBatch = false;

  /// The number that stands for `count` batches, 1 to kMostBatches. int32 holds it, too: shapes are
  /// cast.
  static constexpr int64_t numberOfBatches(int64_t count) { return kBatch + count - 1; }
  /// How many batches the number stands for.
  static constexpr std::optional<int64_t> findBatches(int64_t number) {
    if (number < kBatch || number >= kBatch + kMostBatches)
      return std::nullopt;
    return number - kBatch + 1;
  }
  static constexpr int64_t kMostBatches = 1 << 20;

  /// Integers of this shape.
  static Literal fromIntegers(mlir::Builder &builder, llvm::ArrayRef<int64_t> shape,
                              llvm::ArrayRef<int64_t> values);
  /// Nothing for types that mpc has no tensors of. Texts are code points, a dimension more.
  static std::optional<Literal> decode(mlir::Builder &builder, const Tensor &tensor);

  bool isInteger() const { return !tensor.isFloating(); }
  /// Whether one of its elements is the largest or the smallest finite number of float32, which
  /// exporters write for "as far as numbers go".
  bool hasLastFloat() const;
  /// As a constant of the dialect; `element` float32 or float64 for floating ones.
  mlir::DenseElementsAttr toAttribute(mlir::Type element) const;

private:
  static constexpr int64_t kBatch = INT32_MIN + 0x6d7063;
};

} // namespace mpc::onnx

#endif
