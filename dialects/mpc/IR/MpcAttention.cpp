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
                             "query, key and value must be [batch, length, heads, width]");
  ArrayRef<int64_t> q = query.getShape(), k = key.getShape(), v = value.getShape();
  if (q[0] != k[0] || k[0] != v[0] || q[2] != k[2] || k[2] != v[2] || q[3] != k[3] || k[1] != v[1])
    return emitOptionalError(location, "query, key and value disagree in batch, heads, width or "
                                       "sources");
  types.push_back(query.clone({q[0], q[1], q[2], v[3]}));
  types.push_back(RankedTensorType::get({q[0], q[2], q[1]}, widerOf32(element)));
  return success();
}

/// Attention and its derivative share these verifiers.
template <typename Op> static LogicalResult verifyMask(Op op) {
  Value mask = op.getMask();
  if (!mask)
    return success();
  if (op.getCausal())
    return op.emitOpError("is causal and has a mask; expected a mask that says both");
  ArrayRef<int64_t> query = tensorTypeOf(op.getQuery()).getShape(),
                    shape = tensorTypeOf(mask).getShape();
  const int64_t extents[] = {query[0], query[2], query[1], tensorTypeOf(op.getKey()).getShape()[1]};
  bool fits = shape.size() == 4 && shape[3] == extents[3];
  for (unsigned i = 0; fits && i < 3; ++i)
    fits = shape[i] == 1 || shape[i] == extents[i];
  if (fits)
    return success();
  return op.emitOpError()
         << "has a mask " << mask.getType()
         << "; expected [batch, heads, targets, sources] with extents of 1 but for the last";
}

template <typename Op> static LogicalResult verifyHiddenScore(Op op) {
  if (!op.getHiddenScore())
    return success();
  if (!op.getMask() && !op.getCausal())
    return op.emitOpError("has a 'hidden_score' and hides nothing; expected a mask or 'causal'");
  if (!op.getHiddenScore()->isFinite())
    return op.emitOpError("has a 'hidden_score' that is not finite");
  return success();
}

template <typename Op> static LogicalResult verifyDropout(Op op) {
  if (bool(op.getState()) != bool(op.getRate()) || bool(op.getState()) != bool(op.getStream()))
    return op.emitOpError("has a part of a dropout; expected a state, 'rate' and 'stream'");
  if (!op.getState())
    return success();
  const double rate = op.getRate()->convertToDouble();
  if (!(rate >= 0 && rate < 1))
    return op.emitOpError() << "rate must be in [0, 1), got " << rate;
  return success();
}

template <typename Op> static LogicalResult verifyScores(Op op) {
  return failure(failed(verifyMask(op)) || failed(verifyHiddenScore(op)) ||
                 failed(verifyDropout(op)));
}

LogicalResult AttentionOp::verify() { return verifyScores(*this); }

void AttentionOp::dropTrainingPart() {
  getStateMutable().clear();
  removeRateAttr();
  removeStreamAttr();
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
  llvm::append_range(types, operands.slice(3, 3).getTypes());
  return success();
}

LogicalResult AttentionGradientOp::verify() {
  if (failed(verifyScores(*this)))
    return failure();
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
  auto gradient = AttentionGradientOp::create(
      builder, getLoc(), cotangents[0], getResult(), getLogSums(), getQuery(), getKey(), getValue(),
      getMask(), getState(), getScaleAttr(), getCausalAttr(), getHiddenScoreAttr(), getRateAttr(),
      getStreamAttr());
  llvm::copy(gradient.getResults(), operandCotangents.begin());
  return success();
}

// ---- Reference ----------------------------------------------------------------------------------

namespace {
/// The scores of a target. Of a source that does not count the score is -inf.
struct Row {
  SmallVector<double> scores;
  int64_t hidden = 0;          ///< sources that do not count
  bool isHidden = false;       ///< all: then, without a score of what is hidden, they count alike
  SmallVector<double> factors; ///< by which dropout multiplies the probabilities
};

/// The heads of one query, key and value: where their rows are, and the scores.
struct Heads {
  /// `operands`: query, key, value and perhaps a mask and a state.
  template <typename Op>
  Heads(Op op, ArrayRef<ReferenceTensor> operands)
      : query(operands[0]), key(operands[1]), mask(op.getMask() ? &operands[3] : nullptr),
        state(op.getState() ? &operands.back() : nullptr), scale(op.getScale().convertToDouble()),
        rate(state ? op.getRate()->convertToDouble() : 0), stream(op.getStream().value_or(0)),
        hiddenScore(op.getHiddenScore() ? std::optional(op.getHiddenScore()->convertToDouble())
                                        : std::nullopt),
        causal(op.getCausal()), batch(query.shape[0]), targets(query.shape[1]),
        sources(key.shape[1]), heads(query.shape[2]), width(query.shape[3]) {}

  /// Calls `visit(b, h, t, row)`.
  void forEachRow(llvm::function_ref<void(int64_t, int64_t, int64_t, const Row &)> visit) const {
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t h = 0; h < heads; ++h)
        for (int64_t t = 0; t < targets; ++t)
          visit(b, h, t, score(b, h, t));
  }

