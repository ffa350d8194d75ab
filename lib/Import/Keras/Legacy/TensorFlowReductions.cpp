// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// TensorFlow's reductions, places of extremes, cumulative sums, norms, orders. Reductions of
// integers stay integers.
#include "lib/Import/Keras/Legacy/TensorFlowBuilder.h"

#include "lib/Import/Keras/GraphImporter.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;
using T = TensorFlowBuilder;

bool isFloating(Value x) { return mlir::isa<mlir::FloatType>(elementTypeOf(x)); }

/// The axes as a literal for keras.ops; null for all. Nothing after an error.
std::optional<llvm::json::Value> readAxes(T &b, llvm::StringRef parameter) {
  std::optional<llvm::SmallVector<int64_t>> axes = b.getIntegers(parameter);
  if (b.hasFailed())
    return std::nullopt;
  return axes ? llvm::json::Value(llvm::json::Array(*axes)) : llvm::json::Value(nullptr);
}

/// A product or sum of extents, such as tf.reduce_prod(tf.shape(x)[1:]); null for others.
Value reduceExtents(T &b) {
  std::optional<SymbolicIntegers> known = b.findSymbolic("input_tensor");
  const llvm::StringRef operation = b.function.operation;
  const ExtentFn function = operation == "Prod"  ? multiplyExtents
                            : operation == "Sum" ? addExtents
                            : operation == "Max" ? largerExtent
                            : operation == "Min" ? smallerExtent
                                                 : nullptr;
  if (!known || !function || known->isScalar || known->elements.empty() ||
      b.getFlag("keepdims", false))
    return {};
  SymbolicIntegers result;
  result.isScalar = true;
  result.sample = known->sample;
  std::optional<Extent> total = known->elements.front();
  for (const Extent &extent : llvm::drop_begin(known->elements))
    total = total ? function(*total, extent) : std::nullopt;
  if (!total)
    return {};
  result.elements.push_back(*total);
  return b.makeIntegers(result, elementTypeOf(b.getTensor("input_tensor")));
}

Value reduce(T &b) {
  if (Value extents = reduceExtents(b))
    return extents;
  Value x = b.getTensor("input_tensor");
  std::optional<llvm::json::Value> axes = x ? readAxes(b, "axis") : std::nullopt;
  if (!axes)
    return {};
  const bool keepDims = b.getFlag("keepdims", false);
  auto reduceTo = [&](llvm::StringRef operation) {
    return b.call(operation, {{"x", x}, {"axis", *axes}, {"keepdims", keepDims}});
  };
  if (isFloating(x))
    return reduceTo(b.function.operation);
  const mlir::Type type = elementTypeOf(x);
  if (b.function.operation != "Mean") {
    Value y = reduceTo(b.function.operation);
    return !y || elementTypeOf(y) == type
               ? y
               : b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(y), type), y);
  }
  // The mean of integers is their sum divided as integers, towards zero.
  Value sum = reduceTo("Sum");
  if (!sum)
    return {};
  int64_t count = 1;
  llvm::SmallVector<int64_t> kept(b.shapeOf(sum));
  for (int64_t extent : b.shapeOf(x))
    count *= mlir::ShapedType::isDynamic(extent) ? 1 : extent;
  for (int64_t extent : kept)
    count /= mlir::ShapedType::isDynamic(extent) ? 1 : extent;
  if (tensorTypeOf(x).getNumDynamicDims() != tensorTypeOf(sum).getNumDynamicDims())
    return b.error("of integers over the batch is not supported; cast them first");
  const mlir::Type wide = elementTypeOf(sum);
  Value size = b.call("Abs", {{"x", sum}});
  Value quotient = b.make<IntegerOp>(IntegerKind::FloorDivide, size, b.makeInteger(wide, count));
  Value mean = b.makeSelect(ComparePredicate::LT, sum, b.makeZero(wide),
                            b.call("Negative", {{"x", quotient}}), quotient);
  return wide == type ? mean
                      : b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(mean), type), mean);
}

