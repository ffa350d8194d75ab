// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/core/embedding.py and reversible_embedding.py: call, _int8_call, _int4_call.
#include "lib/Import/Keras/Layers/EmbeddingTable.h"

#include "lib/Import/Keras/Quantization/QuantizedKernel.h"

namespace mpc::keras {

using mlir::Value;

Value makeIndex(LayerBuilder &b, Value ids, int64_t rows) {
  const bool isChecked = b.limitIndices(ids, rows);
  if (!elementTypeOf(ids).isInteger(32) && !elementTypeOf(ids).isInteger(64))
    ids = b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(ids), b.builder.getI32Type()), ids);
  // Keras 3 counts negative ones from the end; for TensorFlow, which Keras 2 asks, they are
  // outside.
  if (isChecked || !b.layer.version.isKeras2())
    return ids;
  const mlir::Type element = elementTypeOf(ids);
  return b.makeSelect(ComparePredicate::LT, ids, b.makeInteger(element, 0),
                      b.makeInteger(element, rows), ids);
}

bool EmbeddingTable::addVariables(bool isUntied) {
  untied = isUntied;
  forward = addForm("embeddings", /*isReverse=*/false);
  if (quantization && quantization.blockSize)
    groups = b.addVariable(
        requestPart("g_idx", width, "zeros", b.builder.getF32Type(), quantization.ofFloats));
  if (untied)
    reverse = addForm("reverse_embeddings", /*isReverse=*/true);
  if (lowRank)
    factors = addLowRankFactors(b, lowRank, "embeddings", {rows, width}, "embeddings_regularizer");
  return !b.hasFailed();
}

EmbeddingTable::Form EmbeddingTable::addForm(llvm::StringRef name, bool isReverse) {
  llvm::SmallVector<int64_t> full{rows, width};
  if (isReverse)
    std::swap(full[0], full[1]);
  if (!quantization) {
    VariableRequest request{name, full, "embeddings_initializer",
                            isReverse ? "" : "embeddings_regularizer",
                            isReverse ? "" : "embeddings_constraint"};
    request.defaultInitializer = "uniform";
    request.frozen = lowRank && !isReverse;
    if (!isReverse)
      request.merge = makeMerge(lowRank, nullptr);
    return {b.addVariable(request), {}, {}};
  }
  const bool isInt4 = quantization.mode == QuantizationMode::Int4;
  const int64_t block = quantization.blockSize, reduced = isReverse ? 0 : 1;
  auto quantizer = std::make_shared<KernelQuantizer>();
  quantizer->fileShape.assign(full.begin(), full.end());
  quantizer->shape = full;
  quantizer->reducedAxes = {reduced};
  quantizer->scaleAxes = {1 - reduced};
  quantizer->scaleShape = {rows};
  if (block) {
    quantizer->scaleAxes = {0, 1};
    quantizer->scaleShape = full;
    quantizer->scaleShape[reduced] = (width + block - 1) / block;
  }
  quantizer->isInt4 = isInt4;
  quantizer->blockSize = block;
  quantizer->dtype = b.policies.getVariableDType(b.layer, b.path);
  quantizer->packsRows = quantizer->hasFloatZero = isReverse;
  const bool isDerived = quantization.ofFloats;
  llvm::SmallVector<int64_t> stored(full);
  if (isInt4)
    stored[reduced] = (width + 1) / 2;
  Form form;
  const mlir::Type i8 = b.builder.getI8Type();
  VariableRequest request = requestPart(name, stored, "zeros", i8, /*isDerived=*/false);
  request.quantizer = isDerived ? quantizer : nullptr;
  request.merge = isReverse ? nullptr : makeMerge(lowRank, quantizer);
  form.values = b.addVariable(request);
  const std::string scaleName = (name + "_scale").str(), zeroName = (name + "_zero").str();
  form.scale = b.addVariable(requestPart(scaleName, quantizer->scaleShape, "ones", {}, isDerived));
  if (block)
    form.zero = b.addVariable(requestPart(zeroName, quantizer->scaleShape, "zeros",
                                          isReverse ? mlir::Type() : i8, isDerived));
  return form;
}

