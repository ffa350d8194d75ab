// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Attention and its derivative.
#include "dialects/mpc/IR/Mpc.h"

#include <cmath>

using namespace mlir;
using namespace mpc;

PrecisionClass AttentionOp::getPrecisionClass() { return PrecisionClass::Safe; }
PrecisionClass AttentionGradientOp::getPrecisionClass() { return PrecisionClass::Safe; }

/// The types of result and log_sums, or an error.
static LogicalResult inferAttention(std::optional<Location> location, RankedTensorType query,
                                    RankedTensorType key, RankedTensorType value,
                                    SmallVectorImpl<Type> &types) {
  Type element = query.getElementType();
  if (key.getElementType() != element || value.getElementType() != element)
    return emitOptionalError(location, "element types differ: ", element, ", ",
                             key.getElementType(), ", ", value.getElementType(),
                             "; insert mpc.cast");
  if (query.getRank() != 4 || key.getRank() != 4 || value.getRank() != 4)
    return emitOptionalError(location,
                             "query, key and value must be [batch, places, heads, width]");
  ArrayRef<int64_t> q = query.getShape(), k = key.getShape(), v = value.getShape();
  if (q[0] != k[0] || k[0] != v[0] || q[2] != k[2] || k[2] != v[2] || q[3] != k[3] || k[1] != v[1])
    return emitOptionalError(location, "query, key and value disagree in batch, heads, width or "
                                       "sources");
  types.push_back(query.clone({q[0], q[1], q[2], v[3]}));
  types.push_back(RankedTensorType::get({q[0], q[2], q[1]}, widerOf32(element)));
  return success();
}

LogicalResult AttentionOp::inferReturnTypes(MLIRContext *, std::optional<Location> location,
                                            ValueRange operands, DictionaryAttr, OpaqueProperties,
                                            RegionRange, SmallVectorImpl<Type> &types) {
  return inferAttention(location, tensorTypeOf(operands[0]), tensorTypeOf(operands[1]),
                        tensorTypeOf(operands[2]), types);
}

LogicalResult AttentionGradientOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                                    ValueRange operands, DictionaryAttr,
                                                    OpaqueProperties, RegionRange,
                                                    SmallVectorImpl<Type> &types) {
  llvm::append_range(types, operands.drop_front(3).getTypes());
  return success();
}

LogicalResult AttentionGradientOp::verify() {
  SmallVector<Type> types;
  if (failed(inferAttention(getLoc(), tensorTypeOf(getQuery()), tensorTypeOf(getKey()),
                            tensorTypeOf(getValue()), types)))
    return failure();
  auto check = [&](StringRef name, Value value, Type type) -> LogicalResult {
    if (value.getType() == type)
      return success();
    return emitOpError() << name << " is " << value.getType() << "; mpc.attention gives " << type;
  };
  return failure(failed(check("result", getResult(), types[0])) ||
                 failed(check("log_sums", getLogSums(), types[1])));
}

LogicalResult AttentionOp::buildVjp(OpBuilder &builder, ValueRange cotangents, ArrayRef<bool>,
                                    MutableArrayRef<Value> operandCotangents) {
  if (cotangents[1])
    return emitOpError("has no derivative of log_sums");
  if (!cotangents[0])
    return success();
  auto gradient = AttentionGradientOp::create(builder, getLoc(), cotangents[0], getResult(),
                                              getLogSums(), getQuery(), getKey(), getValue(),
                                              getScaleAttr(), getCausalAttr());
  llvm::copy(gradient.getResults(), operandCotangents.begin());
  return success();
}

// ---- Reference ----------------------------------------------------------------------------------

namespace {
/// The heads of one query, key and value: where their rows are, and the scores.
struct Heads {
  Heads(const ReferenceTensor &query, const ReferenceTensor &key, double scale, bool causal)
      : query(query), key(key), scale(scale), causal(causal), batch(query.shape[0]),
        targets(query.shape[1]), sources(key.shape[1]), heads(query.shape[2]),
        width(query.shape[3]) {}