Value euclideanNorm(T &b) {
  Value x = b.getFloat("input_tensor");
  std::optional<llvm::json::Value> axes = x ? readAxes(b, "axis") : std::nullopt;
  if (!axes)
    return {};
  Value squares = b.make<MultiplyOp>(x, x);
  Value sum =
      b.call("Sum", {{"x", squares}, {"axis", *axes}, {"keepdims", b.getFlag("keepdims", false)}});
  return sum ? b.make<SqrtOp>(sum) : Value();
}

/// The 2-norm along axes, or of one vector, or another norm along one axis.
Value norm(T &b) {
  Value x = b.getFloat("tensor");
  std::optional<llvm::json::Value> axes = x ? readAxes(b, "axis") : std::nullopt;
  if (!axes)
    return {};
  const Argument *order = b.find("ord");
  const bool keepDims = b.getFlag("keepdims", false);
  const std::optional<llvm::StringRef> text = order && order->kind == Argument::Kind::Constant
                                                  ? order->constant.getAsString()
                                                  : std::nullopt;
  const llvm::json::Array *list = axes->getAsArray();
  const bool overOne = list && list->size() == 1;
  const bool isEuclidean =
      !order || text == llvm::StringRef("euclidean") || text == llvm::StringRef("fro");
  if (isEuclidean || (b.getNumber("ord", 2.0) == 2.0 && (overOne || !list))) {
    if (b.hasFailed())
      return {};
    Value squares = b.make<MultiplyOp>(x, x);
    Value sum = b.call("Sum", {{"x", squares}, {"axis", *axes}, {"keepdims", keepDims}});
    return sum ? b.make<SqrtOp>(sum) : Value();
  }
  if (!overOne)
    return b.error("of another order than 2 is supported along one axis");
  return b.call("Norm",
                {{"x", x}, {"ord", order->constant}, {"axis", *axes}, {"keepdims", keepDims}});
}

/// x rsqrt(max(sum x^2, epsilon)), epsilon being 1e-12.
Value l2Normalize(T &b) {
  Value x = b.getTensor("x");
  std::optional<llvm::json::Value> axes = x ? readAxes(b, "axis") : std::nullopt;
  if (!axes || !isFloating(x))
    return axes ? b.error("takes floating tensors") : Value();
  Value sum = b.call("Sum", {{"x", b.make<MultiplyOp>(x, x)}, {"axis", *axes}, {"keepdims", true}});
  if (!sum)
    return {};
  Value least = b.make<MaximumOp>(sum, b.makeConstant(b.getNumber("epsilon", 1e-12)));
  return b.make<MultiplyOp>(x, b.make<RsqrtOp>(least));
}

Value moments(T &b) {
  Value x = b.getFloat("x");
  std::optional<llvm::json::Value> axes = x ? readAxes(b, "axes") : std::nullopt;
  if (!axes)
    return {};
  Value mean =
      b.call("Moments", {{"x", x}, {"axes", *axes}, {"keepdims", b.getFlag("keepdims", false)}});
  llvm::append_range(b.furtherResults, b.laterResults);
  return mean;
}

/// The place of the first extreme; int64 unless the call says otherwise. Of integers the extreme is
/// found first, as float32 has not all of them.
Value placeOfExtreme(T &b) {
  Value x = b.getTensor("input");
  if (!x)
    return {};
  llvm::StringRef operation = b.function.operation;
  if (!isFloating(x)) {
    const int64_t axis = b.getInteger("axis", b.function.names.starts_with("keras.") ? -1 : 0);
    Value extreme = b.call(operation == "Argmax" ? "Max" : "Min",
                           {{"x", x}, {"axis", axis}, {"keepdims", true}});
    if (!extreme)
      return {};
    x = b.makeCastToFloat(b.makeCompare(ComparePredicate::EQ, x, extreme));
    operation = "Argmax";
  }
  const std::string type = b.getString("output_type", "int64");
  const bool isBackend = b.function.names.starts_with("keras.");
  Value place = b.call(operation, {{"x", x}, {"axis", b.getInteger("axis", isBackend ? -1 : 0)}});
  return place ? b.cast(place, type) : Value();
}

