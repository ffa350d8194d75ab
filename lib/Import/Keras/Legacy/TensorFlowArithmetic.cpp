// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TensorFlow's functions of single elements: arithmetic, comparisons, logic, activations, casts.
#include "lib/Import/Keras/Legacy/TensorFlowBuilder.h"

#include "lib/Import/Keras/Dtype.h"
#include "lib/Import/Keras/GraphImporter.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using T = TensorFlowBuilder;

bool isFloating(Value x) { return mlir::isa<mlir::FloatType>(elementTypeOf(x)); }

/// The first two parameters, whatever they are called.
std::pair<llvm::StringRef, llvm::StringRef> firstTwo(T &b) {
  auto [first, rest] = llvm::StringRef(b.function.parameters).split(' ');
  return {first.split('|').first, rest.split(' ').first.split('|').first};
}

Value pairwise(T &b) {
  auto [first, second] = firstTwo(b);
  auto [x, y] = b.getPair(first, second);
  return x ? b.call(b.function.operation, {{"x1", x}, {"x2", y}}) : Value();
}

/// The same of extents, too.
template <ExtentFn function> Value wholeOrPairwise(T &b) {
  auto [first, second] = firstTwo(b);
  if (Value integers = combineIntegers(b, first, second, function))
    return integers;
  return b.hasFailed() ? Value() : pairwise(b);
}

/// `a == b` of tensors, whose second operand Keras 2 does not write.
Value comparedByOperator(T &b) {
  return b.find("other")
             ? pairwise(b)
             : b.error("has lost its second operand: Keras 2 writes the first one alone into the "
                       "file, and cannot load it either; use tf.equal or tf.not_equal and save the "
                       "model again");
}

/// The result may be known for extents, too, such as those of a batch compared with themselves.
Value compareWhole(T &b) {
  std::optional<SymbolicIntegers> x = b.findSymbolic("x"), y = b.findSymbolic("y");
  std::optional<SymbolicIntegers> difference =
      x && y ? combine(*x, *y, subtractExtents) : std::nullopt;
  if (!difference || !difference->isConstant())
    return pairwise(b);
  const llvm::StringRef operation = b.function.operation;
  llvm::SmallVector<bool> truths;
  for (const Extent &extent : difference->elements) {
    const int64_t d = extent.constant;
    truths.push_back(operation == "Equal"          ? d == 0
                     : operation == "NotEqual"     ? d != 0
                     : operation == "Greater"      ? d > 0
                     : operation == "GreaterEqual" ? d >= 0
                     : operation == "Less"         ? d < 0
                                                   : d <= 0);
  }
  llvm::SmallVector<int64_t> shape;
  if (!difference->isScalar)
    shape.push_back(int64_t(truths.size()));
  return b.makeMask(shape, truths);
}

/// Selects between two vectors of extents by known conditions; null for others.
Value selectExtents(T &b, Value condition) {
  std::optional<SymbolicIntegers> x = b.findSymbolic("x"), y = b.findSymbolic("y");
  auto constant = condition.getDefiningOp<ConstantOp>();
  if (!x || !y || !constant || x->isScalar != y->isScalar ||
      x->elements.size() != y->elements.size() || !elementTypeOf(condition).isInteger(1) ||
      tensorTypeOf(condition).getNumElements() != int64_t(x->elements.size()))
    return {};
  auto truths = llvm::cast<mlir::DenseIntElementsAttr>(constant.getValue()).getValues<bool>();
  SymbolicIntegers result = *x;
  result.sample = x->sample ? x->sample : y->sample;
  for (auto [element, other, truth] : llvm::zip(result.elements, y->elements, truths))
    element = truth ? element : other;
  return b.makeIntegers(result, elementTypeOf(b.getTensor("x")));
}

/// x / y: of integers in floating numbers, where TensorFlow has float64.
Value divide(T &b) { return pairwise(b); }

/// TensorFlow's `/` of Python 2, which rounds quotients of integers towards zero.
Value quotient(T &b) {
  auto [x, y] = b.getPair("x", "y");
  if (!x || isFloating(x))
    return x ? b.call("Divide", {{"x1", x}, {"x2", y}}) : Value();
  return b.error("of integers is not supported; use tf.math.floordiv");
}

