// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/attention: Attention (Luong) and AdditiveAttention (Bahdanau).
#include "lib/Import/Common/DotProductAttention.h"
#include "lib/Import/Common/PositionMasks.h"
#include "lib/Import/Keras/LayerRegistry.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using B = LayerBuilder;

Value addScalar(B &b, llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                llvm::StringRef initializer) {
  VariableRequest request{name, llvm::SmallVector<int64_t>(shape), "", "", ""};
  request.defaultInitializer = initializer;
  return b.addVariable(request);
}

/// Names of dimensions that only batches of matrices have.
constexpr llvm::StringLiteral kOuter = "abcefghijlmnop";

/// The equation that contracts the last two dimensions, for each of the dimensions before them,
/// which all of `like` has.
std::string eachMatrix(B &b, Value like, llvm::StringRef lhs, llvm::StringRef rhs,
                       llvm::StringRef out) {
  const llvm::StringRef outer = kOuter.take_front(static_cast<size_t>(b.rankOf(like) - 2));
  return (outer + lhs + "," + outer + rhs + "->" + outer + out).str();
}

/// query + key for each pair of places, [batch, ..., targets, sources, width]; null after an error.
Value addPairs(B &b, Value query, Value key) {
  llvm::SmallVector<int64_t> queryShape(b.shapeOf(query)), keyShape(b.shapeOf(key));
  if (failed(broadcastShapes({{queryShape.back()}, {keyShape.back()}})))
    return b.error("query and key of " + b.layer.className + " must have equally many features");
  queryShape.insert(queryShape.end() - 1, 1);
  keyShape.insert(keyShape.end() - 2, 1);
  return b.make<AddOp>(b.makeReshape(query, queryShape), b.makeReshape(key, keyShape));
}
Value sumWidth(B &b, Value value) {
  return b.makeReduce(ReduceKind::Sum, value, b.rankOf(value) - 1, /*keepDims=*/false);
}

/// Luong's scores: query key^T, times a scale; or concatenated: a weight times the sum of
/// tanh(scale (query + key)).
Value luongScores(B &b, Value query, Value key) {
  const std::string mode = b.getString("score_mode", "dot");
  if (mode != "dot" && mode != "concat")
    return b.error("'score_mode' of Attention must be \"dot\" or \"concat\", not \"" + mode + "\"");
  Value scale;
  if (b.getFlag("use_scale", false) && !(scale = addScalar(b, "scale", {}, "ones")))
    return {};
  if (mode == "dot") {
    Value scores = b.makeEinsum(eachMatrix(b, query, "qd", "kd", "qk"), {query, key});
    return scores && scale ? b.make<MultiplyOp>(scores, scale) : scores;
  }
  Value weight = addScalar(b, "concat_score_weight", {}, "ones");
  if (!weight)
    return {};
  Value sum = addPairs(b, query, key);
  if (!sum)
    return {};
  if (scale)
    sum = b.make<MultiplyOp>(scale, sum);
  return b.make<MultiplyOp>(weight, sumWidth(b, b.make<TanhOp>(sum)));
}

/// Bahdanau's scores: the sum of scale tanh(query + key).
Value bahdanauScores(B &b, Value query, Value key) {
  Value sum = addPairs(b, query, key);
  if (!sum)
    return {};
  Value bent = b.make<TanhOp>(sum);
  if (b.getFlag("use_scale", true)) {
    Value scale = addScalar(b, "scale", b.shapeOf(query).back(), "glorot_uniform");
    if (!scale)
      return {};
    bent = b.make<MultiplyOp>(scale, bent);
  }
  return sumWidth(b, bent);
}

/// With a dimension of 1 before dimension `axis`.
Value makeExpanded(B &b, Value value, int64_t axis) {
  llvm::SmallVector<int64_t> shape(b.shapeOf(value));
  shape.insert(shape.begin() + axis, 1);
  return b.makeReshape(value, shape);
}