Value countNonZero(T &b) {
  Value x = b.getTensor("input");
  std::optional<llvm::json::Value> axes = x ? readAxes(b, "axis") : std::nullopt;
  if (!axes)
    return {};
  Value whole = b.cast(b.makeBool(x), b.getString("dtype", "int64"));
  return whole ? b.call("Sum",
                        {{"x", whole}, {"axis", *axes}, {"keepdims", b.getFlag("keepdims", false)}})
               : Value();
}

/// Sums (products) of what stands before an element and, unless exclusive, the element.
Value cumulate(T &b) {
  Value x = b.getTensor("x");
  if (!x)
    return {};
  int64_t axis = b.getInteger("axis", 0);
  axis = axis < 0 ? axis + b.rankOf(x) : axis;
  const bool reversed = b.getFlag("reverse", false), exclusive = b.getFlag("exclusive", false);
  auto flip = [&](Value value) {
    return value && reversed ? b.call("Flip", {{"x", value}, {"axis", axis}}) : value;
  };
  const mlir::Type type = elementTypeOf(x);
  Value y = b.call(b.function.operation, {{"x", flip(x)}, {"axis", axis}});
  if (!y)
    return {};
  if (elementTypeOf(y) != type)
    y = b.make<CastOp>(mlir::RankedTensorType::get(b.shapeOf(y), type), y);
  const int64_t extent = b.shapeOf(y)[axis];
  if (exclusive) {
    const bool isSum = b.function.operation == "Cumsum";
    Value first = b.make<SliceOp>(y, axis, int64_t(0), int64_t(1));
    first = b.call(isSum ? "ZerosLike" : "OnesLike", {{"x", first}});
    llvm::SmallVector<Value> parts = {first};
    if (extent > 1)
      parts.push_back(b.make<SliceOp>(y, axis, int64_t(0), extent - 1));
    y = parts.size() > 1 ? b.make<ConcatenateOp>(mlir::ValueRange(parts), axis) : first;
  }
  return flip(y);
}

Value topK(T &b) {
  Value x = b.getTensor("input");
  if (!x)
    return {};
  Value values = b.call("TopK", {{"x", x}, {"k", b.getInteger("k", 1)}});
  llvm::append_range(b.furtherResults, b.laterResults);
  return values;
}

/// Order, or places in order; descending ones are the ascending ones of the negative.
Value sort(T &b) {
  Value x = b.getTensor("values");
  if (!x)
    return {};
  const std::string direction = b.getString("direction", "ASCENDING");
  const bool descends = direction == "DESCENDING";
  if (!descends && direction != "ASCENDING")
    return b.error("'direction' is '" + direction + "'; expected ASCENDING or DESCENDING");
  int64_t axis = b.getInteger("axis", -1);
  Value sorted = descends ? b.call("Negative", {{"x", x}}) : x;
  Value y = b.call(b.function.operation, {{"x", sorted}, {"axis", axis}});
  return y && descends && b.function.operation == "Sort" ? b.call("Negative", {{"x", y}}) : y;
}

/// x, or x clip / |x| where the norm is larger.
Value clipByNorm(T &b) {
  Value x = b.getTensor("t");
  Value limit = x ? b.getTensor("clip_norm", x) : Value();
  std::optional<llvm::json::Value> axes = limit ? readAxes(b, "axes") : std::nullopt;
  if (!axes)
    return {};
  Value sum = b.call("Sum", {{"x", b.make<MultiplyOp>(x, x)}, {"axis", *axes}, {"keepdims", true}});
  if (!sum)
    return {};
  Value positive = b.makeCompare(ComparePredicate::GT, sum, b.makeConstant(0.0));
  Value safe = b.makeSelect(positive, sum, b.makeCastLike(b.makeConstant(1.0), sum));
  Value norm = b.makeSelect(positive, b.make<SqrtOp>(safe), sum);
  return b.make<DivideOp>(b.make<MultiplyOp>(x, limit), b.make<MaximumOp>(norm, limit));
}