Value power(T &b) {
  const Argument *exponent = b.find("y");
  if (exponent && exponent->kind == Argument::Kind::Constant)
    if (Value x = b.getTensor("x"))
      return b.call("Power", {{"x1", x}, {"x2", exponent->constant}});
  auto [x, y] = b.getPair("x", "y");
  return x ? b.call("Power", {{"x1", x}, {"x2", y}}) : Value();
}

Value squaredDifference(T &b) {
  auto [x, y] = b.getPair("x", "y");
  if (!x)
    return {};
  Value difference = b.make<SubtractOp>(x, y);
  return b.make<MultiplyOp>(difference, difference);
}

/// 0 where y is 0, whatever x is.
Value multiplyNoNan(T &b) {
  auto [x, y] = b.getPair("x", "y");
  if (!x)
    return {};
  if (!isFloating(x))
    return b.error("takes floating tensors");
  Value zero = b.makeCastLike(b.makeConstant(0.0), mlir::ValueRange{x, y});
  return b.makeSelect(ComparePredicate::EQ, y, b.makeConstant(0.0), zero, b.make<MultiplyOp>(x, y));
}

/// x log(y), or x / y: 0 where x is 0, whatever y is.
template <bool isLogarithm> Value zeroFirst(T &b) {
  auto [x, y] = b.getPair("x", "y");
  if (!x)
    return {};
  if (!isFloating(x))
    return b.error("takes floating tensors");
  // The other branch computes with 1, so that it has no NaN to give to the derivative.
  Value isZero = b.makeCompare(ComparePredicate::EQ, x, b.makeConstant(0.0));
  Value safe = b.makeSelect(isZero, b.makeCastLike(b.makeConstant(1.0), y), y);
  Value other =
      isLogarithm ? b.make<MultiplyOp>(x, b.make<LogOp>(safe)) : b.make<DivideOp>(x, safe);
  return b.makeSelect(isZero, b.makeCastLike(b.makeConstant(0.0), mlir::ValueRange{x, y}), other);
}

Value reciprocalNoNan(T &b) {
  Value x = b.getTensor("x");
  return x ? b.make<DivideNoNanOp>(b.makeCastLike(b.makeConstant(1.0), x), x) : Value();
}

Value addAll(T &b) {
  llvm::SmallVector<Value> values = b.getTensors("inputs");
  Value sum;
  for (Value value : values) {
    if (sum && (b.shapeOf(value) != b.shapeOf(sum)))
      return b.error("adds tensors of one shape");
    sum = sum ? b.call("Add", {{"x1", sum}, {"x2", value}}) : value;
  }
  return sum;
}

Value identity(T &b) {
  auto [first, second] = firstTwo(b);
  return b.getTensor(first);
}

/// The arguments after the first change nothing here: shapes that are known, messages.
Value convertToTensor(T &b) {
  const std::string dtype = b.getString("dtype", "");
  Value x = b.getTensor("value");
  return x && !dtype.empty() ? b.cast(x, dtype) : x;
}

Value castTo(T &b) {
  Value x = b.getTensor("x");
  return x ? b.cast(x, b.getString("dtype", "")) : Value();
}

template <int dtype> Value castAlways(T &b) {
  constexpr llvm::StringLiteral kNames[] = {"float32", "float64", "int32", "int64", "bfloat16"};
  Value x = b.getTensor("x");
  return x ? b.cast(x, kNames[dtype]) : Value();
}

Value saturateCast(T &b) {
  Value x = b.getTensor("value");
  return x ? b.call("SaturateCast", {{"x", x}, {"dtype", b.getString("dtype", "")}}) : Value();
}

Value likeWith(T &b) {
  auto [first, second] = firstTwo(b);
  Value x = b.getTensor(first);
  const std::string dtype = b.getString("dtype", "");
  if (!x)
    return {};
  if (std::optional<SymbolicIntegers> known = b.findSymbolic(first); known && dtype.empty()) {
    for (Extent &extent : known->elements)
      extent = {0, b.function.operation == "OnesLike"};
    return b.makeIntegers(*known, elementTypeOf(x));
  }
  return dtype.empty() ? b.call(b.function.operation, {{"x", x}})
                       : b.call(b.function.operation, {{"x", x}, {"dtype", dtype}});
}

