// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras/src/layers/attention: MultiHeadAttention and GroupedQueryAttention; KerasHub's
// CachedMultiHeadAttention. Projections, softmax, dropout and output are layers of their own;
// between them the code computes in their dtypes.
#include "lib/Import/Common/DotProductAttention.h"
#include "lib/Import/Common/PositionMasks.h"
#include "lib/Import/Keras/CompositeBuilder.h"
#include "lib/Import/Keras/LayerRegistry.h"

#include <cmath>

namespace mpc::keras {
namespace {

using mlir::Value;
using C = CompositeBuilder;

/// Arguments of call(), and the mask that they make together.
struct AttentionArguments {
  Value query, value, key, mask;
  bool returnScores = false, causal = false, causalOnly = false;
  Value queryMask;

  static std::optional<AttentionArguments> read(C &c) {
    AttentionArguments result;
    if (!result.readTensors(c))
      return std::nullopt;
    const bool ownKey = result.key != result.value;
    result.returnScores = c.getFlag(7, "return_attention_scores", false);
    result.causal = c.getFlag(9, "use_causal_mask", false);
    result.gatherMasks(c, ownKey);
    return result;
  }

  /// Reads the call of KerasHub's layer, which obeys the caller's mask and no implicit one.
  static std::optional<AttentionArguments> readCached(C &c) {
    AttentionArguments result;
    if (!result.readTensors(c))
      return std::nullopt;
    if (!c.getArgument(4, "cache").empty() || !c.getArgument(5, "cache_update_index").empty()) {
      c.error("a cache of CachedMultiHeadAttention is not supported; call it without");
      return std::nullopt;
    }
    if (Value mask = c.getTensor(3, "attention_mask"))
      result.mask = c.makeBool(mask);
    result.returnScores = c.getFlag(6, "return_attention_scores", false);
    result.queryMask = c.getMaskOf(result.query);
    return result;
  }

  bool readTensors(C &c) {
    query = c.getTensor(0, "query");
    value = c.getTensor(1, "value");
    key = c.getTensor(2, "key");
    if (!query || !value) {
      c.error(c.own.layer.className + " must be called with query and value");
      return false;
    }
    if (!key)
      key = value;
    for (Value tensor : {query, value, key})
      if (!mlir::isa<mlir::FloatType>(elementTypeOf(tensor)) || c.rankOf(tensor) < 3) {
        c.error(c.own.layer.className +
                " takes floating tensors [batch, places, features] of at least 3 dimensions");
        return false;
      }
    return true;
  }

  /// _compute_attention_mask: what query, key and value say of themselves, causality, the window
  /// and the caller's mask, all of which must hold.
  void gatherMasks(C &c, bool ownKey) {
    auto maskOf = [&](unsigned position, llvm::StringRef name, Value tensor, bool lookAtTensor) {
      Value mask = c.getTensor(position, name);
      if (!mask && lookAtTensor)
        mask = c.getMaskOf(tensor);
      return mask ? c.makeBool(mask) : mask;
    };
    // call() of MultiHeadAttention takes the tensor's, whatever it was given.
    queryMask = c.getTensor(3, "query_mask");
    if (!queryMask || c.own.layer.className == "MultiHeadAttention")
      queryMask = c.getMaskOf(query);
    if (queryMask)
      queryMask = c.makeBool(queryMask);
    Value valueMask = maskOf(4, "value_mask", value, true),
          keyMask = maskOf(5, "key_mask", key, ownKey), given = c.getTensor(6, "attention_mask");
    const int64_t window = c.own.getInteger("sliding_window", 0);
    causalOnly = causal && !queryMask && !valueMask && !keyMask && !given && !window;
    if (causalOnly)
      return;
    auto insert = [&](Value mask, int64_t axis) -> Value {
      if (!mask)
        return mask;
      llvm::SmallVector<int64_t> shape(c.shapeOf(mask));
      shape.insert(axis < 0 ? shape.end() + axis + 1 : shape.begin() + axis, 1);
      return c.makeReshape(mask, shape);
    };
    mask = insert(queryMask, -1);
    mask = makeAnd(c, mask, insert(valueMask, -2));
    mask = makeAnd(c, mask, insert(keyMask, -2));
    const int64_t targets = c.shapeOf(query)[1], sources = c.shapeOf(value)[1];
    if (causal)
      mask = makeAnd(c, mask, makeCausalMask(c, targets, sources));
    if (window > 0)
      mask = makeAnd(c, mask, makeWindowMask(c, targets, sources, window));
    mask = makeAnd(c, given ? c.makeBool(given) : given, mask);
  }