/// [query, value(, key)] with masks [query, value]; a masked source loses 1e9 (65504 in float16), a
/// masked target becomes 0.
Value importAttention(B &b, Value (*scoresOf)(B &, Value, Value)) {
  llvm::SmallVector<Value> inputs(b.getArgument(0, "inputs"));
  if (inputs.size() < 2 || inputs.size() > 3)
    return b.error(b.layer.className + " takes a list of query, value and perhaps key, not of " +
                   llvm::Twine(inputs.size()) + " tensors");
  // A constant may have a batch of one.
  auto withinBatch = [&](Value value, int64_t end) {
    return b.shapeOf(value).take_front(static_cast<size_t>(end)).drop_front();
  };
  const int64_t rank = b.rankOf(inputs[0]), places = rank - 2;
  for (Value input : inputs)
    if (!mlir::isa<mlir::FloatType>(elementTypeOf(input)) || rank < 3 ||
        rank > static_cast<int64_t>(kOuter.size()) || b.rankOf(input) != rank ||
        withinBatch(input, places) != withinBatch(inputs[0], places))
      return b.error(b.layer.className +
                     " takes floating tensors [batch, ..., places, features] whose dimensions "
                     "before the places agree");
  Value query = inputs[0], value = inputs[1], key = inputs.size() > 2 ? inputs[2] : value;
  if (b.shapeOf(key)[places] != b.shapeOf(value)[places])
    return b.error("key and value of " + b.layer.className + " must have equally many places");
  const double dropout = b.getNumber("dropout", 0.0);
  if (!(dropout >= 0.0 && dropout < 1.0))
    return b.error("'dropout' must lie in [0, 1)");
  const bool returnScores = b.getCallFlag(3, "return_attention_scores", false),
             causal = b.getCallFlag(4, "use_causal_mask", false);
  Value queryMask, valueMask;
  llvm::SmallVector<Value> masks = b.getArgumentSlots(1, "mask");
  if (masks.size() == 2 || masks.size() == 3) {
    queryMask = masks[0] ? b.makeBool(masks[0]) : Value();
    valueMask = masks[1] ? b.makeBool(masks[1]) : Value();
  } else if (!masks.empty()) {
    return b.error("the mask of " + b.layer.className + " must be a list of two or three tensors");
  } else {
    queryMask = b.getMaskOf(query);
    valueMask = b.getMaskOf(value);
  }
  Value scores = scoresOf(b, query, key);
  if (!scores)
    return {};
  const int64_t targets = b.shapeOf(scores)[places], sources = b.shapeOf(scores)[places + 1];
  for (auto [mask, of] : {std::pair(queryMask, query), std::pair(valueMask, value)})
    if (mask && (b.rankOf(mask) != places + 1 ||
                 withinBatch(mask, places + 1) != withinBatch(of, places + 1)))
      return b.error("the masks of " + b.layer.className +
                     " must be [batch, ..., places], with the places of query and value");
  if (valueMask && rank > 3 && !causal)
    return b.error(b.layer.className +
                   " of more than 3 dimensions takes a mask of the sources with "
                   "use_causal_mask alone, as in Keras");
  Value visible;
  if (valueMask)
    visible = makeExpanded(b, valueMask, places);
  if (causal)
    visible = makeAnd(b, visible, makeCausalMask(b, targets, sources));
  if (visible)
    scores =
        b.makeSelect(visible, scores, b.make<SubtractOp>(scores, b.makeConstantOr(1e9, 65504.0)));
  Value weights = b.make<SoftmaxOp>(scores, rank - 1);
  if (dropout > 0.0)
    weights = b.make<DropoutOp>(
        weights.getType(), weights, b.getRandomState(), b.builder.getF64FloatAttr(dropout),
        b.builder.getI64IntegerAttr(b.takeRandomStream()), mlir::DenseI64ArrayAttr());
  Value output = b.makeEinsum(eachMatrix(b, weights, "qk", "kd", "qd"), {weights, value});
  if (output && queryMask) {
    output = b.makeSelect(makeExpanded(b, queryMask, rank - 1), output, b.makeConstant(0.0));
    b.setMask(0, queryMask);
  }
  if (returnScores)
    b.addOutput(weights);
  return output;
}

Value importLuong(B &b) { return importAttention(b, luongScores); }
Value importBahdanau(B &b) { return importAttention(b, bahdanauScores); }

constexpr LayerEntry kAttentionLayers[] = {
    {"AdditiveAttention", importBahdanau},
    {"Attention", importLuong},
};

} // namespace

llvm::ArrayRef<LayerEntry> attentionLayers() { return kAttentionLayers; }

} // namespace mpc::keras