/// Half the sum of all squares.
Value l2Loss(T &b) {
  Value x = b.getTensor("t");
  if (!x)
    return {};
  Value sum = b.call("Sum", {{"x", b.make<MultiplyOp>(x, x)}});
  return sum ? b.make<MultiplyOp>(sum, b.makeConstant(0.5)) : Value();
}

constexpr llvm::StringLiteral kReduced("input_tensor axis|reduction_indices keepdims|keep_dims");

constexpr TensorFlowFunction kTensorFlowReductions[] = {
    {"math.reduce_sum|reduce_sum", kReduced, reduce, "Sum"},
    {"math.reduce_mean|reduce_mean", kReduced, reduce, "Mean"},
    {"math.reduce_max|reduce_max", kReduced, reduce, "Max"},
    {"math.reduce_min|reduce_min", kReduced, reduce, "Min"},
    {"math.reduce_prod|reduce_prod", kReduced, reduce, "Prod"},
    {"math.reduce_all|reduce_all", kReduced, reduce, "All"},
    {"math.reduce_any|reduce_any", kReduced, reduce, "Any"},
    {"math.reduce_logsumexp|reduce_logsumexp", kReduced, reduce, "Logsumexp"},
    {"math.reduce_std", kReduced, reduce, "Std"},
    {"math.reduce_variance", kReduced, reduce, "Var"},
    {"math.reduce_euclidean_norm", kReduced, euclideanNorm},
    {"math.argmax|argmax|math.arg_max", "input axis|dimension output_type", placeOfExtreme,
     "Argmax"},
    {"math.argmin|argmin|math.arg_min", "input axis|dimension output_type", placeOfExtreme,
     "Argmin"},
    {"math.count_nonzero|count_nonzero",
     "input|input_tensor axis|reduction_indices keepdims|keep_dims dtype", countNonZero},
    {"math.cumsum|cumsum", "x axis exclusive reverse", cumulate, "Cumsum"},
    {"math.cumprod|cumprod", "x axis exclusive reverse", cumulate, "Cumprod"},
    {"math.l2_normalize|nn.l2_normalize|linalg.l2_normalize", "x axis|dim epsilon", l2Normalize},
    {"norm|linalg.norm", "tensor ord axis keepdims|keep_dims", norm},
    {"nn.moments", "x axes shift keepdims|keep_dims", moments},
    {"nn.l2_loss", "t", l2Loss},
    {"math.top_k|nn.top_k", "input k sorted index_type", topK},
    {"sort", "values axis direction", sort, "Sort"},
    {"argsort", "values axis direction stable", sort, "Argsort"},
    {"keras.backend.sum", "input_tensor|x axis keepdims", reduce, "Sum"},
    {"keras.backend.mean", "input_tensor|x axis keepdims", reduce, "Mean"},
    {"keras.backend.max", "input_tensor|x axis keepdims", reduce, "Max"},
    {"keras.backend.min", "input_tensor|x axis keepdims", reduce, "Min"},
    {"keras.backend.prod", "input_tensor|x axis keepdims", reduce, "Prod"},
    {"keras.backend.std", "input_tensor|x axis keepdims", reduce, "Std"},
    {"keras.backend.var", "input_tensor|x axis keepdims", reduce, "Var"},
    {"keras.backend.logsumexp", "input_tensor|x axis keepdims", reduce, "Logsumexp"},
    {"keras.backend.all", "input_tensor|x axis keepdims", reduce, "All"},
    {"keras.backend.any", "input_tensor|x axis keepdims", reduce, "Any"},
    {"keras.backend.argmax", "input|x axis", placeOfExtreme, "Argmax"},
    {"keras.backend.argmin", "input|x axis", placeOfExtreme, "Argmin"},
    {"keras.backend.l2_normalize", "x axis", l2Normalize},
    {"keras.backend.cumsum", "x axis", cumulate, "Cumsum"},
    {"keras.backend.cumprod", "x axis", cumulate, "Cumprod"},
    {"clip_by_norm", "t clip_norm axes", clipByNorm},
};

} // namespace

llvm::ArrayRef<TensorFlowFunction> tensorFlowReductions() { return kTensorFlowReductions; }

} // namespace mpc::keras