// ---- Rows ---------------------------------------------------------------------------------------

/// The table is gathered in the dtype that it is stored in and the rows are cast, so gradients add
/// up in float32.
Value EmbeddingTable::gather(Value index) {
  auto rowsOf = [&](Value values) {
    return b.make<GatherOp>(values, index, /*axis=*/int64_t(0), /*batch_dims=*/int64_t(0));
  };
  Value result = quantization ? gatherQuantized(index) : rowsOf(forward.values);
  if (factors)
    result = b.make<AddOp>(result, multiplyLowRank(b, lowRank, rowsOf(factors.a), factors.b));
  return result;
}

/// Keras divides in the compute dtype.
Value EmbeddingTable::gatherQuantized(Value index) {
  auto rowsOf = [&](Value values) {
    return b.make<GatherOp>(values, index, /*axis=*/int64_t(0), /*batch_dims=*/int64_t(0));
  };
  Value numbers = rowsOf(forward.values);
  if (quantization.mode == QuantizationMode::Int4)
    numbers = b.make<UnpackInt4Op>(numbers, width);
  Value floats = b.makeCastToFloat(numbers);
  Value ownScale = b.makeCastLike(rowsOf(forward.scale), {floats});
  if (quantization.blockSize)
    return dequantizeBlocks(b, numbers, ownScale, rowsOf(forward.zero), groups,
                            b.rankOf(ownScale) - 1);
  llvm::SmallVector<int64_t> extents(b.shapeOf(ownScale));
  extents.push_back(1);
  return b.make<DivideOp>(floats, b.makeReshape(ownScale, extents));
}

// ---- The way back -------------------------------------------------------------------------------

static Value contractLast(LayerBuilder &b, Value x, Value table, int64_t axis) {
  return b.make<ContractOp>(x, table, llvm::ArrayRef<int64_t>{b.rankOf(x) - 1},
                            llvm::ArrayRef<int64_t>{axis});
}

Value EmbeddingTable::project(Value x, mlir::Type element) {
  if (quantization)
    return projectIntegers(x);
  Value table = untied ? reverse.values : forward.values;
  if (factors && !untied)
    table = b.make<AddOp>(table, multiplyLowRank(b, lowRank, factors.a, factors.b));
  if (element) {
    x = b.makeCastTo(x, element);
    table = b.makeCastTo(table, element);
  }
  return contractLast(b, x, table, untied ? 0 : 1);
}

/// Keras has no gradient of its own here: none passes the rounded input, some its scale.
Value EmbeddingTable::projectIntegers(Value x) {
  const Form &form = untied ? reverse : forward;
  Value inputScale;
  if (quantization.activation)
    std::tie(x, inputScale) = quantizeActivation(b, x, {b.rankOf(x) - 1}, *quantization.activation);
  Value values = form.values;
  int64_t axis = untied ? 0 : 1;
  if (quantization.mode == QuantizationMode::Int4) {
    // Untied ones are packed along the contracted dimension, which is to be the last.
    if (untied)
      values = b.make<TransposeOp>(values, llvm::ArrayRef<int64_t>{1, 0});
    values = b.make<UnpackInt4Op>(values, width);
    axis = 1;
  }
  if (quantization.blockSize) {
    if (untied)
      values = b.make<TransposeOp>(values, llvm::ArrayRef<int64_t>{1, 0});
    axis = untied ? 0 : 1;
    Value table = dequantizeBlocks(b, values, form.scale, form.zero, groups, axis);
    Value y = contractLast(b, inputScale ? b.makeCastToFloat(x) : x, table, axis);
    return inputScale ? b.make<DivideOp>(y, inputScale) : y;
  }
  if (!inputScale)
    return b.make<DivideOp>(contractLast(b, x, b.makeCastToFloat(values), axis), form.scale);
  Value sum = b.makeCastToFloat(contractLast(b, x, values, axis));
  return b.make<DivideOp>(sum, b.make<MultiplyOp>(inputScale, form.scale));
}

} // namespace mpc::keras
