// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras.ops.nn: activation functions as recorded operations, with their arguments; and
// keras.activations.relu, which records an operation of its own.
#include "lib/Import/Keras/ActivationFunctions.h"
#include "lib/Import/Keras/Operations/OperationBuilder.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = OperationBuilder;

/// Class names of operations without arguments, and Keras's names of the activations.
struct Named {
  llvm::StringLiteral className, activation;
};
constexpr Named kNamed[] = {
    {"HardSigmoid", "hard_sigmoid"},
    {"HardSilu", "hard_silu"},
    {"HardTanh", "hard_tanh"},
    {"LogSigmoid", "log_sigmoid"},
    {"Relu", "relu"},
    {"Relu6", "relu6"},
    {"Selu", "selu"},
    {"Sigmoid", "sigmoid"},
    {"Silu", "silu"},
    {"Softplus", "softplus"},
    {"Softsign", "softsign"},
    {"SparsePlus", "sparse_plus"},
    {"SparseSigmoid", "sparse_sigmoid"},
    {"Tanh", "tanh"},
    {"TanhShrink", "tanh_shrink"},
};

Value named(B &b) {
  const Operand operand = b.getOperand(0, "x");
  const bool isRelu6 = b.layer.className == "Relu6";
  if (operand && !operand.isFloat() && !elementTypeOf(operand.value).isInteger(1) &&
      (isRelu6 || b.layer.className == "Relu")) {
    const mlir::Type type = elementTypeOf(operand.value);
    Value positive = b.make<MaximumOp>(operand.value, b.makeZero(type));
    return isRelu6 ? b.make<MinimumOp>(positive, b.makeScalar(type, 6)) : positive;
  }
  Value x = b.getFloat(0, "x");
  for (const Named &entry : kNamed)
    if (x && entry.className == b.layer.className)
      return findActivation(entry.activation)(b, x);
  return {};
}

/// A function of x and one number that the operation was made with.
template <Value (*apply)(ValueBuilder &, Value, double), int hundredths>
Value withNumber(B &b, llvm::StringRef name) {
  Value x = b.getFloat(0, "x");
  return x ? apply(b, x, b.getNumber(1, name).value_or(hundredths / 100.0)) : Value();
}
Value leakyRelu(B &b) { return withNumber<applyLeakyRelu, 20>(b, "negative_slope"); }
Value elu(B &b) { return withNumber<applyElu, 100>(b, "alpha"); }
Value celu(B &b) { return withNumber<applyCelu, 100>(b, "alpha"); }
Value hardShrink(B &b) { return withNumber<applyHardShrink, 50>(b, "threshold"); }
Value softShrink(B &b) { return withNumber<applySoftShrink, 50>(b, "threshold"); }
Value squareplus(B &b) { return withNumber<applySquareplus, 400>(b, "b"); }

/// keras.activations.relu (keras/src/activations/activations.py, ReLU).
Value reluWithArguments(B &b) {
  const Operand operand = b.getOperand(0, "x");
  const double slope = b.getNumber(1, "negative_slope").value_or(0.0);
  const std::optional<double> maximum = b.getNumber(2, "max_value");
  const double threshold = b.getNumber(3, "threshold").value_or(0.0);
  if (!operand || b.hasFailed())
    return {};
  if (operand.isFloat())
    return applyRelu(b, operand.value, slope, maximum, threshold);
  const mlir::Type type = elementTypeOf(operand.value);
  if (type.isInteger(1) || slope != 0.0 || maximum || threshold != 0.0)
    return b.error("'ReLU' of integers with arguments, or of truth values, is not supported; cast "
                   "them to a floating dtype first");
  return b.make<MaximumOp>(operand.value, b.makeZero(type));
}

/// keras.ops.gelu is the approximation unless told otherwise; the activation "gelu" is exact.
Value gelu(B &b) {
  Value x = b.getFloat(0, "x");
  return x ? applyGelu(b, x, b.getFlag(1, "approximate", true)) : Value();
}

Value threshold(B &b) {
  Value x = b.getFloat(0, "x");
  std::optional<double> bound = b.getNumber(1, "threshold"),
                        value = b.getNumber(2, "default_value");
  if (!x || !bound || !value)
    return x && !b.hasFailed() ? b.error("'Threshold' needs its two numbers") : Value();
  Value above = b.makeCompare(ComparePredicate::GT, x, b.makeConstant(*bound));
  return b.makeSelect(above, x, b.makeConstant(*value));
}

/// Along several axes: as one flattened axis, which is what exp(x - logsumexp) computes.
Value softmax(B &b) {
  Value x = b.getFloat(0, "x");
  if (!x)
    return {};
  if (!b.findArgument(1, "axis"))
    return b.error("'Softmax' without an axis sums across samples; name one");
  std::optional<llvm::SmallVector<int64_t>> axes = b.getAxes(1, "axis", x, /*acrossSamples=*/false);
  return axes && !axes->empty() ? b.makeSoftmax(x, *axes) : Value();
}

template <Value (*apply)(ValueBuilder &, Value, int64_t)> Value alongAxis(B &b) {
  Value x = b.getFloat(0, "x");
  std::optional<int64_t> axis = x ? b.getAxis(1, "axis", -1, x) : std::nullopt;
  return axis ? apply(b, x, *axis) : Value();
}

Value logSoftmaxAlong(ValueBuilder &b, Value x, int64_t axis) {
  return b.make<LogSoftmaxOp>(x, axis);
}

constexpr OperationEntry kActivationOperations[] = {
    {"Celu", celu},
    {"Elu", elu},
    {"Gelu", gelu},
    {"Glu", alongAxis<applyGlu>},
    {"HardShrink", hardShrink},
    {"HardSigmoid", named},
    {"HardSilu", named},
    {"HardTanh", named},
    {"LeakyRelu", leakyRelu},
    {"LogSigmoid", named},
    {"LogSoftmax", alongAxis<logSoftmaxAlong>},
    {"ReLU", reluWithArguments},
    {"Relu", named},
    {"Relu6", named},
    {"Selu", named},
    {"Sigmoid", named},
    {"Silu", named},
    {"SoftShrink", softShrink},
    {"Softmax", softmax},
    {"Softplus", named},
    {"Softsign", named},
    {"SparsePlus", named},
    {"SparseSigmoid", named},
    {"Sparsemax", alongAxis<applySparsemax>},
    {"Squareplus", squareplus},
    {"Tanh", named},
    {"TanhShrink", named},
    {"Threshold", threshold},
};

} // namespace

llvm::ArrayRef<OperationEntry> activationOperations() { return kActivationOperations; }

} // namespace mpc::keras
