// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/core/dense.py and einsum_dense.py: _int8_call, _int4_call, _float8_call. Every
// op rounds to the compute dtype, as Keras's do.
#include "lib/Import/Keras/Quantization/QuantizedKernel.h"

namespace mpc::keras {

using mlir::Value;

/// The importer's limit for any variable; products of two stay within 64 bits of what is added.
static constexpr int64_t kMostExtent = int64_t(1) << 40;

static Value castIntegers(LayerBuilder &b, Value x, mlir::Type element) {
  return b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(x), element), x);
}

std::pair<Value, Value> quantizeActivation(LayerBuilder &b, Value x, llvm::ArrayRef<int64_t> axes,
                                           const ActivationQuantizer &quantizer) {
  Value amax = b.makeReduce(ReduceKind::Max, b.make<AbsOp>(x), axes, /*keepDims=*/true);
  Value range = b.make<AddOp>(amax, b.makeConstant(quantizer.epsilon));
  Value scale = b.make<DivideOp>(b.makeConstant(quantizer.high), range);
  Value rounded = b.make<RoundOp>(b.make<MultiplyOp>(x, scale));
  Value clipped = b.make<MinimumOp>(b.make<MaximumOp>(rounded, b.makeConstant(quantizer.low)),
                                    b.makeConstant(quantizer.high));
  return {castIntegers(b, clipped, b.builder.getI8Type()), scale};
}

Value dequantizeBlocks(LayerBuilder &b, Value values, Value scale, Value zero, Value groups,
                       int64_t axis) {
  Value places = castIntegers(b, groups, b.builder.getI32Type());
  auto spread = [&](Value table) {
    return b.make<GatherOp>(table, places, axis, /*batch_dims=*/int64_t(0));
  };
  Value shift = spread(zero);
  if (!mlir::isa<mlir::FloatType>(elementTypeOf(shift)))
    shift = b.makeCastToFloat(shift);
  Value shifted = b.make<SubtractOp>(b.makeCastToFloat(values), shift);
  return b.make<MultiplyOp>(shifted, spread(scale));
}

VariableRequest requestPart(llvm::StringRef name, llvm::ArrayRef<int64_t> dims,
                            llvm::StringRef initializer, mlir::Type type, bool isDerived) {
  VariableRequest request;
  request.name = name;
  request.shape.assign(dims.begin(), dims.end());
  request.defaultInitializer = initializer;
  request.trainable = false;
  request.ownType = type;
  // Keras casts the blocks of places to the compute dtype before it makes integers of them; here
  // they never leave float32, which holds them all.
  request.autocast = !mlir::isa_and_nonnull<mlir::FloatType>(type);
  request.derived = isDerived;
  return request;
}

// ---- Variables ----------------------------------------------------------------------------------

bool QuantizedKernel::addVariables(llvm::function_ref<bool()> addBias) {
  if (shape.lowRank && quantization.mode == QuantizationMode::Float8)
    b.error("float8 layers do not support LoRA, in Keras neither");
  if (quantization.isCalibrated())
    return addCalibrated(addBias);
  addKernel();
  // After an error in the kernel's options those of the bias are looked at, too.
  if (!addBias() || !kernel)
    return false;
  if (!quantization && !shape.lowRank)
    return true;
  if (quantization.mode == QuantizationMode::Float8)
    addFloat8State();
  else if (quantization)
    addScales();
  if (shape.lowRank)
    factors = addLowRankFactors(b, shape.lowRank, "kernel", shape.request.shape,
                                shape.request.regularizerKey);
  return !b.hasFailed();
}

