// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/attention: Attention (Luong) and AdditiveAttention (Bahdanau).
#include "../DotProductAttention.h"
#include "../LayerRegistry.h"

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

/// query + key for each pair of places, [batch, targets, sources, width]; null after an error.
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
    Value scores = b.makeEinsum("bqd,bkd->bqk", {query, key});
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

/// [query, value(, key)] with masks [query, value]; a masked source loses 1e9 (65504 in float16), a
/// masked target becomes 0.
Value importAttention(B &b, Value (*scoresOf)(B &, Value, Value)) {
  llvm::SmallVector<Value> inputs(b.getArgument(0, "inputs"));
  if (inputs.size() < 2 || inputs.size() > 3)
    return b.error(b.layer.className + " takes a list of query, value and perhaps key, not of " +
                   llvm::Twine(inputs.size()) + " tensors");
  for (Value input : inputs)
    if (!mlir::isa<mlir::FloatType>(elementTypeOf(input)) || b.rankOf(input) != 3)
      return b.error(b.layer.className +
                     " takes floating tensors [batch, places, features] of 3 dimensions");
  Value query = inputs[0], value = inputs[1], key = inputs.size() > 2 ? inputs[2] : value;
  if (b.shapeOf(key)[1] != b.shapeOf(value)[1])
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
  const int64_t targets = b.shapeOf(scores)[1], sources = b.shapeOf(scores)[2];
  for (auto [mask, places] : {std::pair(queryMask, targets), std::pair(valueMask, sources)})
    if (mask && (b.rankOf(mask) != 2 || b.shapeOf(mask)[1] != places))
      return b.error("the masks of " + b.layer.className +
                     " must be [batch, places], with the places of query and value");
  Value visible;
  if (valueMask)
    visible = b.makeReshape(valueMask, {b.shapeOf(valueMask)[0], 1, sources});
  if (causal)
    visible = makeAnd(b, visible, makeCausalMask(b, targets, sources));
  if (visible)
    scores =
        b.makeSelect(visible, scores, b.make<SubtractOp>(scores, b.makeConstantOr(1e9, 65504.0)));
  Value weights = b.make<SoftmaxOp>(scores, int64_t(2));
  if (dropout > 0.0)
    weights = b.make<DropoutOp>(
        weights.getType(), weights, b.getRandomState(), b.builder.getF64FloatAttr(dropout),
        b.builder.getI64IntegerAttr(b.takeRandomStream()), mlir::DenseI64ArrayAttr());
  Value output = b.makeEinsum("bqk,bkd->bqd", {weights, value});
  if (output && queryMask) {
    Value counts = b.makeReshape(queryMask, {b.shapeOf(queryMask)[0], targets, 1});
    output = b.makeSelect(counts, output, b.makeConstant(0.0));
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