  /// Extents of 1 at `axis` from the end, until the mask has `rank` dimensions.
  Value maskOfRank(C &c, int64_t rank, int64_t axis) const {
    if (!mask || c.rankOf(mask) >= rank)
      return mask;
    llvm::SmallVector<int64_t> shape(c.shapeOf(mask));
    while (int64_t(shape.size()) < rank)
      shape.insert(shape.begin() + std::max<int64_t>(int64_t(shape.size()) + axis + 1, 0), 1);
    return c.makeReshape(mask, shape);
  }
};

/// A projection with what the layer's config gives to all of them.
Value project(C &c, llvm::StringRef name, llvm::StringRef group, llvm::StringRef equation,
              llvm::json::Array outputShape, llvm::StringRef biasAxes, Value input,
              llvm::StringRef activation = "linear") {
  C::Part part{name, "EinsumDense", group, {}};
  part.config["equation"] = equation;
  part.config["output_shape"] = std::move(outputShape);
  part.config["activation"] = activation;
  if (c.own.getFlag("use_bias", true))
    part.config["bias_axes"] = biasAxes;
  for (llvm::StringRef key :
       {"kernel_initializer", "bias_initializer", "kernel_regularizer", "bias_regularizer",
        "activity_regularizer", "kernel_constraint", "bias_constraint"})
    if (const llvm::json::Value *value = c.own.layer.config.get(key))
      part.config[key] = *value;
  return c.callPart(std::move(part), input);
}

struct Heads {
  Value query, key, value; ///< projected, [batch, places..., heads, width]
  double scale;
  double dropout;
  std::string dotEquation, combineEquation;
  llvm::SmallVector<int64_t> scoreAxes; ///< that the softmax sums over
  int64_t maskAxis;                     ///< where masks get extents of 1, from the end
};

/// _compute_attention: the fused form unless scores are wanted, dropout is configured or there are
/// several attention axes; then scores, softmax and dropout one by one.
std::pair<Value, Value> attend(C &c, const AttentionArguments &arguments, const Heads &heads) {
  if (heads.dropout == 0.0 && !arguments.returnScores && c.rankOf(heads.query) == 4) {
    DotProductAttention attention{heads.query, heads.key, heads.value};
    attention.mask = arguments.maskOfRank(c, 4, heads.maskAxis);
    attention.scale = heads.scale;
    attention.causal = arguments.causalOnly;
    return {attention.build(c), Value()};
  }
  AttentionArguments masked = arguments;
  if (arguments.causalOnly)
    masked.mask = makeCausalMask(c, c.shapeOf(arguments.query)[1], c.shapeOf(arguments.value)[1]);
  Value query = c.make<MultiplyOp>(heads.query, c.makeConstant(heads.scale));
  Value scores = c.makeEinsum(heads.dotEquation, {heads.key, query});
  if (!scores)
    return {};
  C::Part softmax{"softmax", "Softmax", "", {}, /*built=*/false};
  llvm::json::Array axes;
  for (int64_t axis : heads.scoreAxes)
    axes.push_back(axis);
  softmax.config["axis"] = std::move(axes);
  scores = c.callPart(std::move(softmax), scores, "mask",
                      masked.maskOfRank(c, c.rankOf(scores), heads.maskAxis));
  if (!scores)
    return {};
  Value weights = scores;
  if (heads.dropout > 0.0) {
    C::Part dropout{"dropout", "Dropout", "", {}, /*built=*/false};
    dropout.config["rate"] = heads.dropout;
    weights = c.callPart(std::move(dropout), scores);
  }
  if (!weights)
    return {};
  return {c.makeEinsum(heads.combineEquation, {weights, heads.value}), scores};
}

/// The end of every attention: gate, output projection, results.
bool finish(C &c, const AttentionArguments &arguments, Value attended, Value scores, Value gate,
            llvm::function_ref<Value(Value)> projectOutput, llvm::SmallVectorImpl<Value> &outputs) {
  if (!attended)
    return false;
  if (gate)
    attended = c.make<MultiplyOp>(attended, gate);
  Value output = projectOutput(attended);
  if (!output)
    return false;
  outputs.push_back(output);
  if (arguments.queryMask)
    c.setMask(output, arguments.queryMask);
  if (arguments.returnScores)
    outputs.push_back(scores);
  return true;
}

// ---- MultiHeadAttention -------------------------------------------------------------------------

std::string letters(int64_t first, int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i)
    text += char('a' + first + i);
  return text;
}

/// _build_proj_equation: free dimensions, then `bound` that the kernel contracts, then `outputs`.
std::pair<std::string, std::string> projection(int64_t free, int64_t bound, int64_t outputs) {
  const std::string kept = letters(0, free), summed = letters(free, bound),
                    made = letters(free + bound, outputs);
  return {kept + summed + "," + summed + made + "->" + kept + made, made};
}

/// Free dimensions after the batch are unknown, then the known ones.
llvm::json::Array partialShape(int64_t free, llvm::ArrayRef<int64_t> known) {
  llvm::json::Array shape;
  for (int64_t d = 1; d < free; ++d)
    shape.push_back(nullptr);
  for (int64_t extent : known)
    shape.push_back(extent);
  return shape;
}

/// _build_attention_equation for projected tensors of `rank` dimensions.
void buildEquations(Heads &heads, int64_t rank, llvm::ArrayRef<int64_t> axes) {
  const std::string target = letters(0, rank);
  std::string source, product;
  int64_t next = rank;
  llvm::SmallVector<int64_t> batch;
  for (int64_t d = 0; d < rank; ++d) {
    const bool attended = llvm::is_contained(axes, d);
    if (!attended && d != rank - 1)
      batch.push_back(d);
    source += attended ? char('a' + next++) : target[d];
  }
  for (int64_t d : batch)
    product += target[d];
  for (int64_t d : axes)
    product += target[d];
  for (int64_t d : axes)
    product += source[d];
  heads.dotEquation = source + "," + target + "->" + product;
  heads.combineEquation = product + "," + source + "->" + target;
  const int64_t scoreRank = int64_t(product.size());
  for (int64_t d = scoreRank - int64_t(axes.size()); d < scoreRank; ++d)
    heads.scoreAxes.push_back(d);
  heads.maskAxis = -2 * int64_t(axes.size()) - 1;
}

bool attendWithHeads(C &c, const std::optional<AttentionArguments> &arguments,
                     llvm::SmallVectorImpl<Value> &outputs) {
  const int64_t count = c.own.getInteger("num_heads", 0), width = c.own.getInteger("key_dim", 0);
  int64_t valueWidth = c.own.getInteger("value_dim", width);
  if (count <= 0 || width <= 0 || valueWidth < 0)
    c.error("'num_heads', 'key_dim' and 'value_dim' of MultiHeadAttention must be positive");
  if (!arguments || c.hasFailed())
    return false;
  valueWidth = valueWidth ? valueWidth : width;
  const int64_t rank = c.rankOf(arguments->query), keyRank = c.rankOf(arguments->key),
                valueRank = c.rankOf(arguments->value);
  if (keyRank != valueRank || rank != valueRank || rank > 8) {
    c.error("query, key and value of MultiHeadAttention must have equally many dimensions");
    return false;
  }
  if (c.shapeOf(arguments->key).drop_back() != c.shapeOf(arguments->value).drop_back()) {
    c.error("key and value of MultiHeadAttention must agree in all dimensions but the last");
    return false;
  }
  const auto [equation, bias] = projection(rank - 1, 1, 2);
  const bool gated = c.own.getFlag("use_gate", false);
  Heads heads;
  heads.query = project(c, "query", "query_dense", equation, partialShape(rank - 1, {count, width}),
                        bias, arguments->query);
  heads.key = project(c, "key", "key_dense", equation, partialShape(rank - 1, {count, width}), bias,
                      arguments->key);
  Value gate;
  if (gated)
    gate = project(c, "gate", "_gate_dense", equation, partialShape(rank - 1, {count, valueWidth}),
                   bias, arguments->query, "sigmoid");
  heads.value = project(c, "value", "value_dense", equation,
                        partialShape(rank - 1, {count, valueWidth}), bias, arguments->value);
  if (!heads.query || !heads.key || !heads.value || (gated && !gate))
    return false;
  heads.scale = 1.0 / std::sqrt(double(width));
  heads.dropout = c.own.getNumber("dropout", 0.0);
  llvm::SmallVector<int64_t> axes;
  if (auto configured = c.own.getIntegers("attention_axes", 0)) {
    for (int64_t axis : *configured)
      axes.push_back(axis < 0 ? axis + rank : axis);
  } else {
    axes = llvm::to_vector(llvm::seq<int64_t>(1, rank - 1));
  }
  for (int64_t axis : axes)
    if (axis < 1 || axis >= rank - 1)
      c.error("'attention_axes' of MultiHeadAttention must lie between the batch and the features");
  if (c.hasFailed())
    return false;
  buildEquations(heads, rank + 1, axes);
  auto [attended, scores] = attend(c, *arguments, heads);
  llvm::SmallVector<int64_t> outputShape;
  if (const llvm::json::Value *value = c.own.layer.config.get("output_shape");
      value && value->getAsInteger())
    outputShape.push_back(*value->getAsInteger());
  else if (auto configured = c.own.getIntegers("output_shape", 0))
    outputShape = *configured;
  if (outputShape.empty())
    outputShape.push_back(c.shapeOf(arguments->query).back());
  return finish(
      c, *arguments, attended, scores, gate,
      [&](Value value) {
        const auto [output, outputBias] = projection(rank - 1, 2, int64_t(outputShape.size()));
        return project(c, "attention_output", "output_dense", output,
                       partialShape(rank - 1, outputShape), outputBias, value);
      },
      outputs);
}

bool importMultiHeadAttention(C &c, llvm::SmallVectorImpl<Value> &outputs) {
  std::optional<AttentionArguments> arguments = AttentionArguments::read(c);
  // call() takes the masks off the tensors that it is given: whoever reads those later (the Add of
  // a residual connection) finds none. Not where the layer casts them, which copies.
  if (arguments)
    for (Value tensor : {arguments->query, arguments->value, arguments->key})
      c.dropMaskOf(tensor);
  return attendWithHeads(c, arguments, outputs);
}

/// keras_hub/src/layers/modeling/cached_multi_head_attention.py without a cache.
bool importCachedMultiHeadAttention(C &c, llvm::SmallVectorImpl<Value> &outputs) {
  if (c.own.getFlag("use_gate", false))
    c.error("'use_gate' of CachedMultiHeadAttention, which KerasHub ignores, is not supported");
  return attendWithHeads(c, AttentionArguments::readCached(c), outputs);
}

// ---- GroupedQueryAttention ----------------------------------------------------------------------

bool importGroupedQueryAttention(C &c, llvm::SmallVectorImpl<Value> &outputs) {
  std::optional<AttentionArguments> arguments = AttentionArguments::read(c);
  const int64_t width = c.own.getInteger("head_dim", 0),
                queries = c.own.getInteger("num_query_heads", 0),
                keys = c.own.getInteger("num_key_value_heads", 0);
  if (width <= 0 || keys <= 0 || queries <= 0 || queries % keys != 0)
    c.error("'num_query_heads' of GroupedQueryAttention must be a multiple of "
            "'num_key_value_heads', and both positive, as 'head_dim'");
  if (!arguments || c.hasFailed())
    return false;
  for (Value tensor : {arguments->query, arguments->key, arguments->value})
    if (c.rankOf(tensor) != 3) {
      c.error("GroupedQueryAttention takes tensors of 3 dimensions");
      return false;
    }
  const bool gated = c.own.getFlag("use_gate", false);
  auto shape = [&](int64_t count) { return llvm::json::Array{nullptr, count, width}; };
  Heads heads;
  heads.query =
      project(c, "query", "_query_dense", "bqm,muh->bquh", shape(queries), "uh", arguments->query);
  heads.key = project(c, "key", "_key_dense", "bkm,mvh->bkvh", shape(keys), "vh", arguments->key);
  Value gate;
  if (gated)
    gate = project(c, "gate", "_gate_dense", "bqm,muh->bquh", shape(queries), "uh",
                   arguments->query, "sigmoid");
  heads.value =
      project(c, "value", "_value_dense", "bkm,mvh->bkvh", shape(keys), "vh", arguments->value);
  if (!heads.query || !heads.key || !heads.value || (gated && !gate))
    return false;
  heads.key = repeatHeads(c, heads.key, queries / keys);
  heads.value = repeatHeads(c, heads.value, queries / keys);
  heads.scale = 1.0 / std::sqrt(double(width));
  heads.dropout = c.own.getNumber("dropout", 0.0);
  // Keras writes "bquh,bkuh->buqk"; the operands come as key, query here.
  heads.dotEquation = "bkuh,bquh->buqk";
  heads.combineEquation = "buqk,bkuh->bquh";
  heads.scoreAxes = {3};
  heads.maskAxis = -3;
  auto [attended, scores] = attend(c, *arguments, heads);
  const int64_t features = c.shapeOf(arguments->query).back();
  return finish(
      c, *arguments, attended, scores, gate,
      [&](Value value) {
        return project(c, "attention_output", "_output_dense", "bquh,uhm->bqm",
                       llvm::json::Array{nullptr, features}, "m", value);
      },
      outputs);
}

constexpr LayerEntry kMultiHeadAttentionLayers[] = {
    compositeLayer("GroupQueryAttention", importGroupedQueryAttention, "GroupedQueryAttention"),
    compositeLayer("GroupedQueryAttention", importGroupedQueryAttention),
    compositeLayer("MultiHeadAttention", importMultiHeadAttention, /*pythonName=*/"",
                   Masking::TakesOff),
};

constexpr LayerEntry kHubAttentionLayers[] = {
    compositeLayer("CachedMultiHeadAttention", importCachedMultiHeadAttention),
};

} // namespace

llvm::ArrayRef<LayerEntry> multiHeadAttentionLayers() { return kMultiHeadAttentionLayers; }
llvm::ArrayRef<LayerEntry> hubAttentionLayers() { return kHubAttentionLayers; }

} // namespace mpc::keras