Value where(T &b) {
  if (!b.find("x") || !b.find("y"))
    return b.error("without values gives places, whose number depends on the data; give it x and "
                   "y");
  Value condition = b.getTensor("condition");
  if (Value extents = condition ? selectExtents(b, condition) : Value())
    return extents;
  auto [x, y] = condition ? b.getPair("x", "y") : std::pair<Value, Value>();
  return x ? b.call("Where", {{"condition", condition}, {"x1", x}, {"x2", y}}) : Value();
}

/// TensorFlow 1's: a vector of conditions chooses among rows.
Value whereOfVersion1(T &b) {
  const Argument *x = b.find("x"), *condition = b.find("condition");
  if (!x || !b.find("y") || !condition)
    return where(b);
  Value chosen = b.getTensor("condition");
  auto [first, second] = chosen ? b.getPair("x", "y") : std::pair<Value, Value>();
  if (!first || b.rankOf(chosen) == b.rankOf(first))
    return first ? where(b) : Value();
  if (b.rankOf(chosen) != 1 && b.rankOf(chosen) != 0)
    return b.error("has conditions of another shape than the values");
  llvm::SmallVector<int64_t> shape(size_t(b.rankOf(first)), 1);
  if (b.rankOf(chosen) == 1)
    shape.front() = b.shapeOf(chosen).front();
  return b.call("Where",
                {{"condition", b.makeReshape(chosen, shape)}, {"x1", first}, {"x2", second}});
}

Value clip(T &b) {
  Value x = b.getTensor("t");
  Value low = x ? b.getTensor("clip_value_min", x) : Value(),
        high = low ? b.getTensor("clip_value_max", x) : Value();
  if (!high)
    return {};
  if (failed(broadcastShapes({b.shapeOf(x), b.shapeOf(low), b.shapeOf(high)})))
    return b.error("the bounds have shapes that do not broadcast");
  return b.call("Clip", {{"x", x}, {"x_min", low}, {"x_max", high}});
}

Value logicalNot(T &b) { return tensorFlowUnary(b); }

Value bits(T &b) {
  auto [x, y] = b.getPair("x", "y");
  return x ? b.call(b.function.operation, {{"x", x}, {"y", y}}) : Value();
}

// ---- Activations --------------------------------------------------------------------------------

Value leakyRelu(T &b) {
  Value x = b.getTensor("features");
  return x ? b.call("LeakyRelu", {{"x", x}, {"negative_slope", b.getNumber("alpha", 0.2)}})
           : Value();
}

Value gelu(T &b) {
  Value x = b.getTensor("features");
  return x ? b.call("Gelu", {{"x", x}, {"approximate", b.getFlag("approximate", false)}}) : Value();
}

Value silu(T &b) {
  Value x = b.getTensor("features");
  if (!x)
    return {};
  Value beta = b.find("beta") ? b.getTensor("beta", x) : Value();
  if (!beta)
    return b.call("Silu", {{"x", x}});
  return b.make<MultiplyOp>(x, b.make<SigmoidOp>(b.make<MultiplyOp>(beta, x)));
}

/// relu(x) beside relu(-x).
Value crelu(T &b) {
  Value x = b.getTensor("features");
  if (!x)
    return {};
  llvm::SmallVector<Value> sides = {b.make<ReluOp>(x), b.make<ReluOp>(b.make<NegateOp>(x))};
  return b.call("Concatenate",
                {{"xs", llvm::ArrayRef<Value>(sides)}, {"axis", b.getInteger("axis", -1)}});
}

Value relu(T &b) {
  Value x = b.getTensor("features");
  if (!x)
    return {};
  return isFloating(x) ? b.make<ReluOp>(x) : b.make<MaximumOp>(x, b.makeZero(elementTypeOf(x)));
}

Value softmax(T &b) {
  Value x = b.getTensor("logits");
  return x ? b.call(b.function.operation, {{"x", x}, {"axis", b.getInteger("axis", -1)}}) : Value();
}

Value stopGradient(T &b) {
  Value x = b.getTensor("input");
  return x ? b.call("StopGradient", {{"variable", x}}) : Value();
}

Value backendRelu(T &b) {
  const Argument *most = b.find("max_value");
  Value x = b.getTensor("x");
  return x ? b.call("ReLU", {{"x", x},
                             {"negative_slope", b.getNumber("alpha", 0.0)},
                             {"max_value", most ? most->constant : llvm::json::Value(nullptr)},
                             {"threshold", b.getNumber("threshold", 0.0)}})
           : Value();
}