void QuantizedKernel::addKernel() {
  if (!quantization || quantization.mode == QuantizationMode::Float8) {
    VariableRequest request = shape.request;
    request.frozen = bool(shape.lowRank);
    request.merge = makeMerge(shape.lowRank, nullptr);
    kernel = b.addVariable(request);
    return;
  }
  quantizer = std::make_shared<KernelQuantizer>();
  llvm::ArrayRef<int64_t> full = shape.request.shape;
  quantizer->fileShape.assign(full.begin(), full.end());
  quantizer->isInt4 = quantization.mode == QuantizationMode::Int4;
  quantizer->blockSize = quantization.blockSize;
  quantizer->dtype = b.policies.getVariableDType(b.layer, b.path);
  llvm::SmallVector<int64_t> stored(full);
  if (!quantizer->isInt4) {
    quantizer->shape.assign(full.begin(), full.end());
    quantizer->reducedAxes = shape.reducedAxes;
    quantizer->scaleAxes = shape.scaleAxes;
    quantizer->scaleShape = shape.scaleShape;
  } else {
    int64_t rows = 1, columns = 1;
    for (auto [axis, extent] : llvm::enumerate(full)) {
      int64_t &side = llvm::is_contained(shape.reducedAxes, int64_t(axis)) ? rows : columns;
      if (__builtin_mul_overflow(side, extent, &side) || side > kMostExtent) {
        b.error("the kernel has more than 2^40 elements");
        return;
      }
    }
    quantizer->shape = {rows, columns};
    quantizer->reducedAxes = {0};
    quantizer->scaleAxes = {1};
    quantizer->scaleShape = {columns};
    if (const int64_t block = quantization.blockSize) {
      quantizer->scaleAxes = {0, 1};
      quantizer->scaleShape = {(rows + block - 1) / block, columns};
    }
    stored = {rows, (columns + 1) / 2};
  }
  VariableRequest request =
      requestPart("kernel", stored, "zeros", b.builder.getI8Type(), /*isDerived=*/false);
  request.quantizer = quantization.ofFloats ? quantizer : nullptr;
  request.merge = makeMerge(shape.lowRank, quantizer);
  kernel = b.addVariable(request);
}

void QuantizedKernel::addScales() {
  const bool isDerived = quantization.ofFloats;
  auto add = [&](llvm::StringRef name, llvm::ArrayRef<int64_t> dims, llvm::StringRef initializer,
                 mlir::Type type) {
    return b.addVariable(requestPart(name, dims, initializer, type, isDerived));
  };
  scale = add("kernel_scale", quantizer->scaleShape, "ones", {});
  if (quantization.blockSize) {
    zero = add("kernel_zero", quantizer->scaleShape, "zeros", b.builder.getI8Type());
    groups = add("g_idx", quantizer->shape.front(), "zeros", b.builder.getF32Type());
  }
}

void QuantizedKernel::addFloat8State() {
  for (llvm::StringRef tensor : {"inputs", "kernel", "outputs_grad"})
    for (bool isHistory : {false, true}) {
      const std::string name = (tensor + (isHistory ? "_amax_history" : "_scale")).str();
      VariableRequest request;
      request.name = name;
      if (isHistory)
        request.shape = {quantization.historyLength};
      request.defaultInitializer = isHistory ? "zeros" : "ones";
      request.autocast = false;
      request.ownType = b.builder.getF32Type();
      request.overwrite = true;
      request.derived = quantization.ofFloats;
      float8.push_back(b.addVariable(request));
    }
}

// ---- Products -----------------------------------------------------------------------------------

Value QuantizedKernel::multiply(Value x) {
  switch (quantization.mode) {
  case QuantizationMode::Float8:
    return multiplyFloat8(x);
  case QuantizationMode::Int8:
    return addLowRank(multiplyIntegers(x), x);
  case QuantizationMode::Int4:
    return addLowRank(multipliesInt4(x) ? multiplyIntegers(x) : multiplyDequantized(x), x);
  case QuantizationMode::GPTQ:
  case QuantizationMode::AWQ:
    return shape.multiply(x, dequantizeCalibrated());
  case QuantizationMode::None:
    break;
  }
  if (!factors)
    return shape.multiply(x, kernel);
  Value update = multiplyLowRank(b, shape.lowRank, factors.a, factors.b);
  return shape.multiply(x, b.make<AddOp>(kernel, update));
}

Value QuantizedKernel::addLowRank(Value y, Value x) {
  if (!factors || !y)
    return y;
  Value narrow = shape.multiply(x, factors.a);
  return narrow ? b.make<AddOp>(y, multiplyLowRank(b, shape.lowRank, narrow, factors.b)) : Value();
}

Value QuantizedKernel::prepareBias(Value bias) {
  if (quantization.mode != QuantizationMode::Float8 || !quantization.computesInFloat32)
    return bias;
  return b.makeCastTo(bias, b.builder.getBF16Type());
}

