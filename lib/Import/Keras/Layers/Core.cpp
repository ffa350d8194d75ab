// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/core: Dense, Activation, Identity, Masking.
#include "lib/Import/Common/BatchAxis.h"
#include "lib/Import/Keras/ActivationFunctions.h"
#include "lib/Import/Keras/LayerRegistry.h"
#include "lib/Import/Keras/Quantization/QuantizedKernel.h"

namespace mpc::keras {
namespace {

using mlir::Value;

/// activation(x kernel + bias) along the last axis; kernel is (inputs, units).
Value importDense(LayerBuilder &b) {
  Value x = b.getFloatInput(/*castIntegers=*/true);
  if (!x)
    return {};
  std::optional<int64_t> axis = resolveAxis(b, -1, x);
  const int64_t units = b.getInteger("units", 0);
  if (units <= 0)
    b.error("'units' must be a positive integer");
  const Quantization quantization =
      b.getQuantization({QuantizationMode::Int8, QuantizationMode::Int4, QuantizationMode::Float8,
                         QuantizationMode::GPTQ, QuantizationMode::AWQ});
  const LowRank lowRank = readLowRank(b, "kernel_constraint", /*readsAlpha=*/false);
  if (!axis || b.hasFailed())
    return {};

  auto multiply = [&](Value input, Value kernel) {
    return b.make<ContractOp>(input, kernel, llvm::ArrayRef<int64_t>{*axis},
                              llvm::ArrayRef<int64_t>{0});
  };
  auto alignInput = [](Value scale) { return scale; };
  KernelShape shape{{"kernel",
                     {b.shapeOf(x)[*axis], units},
                     "kernel_initializer",
                     "kernel_regularizer",
                     "kernel_constraint"},
                    /*reducedAxes=*/{0},
                    /*scaleAxes=*/{1},
                    /*scaleShape=*/{units},
                    /*inputAxes=*/{*axis},
                    /*isMatrix=*/true,
                    multiply,
                    alignInput,
                    lowRank};
  QuantizedKernel kernel(b, quantization, shape);
  Value bias;
  if (!kernel.addVariables([&] {
        if (!b.getFlag("use_bias", true))
          return true;
        bias = b.addVariable(
            {"bias", {units}, "bias_initializer", "bias_regularizer", "bias_constraint"});
        return bool(bias);
      }))
    return {};
  Value y = kernel.multiply(x);
  if (bias)
    y = b.make<AddOp>(y, kernel.prepareBias(bias));
  return applyConfiguredActivation(b, "activation", y);
}

/// Keras computes those activations of integers that need no fractions.
Value importActivation(LayerBuilder &b) {
  Value x = b.getInput();
  if (!x)
    return {};
  if (!mlir::isa<mlir::FloatType>(elementTypeOf(x))) {
    const std::string name = b.getString("activation", "linear");
    if (name == "linear")
      return x;
    if (name == "relu" && !elementTypeOf(x).isInteger(1))
      return b.make<MaximumOp>(x, b.makeZero(elementTypeOf(x)));
  }
  x = b.getFloatInput();
  return x ? applyConfiguredActivation(b, "activation", x) : Value();
}

Value importIdentity(LayerBuilder &b) { return b.getInput(); }

/// Steps whose features all equal mask_value are masked, and become 0. The comparison is with the
/// input in the compute dtype.
Value importMasking(LayerBuilder &b) {
  Value x = b.getInput();
  if (!x)
    return {};
  const double value = b.getNumber("mask_value", 0.0);
  const mlir::Type type = elementTypeOf(x);
  const int64_t last = b.rankOf(x) - 1;
  if (last < 1)
    return b.error("Masking needs an input with features, of at least 2 dimensions");
  const bool floating = mlir::isa<mlir::FloatType>(type);
  // Keras's where() makes int32 of truth values and the number 0.
  Value kept = x;
  if (type.isInteger(1))
    kept = b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(x), b.builder.getI32Type()), x);
  if (!floating && value != 0.0)
    return b.error("Masking of integers with another mask_value than 0 is not supported");
  Value zero = b.makeZero(type);
  Value unequal = b.makeCompare(ComparePredicate::NE, x, floating ? b.makeConstant(value) : zero);
  Value counts =
      b.make<ReduceOp>(ReduceKind::Any, unequal, llvm::ArrayRef<int64_t>{last}, /*keep_dims=*/true);
  llvm::SmallVector<int64_t> shape(b.shapeOf(x).drop_back());
  b.setMask(0, b.makeReshape(counts, shape));
  return b.makeSelect(counts, kept, b.makeZero(elementTypeOf(kept)));
}

constexpr LayerEntry kCoreLayers[] = {
    {"Activation", importActivation, Masking::PassesOn, nullptr, /*onLastAxis=*/true},
    {"Dense", importDense, Masking::PassesOn, nullptr, /*onLastAxis=*/true},
    {"Identity", importIdentity, Masking::PassesOn, nullptr, /*onLastAxis=*/true},
    {"Masking", importMasking},
};

} // namespace

llvm::ArrayRef<LayerEntry> coreLayers() { return kCoreLayers; }

} // namespace mpc::keras