Value backendElu(T &b) {
  Value x = b.getTensor("x");
  return x ? b.call("Elu", {{"x", x}, {"alpha", b.getNumber("alpha", 1.0)}}) : Value();
}

/// clip(0.2 x + 0.5, 0, 1), unlike Keras 3's.
Value hardSigmoid(T &b) {
  Value x = b.getFloat("x");
  if (!x)
    return {};
  Value line = b.make<AddOp>(b.make<MultiplyOp>(x, b.makeConstant(0.2)), b.makeConstant(0.5));
  return b.call("Clip", {{"x", line}, {"x_min", 0.0}, {"x_max", 1.0}});
}

/// keras.backend.sqrt: 0 below 0.
Value squareRoot(T &b) {
  Value x = b.getFloat("x");
  return x ? b.make<SqrtOp>(b.make<MaximumOp>(x, b.makeConstant(0.0))) : Value();
}

/// The quantile of the normal distribution: sqrt(2) erfinv(2 p - 1).
Value ndtri(T &b) {
  Value x = b.getTensor("x");
  if (!x)
    return {};
  Value inner = b.make<SubtractOp>(b.make<MultiplyOp>(x, b.makeConstant(2.0)), b.makeConstant(1.0));
  Value y = b.call("Erfinv", {{"x", inner}});
  return y ? b.make<MultiplyOp>(y, b.makeConstant(1.4142135623730951)) : Value();
}