  /// Calls `visit(b, h, t, scores)`; the scores of sources that count.
  void
  forEachRow(llvm::function_ref<void(int64_t, int64_t, int64_t, ArrayRef<double>)> visit) const {
    SmallVector<double> scores;
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t t = 0; t < targets; ++t) {
          scores.assign(causal ? std::min(t + 1, sources) : sources, 0.0);
          for (auto [u, score] : llvm::enumerate(scores)) {
            for (int64_t w = 0; w < width; ++w)
              score +=
                  query.floats[target(b, t, h, width) + w] * key.floats[source(b, u, h, width) + w];
            score *= scale;
          }
          visit(b, h, t, scores);
        }
  }

  int64_t target(int64_t b, int64_t t, int64_t h, int64_t extent) const {
    return ((b * targets + t) * heads + h) * extent;
  }
  int64_t source(int64_t b, int64_t u, int64_t h, int64_t extent) const {
    return ((b * sources + u) * heads + h) * extent;
  }
  int64_t row(int64_t b, int64_t h, int64_t t) const { return (b * heads + h) * targets + t; }

  const ReferenceTensor &query, &key;
  const double scale;
  const bool causal;
  const int64_t batch, targets, sources, heads, width;
};
} // namespace

LogicalResult AttentionOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                    MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &value = operands[2];
  Heads heads(operands[0], operands[1], getScale().convertToDouble(), getCausal());
  const int64_t extent = value.shape[3];
  startReference(results[0], value.elementType, {heads.batch, heads.targets, heads.heads, extent});
  startReference(results[1], widerOf32(value.elementType),
                 {heads.batch, heads.heads, heads.targets});
  heads.forEachRow([&](int64_t b, int64_t h, int64_t t, ArrayRef<double> scores) {
    double top = -INFINITY, sum = 0;
    for (double score : scores)
      top = std::isnan(score) ? score : std::max(top, score);
    for (double score : scores)
      sum += std::exp(score - top);
    for (int64_t v = 0; v < extent; ++v) {
      double total = 0;
      for (auto [u, score] : llvm::enumerate(scores))
        total += std::exp(score - top) * value.floats[heads.source(b, u, h, extent) + v];
      results[0].set(heads.target(b, t, h, extent) + v, total / sum);
    }
    results[1].set(heads.row(b, h, t), top + std::log(sum));
  });
  return success();
}

LogicalResult AttentionGradientOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                            MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &cotangent = operands[0], &result = operands[1], &logSums = operands[2];
  const ReferenceTensor &query = operands[3], &key = operands[4], &value = operands[5];
  const double scale = getScale().convertToDouble();
  Heads heads(query, key, scale, getCausal());
  const int64_t width = heads.width, extent = value.shape[3];
  SmallVector<SmallVector<double>> sums;
  for (auto [gradient, operand] : llvm::zip(results, operands.drop_front(3))) {
    startReference(gradient, operand.elementType, operand.shape);
    sums.emplace_back(operand.size(), 0.0);
  }
  heads.forEachRow([&](int64_t b, int64_t h, int64_t t, ArrayRef<double> scores) {
    const int64_t to = heads.target(b, t, h, extent), q = heads.target(b, t, h, width);
    for (auto [u, score] : llvm::enumerate(scores)) {
      const int64_t from = heads.source(b, u, h, extent), k = heads.source(b, u, h, width);
      const double probability = std::exp(score - logSums.floats[heads.row(b, h, t)]);
      double derivative = 0;
      for (int64_t v = 0; v < extent; ++v) {
        derivative += cotangent.floats[to + v] * (value.floats[from + v] - result.floats[to + v]);
        sums[2][from + v] += probability * cotangent.floats[to + v];
      }
      derivative *= scale * probability;
      for (int64_t w = 0; w < width; ++w) {
        sums[0][q + w] += derivative * key.floats[k + w];
        sums[1][k + w] += derivative * query.floats[q + w];
      }
    }
  });
  for (auto [gradient, values] : llvm::zip(results, sums))
    for (auto [i, sum] : llvm::enumerate(values))
      gradient.set(i, sum);
  return success();
}
