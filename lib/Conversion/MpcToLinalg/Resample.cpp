// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Resampling: a parallel op that reads at indices from constant tables. A selection along all axes
// is one op; weighted sums are taken along one axis after the other, in float32 until the last.
#include "dialects/mpc/IR/Mpc.h"
#include "lib/Conversion/MpcToLinalg/Generic.h"
#include "lib/Conversion/MpcToLinalg/Patterns.h"
#include "lib/Conversion/MpcToLinalg/Scalar.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mpc;

static Value indexTable(OpBuilder &builder, Location loc, const ResampleTable &table) {
  SmallVector<int32_t> entries(table.indices.begin(), table.indices.end());
  auto type = RankedTensorType::get({int64_t(entries.size())}, builder.getI32Type());
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, ArrayRef<int32_t>(entries)));
}

static Value weightTable(OpBuilder &builder, Location loc, const ResampleTable &table,
                         Type element) {
  auto type = RankedTensorType::get({int64_t(table.weights.size())}, element);
  if (element.isF64())
    return arith::ConstantOp::create(builder, loc,
                                     DenseElementsAttr::get(type, ArrayRef<double>(table.weights)));
  SmallVector<float> rounded(table.weights.begin(), table.weights.end());
  return arith::ConstantOp::create(builder, loc,
                                   DenseElementsAttr::get(type, ArrayRef<float>(rounded)));
}

static bool hasGaps(const ResampleTable &table) { return llvm::is_contained(table.indices, -1); }

/// Sums along the axes of `tables`; each but the first has one tap.
static Value resample(OpBuilder &builder, Location loc, Value input, ArrayRef<ResampleTable> tables,
                      RankedTensorType type) {
  Type element = type.getElementType();
  auto floating = dyn_cast<FloatType>(element);
  Type wide = floating ? widerOf32(element) : element;
  SmallVector<Value> indexTables, weights;
  for (const ResampleTable &table : tables) {
    indexTables.push_back(indexTable(builder, loc, table));
    weights.push_back(table.weights.empty() ? Value() : weightTable(builder, loc, table, wide));
  }
  // The first axes of several may hand wider elements on than the input has.
  bool selects = element == tensorTypeOf(input).getElementType() &&
                 llvm::all_of(tables, [](const ResampleTable &table) {
                   return table.taps == 1 && table.weights.empty();
                 });
  Value empty = emptyFrom(builder, loc, type, input);
  AffineMap identity = builder.getMultiDimIdentityMap(type.getRank());
  return buildReduction(
      builder, loc, {}, empty, identity, {}, [&](OpBuilder &b, Location l, ValueRange, ValueRange) {
        auto constant = [&](int64_t value) -> Value {
          return arith::ConstantIndexOp::create(b, l, value);
        };
        Value zero = selects ? scalarOf(b, l, element, 0) : scalarOf(b, l, wide, 0);
        Value total;
        for (int64_t tap = 0; tap < tables.front().taps; ++tap) {
          SmallVector<Value> indices;
          for (int64_t d = 0; d < type.getRank(); ++d)
            indices.push_back(linalg::IndexOp::create(b, l, d));
          Value exists, weight;
          for (auto [i, table] : llvm::enumerate(tables)) {
            Value entry = arith::MulIOp::create(b, l, indices[table.axis], constant(table.taps));
            entry = arith::AddIOp::create(b, l, entry, constant(tap));
            Value index = tensor::ExtractOp::create(b, l, indexTables[i], entry);
            index = arith::IndexCastOp::create(b, l, b.getIndexType(), index);
            if (hasGaps(table)) {
              Value here =
                  arith::CmpIOp::create(b, l, arith::CmpIPredicate::sge, index, constant(0));
              exists = exists ? Value(arith::AndIOp::create(b, l, exists, here)) : here;
              index = arith::MaxSIOp::create(b, l, index, constant(0));
            }
            if (weights[i])
              weight = tensor::ExtractOp::create(b, l, weights[i], entry);
            indices[table.axis] = index;
          }
          Value x = tensor::ExtractOp::create(b, l, input, indices);
          if (!selects)
            x = widen(b, l, x);
          if (weight)
            x = arith::MulFOp::create(b, l, x, weight);
          if (exists)
            x = arith::SelectOp::create(b, l, exists, x, zero);
          total = total ? Value(arith::AddFOp::create(b, l, total, x)) : x;
        }
        return SmallVector<Value>{selects ? total : roundTo(b, l, total, element)};
      })[0];
}

namespace {
struct LowerResample : OpConversionPattern<ResampleOp> {
  using OpConversionPattern::OpConversionPattern;

  LogicalResult matchAndRewrite(ResampleOp op, OpAdaptor adaptor,
                                ConversionPatternRewriter &rewriter) const override {
    auto type = cast<RankedTensorType>(getTypeConverter()->convertType(op.getType()));
    Value value = adaptor.getInput();
    SmallVector<ResampleTable> tables = op.getTables();
    for (const ResampleTable &table : tables)
      if (tensorTypeOf(value).getDimSize(table.axis) > std::numeric_limits<int32_t>::max())
        return rewriter.notifyMatchFailure(op, "an axis is too long");
    if (tables.empty()) {
      rewriter.replaceOp(op, value);
      return success();
    }
    if (op.isSelection()) {
      rewriter.replaceOp(op, resample(rewriter, op.getLoc(), value, tables, type));
      return success();
    }
    Type wide = widerOf32(type.getElementType());
    for (auto [i, table] : llvm::enumerate(tables)) {
      SmallVector<int64_t> shape(tensorTypeOf(value).getShape());
      shape[table.axis] = table.outputs();
      bool last = i + 1 == tables.size();
      value = resample(rewriter, op.getLoc(), value, table,
                       RankedTensorType::get(shape, last ? type.getElementType() : wide));
    }
    rewriter.replaceOp(op, value);
    return success();
  }
};
} // namespace

void mpc::populateResamplePatterns(const TypeConverter &converter, RewritePatternSet &patterns) {
  patterns.add<LowerResample>(converter, patterns.getContext());
}