constexpr TensorFlowFunction kTensorFlowArithmetic[] = {
    {"math.abs|abs", "x", tensorFlowUnary, "Abs"},
    {"math.negative|negative|neg", "x", tensorFlowUnary, "Negative"},
    {"math.exp|exp", "x", tensorFlowUnary, "Exp"},
    {"math.expm1", "x", tensorFlowUnary, "Expm1"},
    {"math.log|log", "x", tensorFlowUnary, "Log"},
    {"math.log1p", "x", tensorFlowUnary, "Log1p"},
    {"math.sqrt|sqrt", "x", tensorFlowUnary, "Sqrt"},
    {"math.rsqrt|rsqrt", "x", tensorFlowUnary, "Rsqrt"},
    {"math.square|square", "x", tensorFlowUnary, "Square"},
    {"math.sign|sign", "x", tensorFlowUnary, "Sign"},
    {"math.ceil|ceil", "x|input", tensorFlowUnary, "Ceil"},
    {"math.floor|floor", "x", tensorFlowUnary, "Floor"},
    {"math.rint|math.round|round|rint", "x", tensorFlowUnary, "Round"},
    {"math.sin|sin", "x", tensorFlowUnary, "Sin"},
    {"math.cos|cos", "x", tensorFlowUnary, "Cos"},
    {"math.tan|tan", "x", tensorFlowUnary, "Tan"},
    {"math.asin|asin", "x", tensorFlowUnary, "Arcsin"},
    {"math.acos|acos", "x", tensorFlowUnary, "Arccos"},
    {"math.atan|atan", "x", tensorFlowUnary, "Arctan"},
    {"math.sinh|sinh", "x", tensorFlowUnary, "Sinh"},
    {"math.cosh|cosh", "x", tensorFlowUnary, "Cosh"},
    {"math.tanh|tanh|nn.tanh", "x", tensorFlowUnary, "Tanh"},
    {"math.asinh|asinh", "x", tensorFlowUnary, "Arcsinh"},
    {"math.acosh|acosh", "x", tensorFlowUnary, "Arccosh"},
    {"math.atanh|atanh", "x", tensorFlowUnary, "Arctanh"},
    {"math.erf", "x", tensorFlowUnary, "Erf"},
    {"math.erfc", "x", tensorFlowUnary, "Erfc"},
    {"math.erfinv", "x", tensorFlowUnary, "Erfinv"},
    {"math.bessel_i0", "x", tensorFlowUnary, "I0"},
    {"math.ndtri", "x", ndtri},
    {"math.lgamma|lgamma", "x", importGammaFunction},
    {"math.digamma|digamma", "x", importGammaFunction},
    {"math.sigmoid|sigmoid|nn.sigmoid", "x", tensorFlowUnary, "Sigmoid"},
    {"math.log_sigmoid", "x", tensorFlowUnary, "LogSigmoid"},
    {"math.softplus|nn.softplus", "features", tensorFlowUnary, "Softplus"},
    {"math.reciprocal|reciprocal", "x", tensorFlowUnary, "Reciprocal"},
    {"math.reciprocal_no_nan", "x", reciprocalNoNan},
    {"math.is_nan", "x", tensorFlowUnary, "Isnan"},
    {"math.is_inf", "x", tensorFlowUnary, "Isinf"},
    {"math.is_finite", "x", tensorFlowUnary, "Isfinite"},
    {"math.logical_not|logical_not", "x", logicalNot, "LogicalNot"},
    {"bitwise.invert", "x", tensorFlowUnary, "BitwiseInvert"},
    {"identity|compat.v1.identity|guarantee_const|grad_pass_through", "input", identity},
    {"debugging.check_numerics|ensure_shape|compat.v1.ensure_shape", "tensor|x message|shape",
     identity},
    {"stop_gradient", "input",
     [](T &b) {
       Value x = b.getTensor("input");
       return x ? b.call("StopGradient", {{"variable", x}}) : Value();
     }},
    {"convert_to_tensor", "value dtype dtype_hint|preferred_dtype", convertToTensor},
    {"cast|dtypes.cast|keras.backend.cast", "x dtype", castTo},
    {"saturate_cast|dtypes.saturate_cast", "value dtype", saturateCast},
    {"to_float", "x", castAlways<0>},
    {"to_double", "x", castAlways<1>},
    {"to_int32", "x", castAlways<2>},
    {"to_int64", "x", castAlways<3>},
    {"to_bfloat16", "x", castAlways<4>},
    {"zeros_like", "input|tensor dtype optimize layout", likeWith, "ZerosLike"},
    {"ones_like", "input|tensor dtype optimize layout", likeWith, "OnesLike"},

    {"math.add|add|__operators__.add", "x y", wholeOrPairwise<addExtents>, "Add"},
    {"math.subtract|subtract", "x y", wholeOrPairwise<subtractExtents>, "Subtract"},
    {"math.multiply|multiply", "x y", wholeOrPairwise<multiplyExtents>, "Multiply"},
    {"math.truediv|math.divide|divide|truediv|realdiv", "x y", divide, "Divide"},
    {"compat.v1.div|div|RealDiv", "x y", quotient},
    {"math.divide_no_nan|div_no_nan", "x y", pairwise, "DivideNoNan"},
    {"math.multiply_no_nan", "x y", multiplyNoNan},
    {"math.floordiv|floor_div|floordiv", "x y", wholeOrPairwise<divideExtents>, "FloorDivide"},
    {"math.floormod|math.mod|mod|floormod", "x y", wholeOrPairwise<remainderOfExtents>, "Mod"},
    {"math.pow|pow", "x y", power},
    {"math.squared_difference|squared_difference", "x y", squaredDifference},
    {"math.maximum|maximum", "x y", wholeOrPairwise<largerExtent>, "Maximum"},
    {"math.minimum|minimum", "x y", wholeOrPairwise<smallerExtent>, "Minimum"},
    {"math.atan2|atan2", "y x", pairwise, "Arctan2"},
    {"math.xlogy", "x y", zeroFirst<true>},
    {"math.xdivy", "x y", zeroFirst<false>},
    {"math.add_n|add_n|math.accumulate_n|accumulate_n", "inputs shape tensor_dtype", addAll},
    {"math.equal|equal", "x y", compareWhole, "Equal"},
    {"math.not_equal|not_equal", "x y", compareWhole, "NotEqual"},
    {"__operators__.eq", "self other", comparedByOperator, "Equal"},
    {"__operators__.ne", "self other", comparedByOperator, "NotEqual"},
    {"math.greater|greater", "x y", compareWhole, "Greater"},
    {"math.greater_equal|greater_equal", "x y", compareWhole, "GreaterEqual"},
    {"math.less|less", "x y", compareWhole, "Less"},
    {"math.less_equal|less_equal", "x y", compareWhole, "LessEqual"},
    {"math.logical_and|logical_and", "x y", pairwise, "LogicalAnd"},
    {"math.logical_or|logical_or", "x y", pairwise, "LogicalOr"},
    {"math.logical_xor|logical_xor", "x y", pairwise, "LogicalXor"},
    {"bitwise.bitwise_and", "x y", bits, "BitwiseAnd"},
    {"bitwise.bitwise_or", "x y", bits, "BitwiseOr"},
    {"bitwise.bitwise_xor", "x y", bits, "BitwiseXor"},
    {"bitwise.left_shift", "x y", bits, "BitwiseLeftShift"},
    {"bitwise.right_shift", "x y", bits, "BitwiseRightShift"},
    {"where|where_v2|compat.v1.where_v2", "condition x y", where},
    {"compat.v1.where", "condition x y", whereOfVersion1},
    {"clip_by_value", "t clip_value_min clip_value_max", clip},

    {"nn.relu", "features", relu},
    {"nn.relu6", "features", tensorFlowUnary, "Relu6"},
    {"nn.elu", "features", tensorFlowUnary, "Elu"},
    {"nn.selu", "features", tensorFlowUnary, "Selu"},
    {"nn.softsign|math.softsign", "features", tensorFlowUnary, "Softsign"},
    {"nn.silu|nn.swish", "features beta", silu},
    {"nn.gelu", "features approximate", gelu},
    {"nn.leaky_relu", "features alpha", leakyRelu},
    {"nn.crelu", "features axis", crelu},
    {"nn.softmax|math.softmax", "logits axis|dim", softmax, "Softmax"},
    {"nn.log_softmax|math.log_softmax", "logits axis|dim", softmax, "LogSoftmax"},

    {"keras.backend.square", "x", tensorFlowUnary, "Square"},
    {"keras.backend.abs", "x", tensorFlowUnary, "Abs"},
    {"keras.backend.exp|keras.activations.exponential", "x", tensorFlowUnary, "Exp"},
    {"keras.backend.log", "x", tensorFlowUnary, "Log"},
    {"keras.backend.round", "x", tensorFlowUnary, "Round"},
    {"keras.backend.sign", "x", tensorFlowUnary, "Sign"},
    {"keras.backend.sin", "x", tensorFlowUnary, "Sin"},
    {"keras.backend.cos", "x", tensorFlowUnary, "Cos"},
    {"keras.backend.tanh|keras.activations.tanh", "x", tensorFlowUnary, "Tanh"},
    {"keras.backend.sigmoid|keras.activations.sigmoid", "x", tensorFlowUnary, "Sigmoid"},
    {"keras.backend.softplus|keras.activations.softplus", "x", tensorFlowUnary, "Softplus"},
    {"keras.backend.softsign|keras.activations.softsign", "x", tensorFlowUnary, "Softsign"},
    {"keras.activations.selu", "x", tensorFlowUnary, "Selu"},
    {"keras.activations.swish", "features|x beta", silu},
    {"keras.activations.gelu", "features|x approximate", gelu},
    {"keras.activations.linear|keras.backend.identity", "x", identity},
    {"keras.backend.relu|keras.activations.relu", "x alpha|negative_slope max_value threshold",
     backendRelu},
    {"keras.backend.elu|keras.activations.elu", "x alpha", backendElu},
    {"keras.backend.softmax|keras.activations.softmax", "logits|x axis", softmax, "Softmax"},
    {"keras.activations.log_softmax", "logits|x axis", softmax, "LogSoftmax"},
    {"keras.backend.hard_sigmoid|keras.activations.hard_sigmoid", "x", hardSigmoid},
    {"keras.backend.sqrt", "x", squareRoot},
    {"keras.backend.pow", "x y|a", power},
    {"keras.backend.clip", "t|x clip_value_min|min_value clip_value_max|max_value", clip},
    {"keras.backend.maximum", "x y", pairwise, "Maximum"},
    {"keras.backend.minimum", "x y", pairwise, "Minimum"},
    {"keras.backend.equal", "x y", pairwise, "Equal"},
    {"keras.backend.not_equal", "x y", pairwise, "NotEqual"},
    {"keras.backend.greater", "x y", pairwise, "Greater"},
    {"keras.backend.greater_equal", "x y", pairwise, "GreaterEqual"},
    {"keras.backend.less", "x y", pairwise, "Less"},
    {"keras.backend.less_equal", "x y", pairwise, "LessEqual"},
    {"keras.backend.zeros_like", "x dtype", likeWith, "ZerosLike"},
    {"keras.backend.ones_like", "x dtype", likeWith, "OnesLike"},
    {"keras.backend.stop_gradient", "input|variables", stopGradient},
};

} // namespace

llvm::ArrayRef<TensorFlowFunction> tensorFlowArithmetic() { return kTensorFlowArithmetic; }

} // namespace mpc::keras