Value QuantizedKernel::multiplyFloat8(Value x) {
  auto quantize = [&](Value value, unsigned first) {
    return b.make<Float8QuantizeOp>(
        value.getType(), value, float8[first], float8[first + 1],
        mlir::TypeAttr::get(mlir::Float8E4M3FNType::get(b.builder.getContext())));
  };
  Value y = shape.multiply(quantize(x, 0), quantize(kernel, 2));
  return b.make<Float8QuantizeGradientOp>(
      y.getType(), y, float8[4], float8[5],
      mlir::TypeAttr::get(mlir::Float8E5M2Type::get(b.builder.getContext())));
}

/// Whether the product of the integers is scaled, not the kernel. Keras's EinsumDense scales the
/// kernel; sums of float16 could overflow where that does not.
bool QuantizedKernel::multipliesInt4(Value x) const {
  if (quantization.blockSize)
    return false;
  if (shape.isMatrix)
    return true;
  // The columns of the packed matrix are what the output has.
  auto first = llvm::seq<int64_t>(0, int64_t(shape.reducedAxes.size()));
  return !quantization.activation && llvm::equal(shape.reducedAxes, first) &&
         !elementTypeOf(x).isF16();
}

Value QuantizedKernel::unpack() {
  return quantizer->isInt4 ? b.make<UnpackInt4Op>(kernel, quantizer->shape.back()) : kernel;
}

/// The scale of the kernel's columns, with the dimensions of the output.
Value QuantizedKernel::alignScale() {
  if (!quantizer->isInt4 || shape.isMatrix)
    return scale;
  llvm::SmallVector<int64_t> own(shape.scaleAxes), extents, order;
  llvm::sort(own);
  for (int64_t axis : own)
    extents.push_back(shape.request.shape[axis]);
  for (int64_t axis : shape.scaleAxes)
    order.push_back(llvm::find(own, axis) - own.begin());
  Value aligned = b.makeReshape(scale, extents);
  if (!llvm::is_sorted(order))
    aligned = b.make<TransposeOp>(aligned, order);
  return b.makeReshape(aligned, shape.scaleShape);
}

Value QuantizedKernel::dequantize() {
  llvm::ArrayRef<int64_t> full = shape.request.shape;
  if (quantization.blockSize)
    return b.makeReshape(dequantizeBlocks(b, unpack(), scale, zero, groups, /*axis=*/0), full);
  if (quantizer->isInt4)
    return b.makeReshape(b.make<DivideOp>(b.makeCastToFloat(unpack()), scale), full);
  // The scale has the output's dimensions: back to the kernel's.
  llvm::SmallVector<int64_t> extents, order, spread;
  for (int64_t axis : shape.scaleAxes)
    extents.push_back(full[axis]);
  for (auto [axis, extent] : llvm::enumerate(full)) {
    const auto *place = llvm::find(shape.scaleAxes, int64_t(axis));
    spread.push_back(place == shape.scaleAxes.end() ? 1 : extent);
    if (place != shape.scaleAxes.end())
      order.push_back(place - shape.scaleAxes.begin());
  }
  Value own = b.makeReshape(scale, extents);
  if (!llvm::is_sorted(order))
    own = b.make<TransposeOp>(own, order);
  return b.make<DivideOp>(b.makeCastToFloat(kernel), b.makeReshape(own, spread));
}

/// The product of integers is exact; the derivative is that of the product with the dequantized
/// kernel.
Value QuantizedKernel::multiplyIntegers(Value x) {
  Value y;
  if (quantization.activation) {
    auto [quantized, inputScale] =
        quantizeActivation(b, x, shape.inputAxes, *quantization.activation);
    Value sum = b.makeCastToFloat(shape.multiply(quantized, unpack()));
    y = b.make<DivideOp>(sum, b.make<MultiplyOp>(scale, shape.alignInput(inputScale)));
  } else {
    Value numbers = b.makeReshape(b.makeCastToFloat(unpack()), shape.request.shape);
    y = b.make<DivideOp>(shape.multiply(x, numbers), alignScale());
  }
  return b.make<StraightThroughOp>(y, shape.multiply(x, dequantize()));
}

Value QuantizedKernel::multiplyDequantized(Value x) {
  Value dequantized = dequantize(), exact = shape.multiply(x, dequantized);
  if (!quantization.activation)
    return exact;
  auto [quantized, inputScale] =
      quantizeActivation(b, x, shape.inputAxes, *quantization.activation);
  Value sum = shape.multiply(b.makeCastToFloat(quantized), dequantized);
  return b.make<StraightThroughOp>(b.make<DivideOp>(sum, shape.alignInput(inputScale)), exact);
}

} // namespace mpc::keras