  int64_t target(int64_t b, int64_t t, int64_t h, int64_t extent) const {
    return ((b * targets + t) * heads + h) * extent;
  }
  int64_t source(int64_t b, int64_t u, int64_t h, int64_t extent) const {
    return ((b * sources + u) * heads + h) * extent;
  }
  int64_t row(int64_t b, int64_t h, int64_t t) const { return (b * heads + h) * targets + t; }

  const ReferenceTensor &query, &key, *const mask, *const state;
  const double scale, rate;
  const int64_t stream;
  const std::optional<double> hiddenScore;
  const bool causal;
  const int64_t batch, targets, sources, heads, width;

private:
  bool counts(int64_t b, int64_t h, int64_t t, int64_t u) const {
    if (!mask)
      return !causal || u <= t;
    const std::array<int64_t, 4> indices = {b, h, t, u};
    int64_t at = 0;
    for (auto [extent, index] : llvm::zip(mask->shape, indices))
      at = at * extent + (extent == 1 ? 0 : index);
    return mask->at(at) != 0;
  }
  Row score(int64_t b, int64_t h, int64_t t) const {
    Row row;
    row.scores.assign(sources, -INFINITY);
    for (int64_t u = 0; u < sources; ++u) {
      if (!counts(b, h, t, u)) {
        ++row.hidden;
        continue;
      }
      double sum = 0;
      for (int64_t w = 0; w < width; ++w)
        sum += query.floats[target(b, t, h, width) + w] * key.floats[source(b, u, h, width) + w];
      row.scores[u] = sum * scale;
    }
    row.isHidden = row.hidden == sources;
    if (row.isHidden && !hiddenScore)
      row.scores.assign(sources, 0.0);
    const double kept = roundTo(query.elementType, 1 / (1 - rate));
    const int64_t first = state ? firstElementOf(*state, {1, heads, targets, sources}) : 0;
    for (int64_t u = 0; u < sources; ++u)
      row.factors.push_back(
          !state                                                                         ? 1
          : keepsElement(*state, stream, rate, first + this->row(b, h, t) * sources + u) ? kept
                                                                                         : 0);
    return row;
  }
};
} // namespace

LogicalResult AttentionOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                    MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &value = operands[2];
  Heads heads(*this, operands);
  const int64_t extent = value.shape[3];
  startReference(results[0], value.elementType, {heads.batch, heads.targets, heads.heads, extent});
  startReference(results[1], widerOf32(value.elementType),
                 {heads.batch, heads.heads, heads.targets});
  heads.forEachRow([&](int64_t b, int64_t h, int64_t t, const Row &row) {
    ArrayRef<double> scores = row.scores;
    double top = -INFINITY, sum = 0;
    for (double score : scores)
      top = std::isnan(score) ? score : std::max(top, score);
    if (heads.hiddenScore && row.hidden > 0) {
      top = top < *heads.hiddenScore ? *heads.hiddenScore : top;
      sum = double(row.hidden) * std::exp(*heads.hiddenScore - top);
    }
    for (double score : scores)
      sum += std::exp(score - top);
    for (int64_t v = 0; v < extent; ++v) {
      double total = 0;
      for (auto [u, score] : llvm::enumerate(scores))
        if (score != -INFINITY && row.factors[u] != 0)
          total += std::exp(score - top) / sum * row.factors[u] *
                   value.floats[heads.source(b, u, h, extent) + v];
      results[0].set(heads.target(b, t, h, extent) + v, total);
    }
    results[1].set(heads.row(b, h, t), top + std::log(sum));
  });
  return success();
}

LogicalResult AttentionGradientOp::evaluate(ArrayRef<ReferenceTensor> operands,
                                            MutableArrayRef<ReferenceTensor> results) {
  const ReferenceTensor &cotangent = operands[0], &result = operands[1], &logSums = operands[2];
  const ReferenceTensor &query = operands[3], &key = operands[4], &value = operands[5];
  Heads heads(*this, operands.drop_front(3));
  const int64_t width = heads.width, extent = value.shape[3];
  SmallVector<SmallVector<double>> sums;
  for (auto [gradient, operand] : llvm::zip(results, operands.slice(3, 3))) {
    startReference(gradient, operand.elementType, operand.shape);
    sums.emplace_back(operand.size(), 0.0);
  }
  heads.forEachRow([&](int64_t b, int64_t h, int64_t t, const Row &row) {
    const int64_t to = heads.target(b, t, h, extent), q = heads.target(b, t, h, width);
    for (auto [u, score] : llvm::enumerate(row.scores)) {
      if (score == -INFINITY)
        continue;
      const int64_t from = heads.source(b, u, h, extent), k = heads.source(b, u, h, width);
      const double probability = std::exp(score - logSums.floats[heads.row(b, h, t)]);
      const double factor = row.factors[u];
      double derivative = 0;
      for (int64_t v = 0; v < extent; ++v) {
        const double own = factor == 0 ? 0 : factor * value.floats[from + v];
        derivative += cotangent.floats[to + v] * (own - result.floats[to + v]);
        sums[2][from + v] += factor * probability * cotangent.floats[to + v];
      }
      derivative *= row.isHidden ? 0 : heads.scale * probability;
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
