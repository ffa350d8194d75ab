// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/core/embedding.py: rows of a table by integer ids.
#include "../LayerRegistry.h"
#include "../QuantizedKernel.h"

namespace mpc::keras {
namespace {

using mlir::Value;

/// The rows of an int8 or int4 table (keras: _int8_call, _int4_call). Keras divides in the compute
/// dtype.
Value gatherQuantized(LayerBuilder &b, const Quantization &quantization, Value index, int64_t rows,
                      int64_t width) {
  const bool isInt4 = quantization.mode == QuantizationMode::Int4;
  const int64_t block = quantization.blockSize;
  auto quantizer = std::make_shared<KernelQuantizer>();
  quantizer->fileShape = {rows, width};
  quantizer->shape = {rows, width};
  quantizer->reducedAxes = {1};
  quantizer->scaleAxes = {0};
  quantizer->scaleShape = {rows};
  if (block) {
    quantizer->scaleAxes = {0, 1};
    quantizer->scaleShape = {rows, (width + block - 1) / block};
  }
  quantizer->isInt4 = isInt4;
  quantizer->blockSize = block;
  quantizer->dtype = b.getVariableDType();
  const bool isDerived = quantization.ofFloats;
  Value table = addIntegers(b, "embeddings", {rows, isInt4 ? (width + 1) / 2 : width},
                            isDerived ? quantizer : nullptr);
  Value scale = addScale(b, "embeddings_scale", quantizer->scaleShape, isDerived), zero, groups;
  if (block) {
    zero = addZero(b, "embeddings_zero", quantizer->scaleShape, isDerived);
    groups = addGroups(b, width, isDerived);
  }
  if (b.hasFailed())
    return {};
  auto rowsOf = [&](Value values) {
    return b.make<GatherOp>(values, index, /*axis=*/int64_t(0), /*batch_dims=*/int64_t(0));
  };
  Value numbers = rowsOf(table);
  if (isInt4)
    numbers = b.make<UnpackInt4Op>(numbers, width);
  Value floats = b.makeCastToFloat(numbers);
  Value ownScale = b.makeCastLike(rowsOf(scale), {floats});
  if (block)
    return dequantizeBlocks(b, numbers, ownScale, rowsOf(zero), groups, b.rankOf(ownScale) - 1);
  llvm::SmallVector<int64_t> extents(b.shapeOf(ownScale));
  extents.push_back(1);
  return b.make<DivideOp>(floats, b.makeReshape(ownScale, extents));
}

/// The table is gathered in the dtype that it is stored in and the rows are cast, so gradients add
/// up in float32. Ids that are neither int32 nor int64 become int32, floating ones truncate.
Value importEmbedding(LayerBuilder &b) {
  b.setKeepsTypes();
  Value ids = b.getInput();
  const int64_t rows = b.getInteger("input_dim", 0), width = b.getInteger("output_dim", 0);
  if (rows <= 0 || width <= 0)
    b.error("'input_dim' and 'output_dim' of Embedding must be positive integers");
  const Quantization quantization =
      b.getQuantization({QuantizationMode::Int8, QuantizationMode::Int4});
  b.refuseLora();
  if (!ids || b.hasFailed())
    return {};
  if (b.getFlag("mask_zero", false))
    b.setMask(0, b.makeBool(ids));
  Value index = ids;
  if (!elementTypeOf(ids).isInteger(32) && !elementTypeOf(ids).isInteger(64))
    index =
        b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(ids), b.builder.getI32Type()), ids);
  else
    b.limitIndices(ids, rows);
  if (quantization)
    return gatherQuantized(b, quantization, index, rows, width);
  VariableRequest request{"embeddings",
                          {rows, width},
                          "embeddings_initializer",
                          "embeddings_regularizer",
                          "embeddings_constraint"};
  request.defaultInitializer = "uniform";
  Value table = b.addVariable(request);
  return table ? b.make<GatherOp>(table, index, /*axis=*/int64_t(0), /*batch_dims=*/int64_t(0))
               : Value();
}

constexpr LayerEntry kEmbeddingLayers[] = {{"Embedding", importEmbedding}};

} // namespace

llvm::ArrayRef<LayerEntry> embeddingLayers() { return kEmbeddingLayers; }

} // namespace mpc::keras
