// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// keras_hub/src/layers/modeling: TransformerEncoder, TransformerDecoder and FNetEncoder. Attention,
// normalizations, dense layers and dropout are layers of their own.
#include "lib/Import/Common/DotProductAttention.h"
#include "lib/Import/Common/Fourier.h"
#include "lib/Import/Common/PositionMasks.h"
#include "lib/Import/Keras/LayerRegistry.h"

namespace mpc::keras {
namespace {

using mlir::Value;
using C = CompositeBuilder;

/// The layer's attribute and the layer's name.
struct Names {
  llvm::StringLiteral group, name;
};

constexpr Names kSelfNorm{"_self_attention_layer_norm", "self_attention_layer_norm"};
constexpr Names kCrossNorm{"_cross_attention_layer_norm", "cross_attention_layer_norm"};
constexpr Names kForwardNorm{"_feedforward_layer_norm", "feedforward_layer_norm"};
constexpr Names kIntermediate{"_feedforward_intermediate_dense", "feedforward_intermediate_dense"};
constexpr Names kOutput{"_feedforward_output_dense", "feedforward_output_dense"};

/// The common part of the three classes. Names of parts are numbered in the order in which Keras
/// makes them, which is not the order of their calls.
class TransformerBlock {
public:
  TransformerBlock(C &c, Value sequence)
      : c(c), sequence(sequence), isNormalizedFirst(c.own.getFlag("normalize_first", false)),
        intermediate(c.own.getInteger("intermediate_dim", 0)) {
    if (intermediate <= 0)
      c.error("'intermediate_dim' of " + c.own.layer.className + " must be a positive integer");
    if (!sequence)
      c.error(c.own.layer.className + " is called without a sequence");
    else if (!mlir::isa<mlir::FloatType>(elementTypeOf(sequence)) || c.rankOf(sequence) < 3)
      c.error(c.own.layer.className +
              " takes a floating tensor [batch, places, features] of at least 3 dimensions");
    c.passMasksToParts();
  }

  Value normalize(Names names, unsigned position, Value x) {
    C::Part part{names.name, "LayerNormalization", names.group, {}, /*built=*/true, position};
    part.config["axis"] = -1;
    part.config["epsilon"] = c.own.getNumber("layer_norm_epsilon", 1e-5);
    return c.callPart(std::move(part), x);
  }

  Value drop(llvm::StringRef name, Value x) {
    C::Part part{name, "Dropout", "", {}, /*built=*/false};
    part.config["rate"] = c.own.getNumber("dropout", 0.0);
    return c.callPart(std::move(part), x);
  }

  Value project(Names names, unsigned position, Value x, int64_t units, bool isActivated) {
    C::Part part{names.name, "Dense", names.group, {}, /*built=*/true, position};
    part.config["units"] = units;
    copyInitializers(part.config);
    if (isActivated)
      if (const llvm::json::Value *activation = c.own.layer.config.get("activation"))
        part.config["activation"] = *activation;
    return c.callPart(std::move(part), x);
  }

  /// `mask`: [batch, targets, sources], or null.
  Value attend(Names names, unsigned position, bool isCached, Value query, Value value,
               Value mask) {
    const int64_t heads = c.own.getInteger("num_heads", 0);
    if (heads <= 0 || c.shapeOf(sequence).back() < heads) {
      c.error("'num_heads' of " + c.own.layer.className +
              " must be positive and not above the number of features, " +
              llvm::Twine(c.shapeOf(sequence).back()));
      return {};
    }
    C::Part part{names.name,
                 isCached ? "CachedMultiHeadAttention" : "MultiHeadAttention",
                 names.group,
                 {},
                 /*built=*/true,
                 position,
                 isCached ? "keras_hub" : ""};
    part.config["num_heads"] = heads;
    part.config["key_dim"] = c.shapeOf(sequence).back() / heads;
    part.config["dropout"] = c.own.getNumber("dropout", 0.0);
    copyInitializers(part.config);
    llvm::SmallVector<Value> results =
        c.callPart(std::move(part), {{"", query}, {"", value}, {"attention_mask", mask}});
    return results.size() == 1 ? results.front() : Value();
  }

  /// The residual connection around `compute`, normalized before or behind.
  template <typename Compute>
  Value around(Names norm, unsigned position, llvm::StringRef dropout, Value x, Compute compute) {
    Value y = isNormalizedFirst ? normalize(norm, position, x) : x;
    y = y ? compute(y) : y;
    y = y ? drop(dropout, y) : y;
    if (!y)
      return {};
    Value sum = c.make<AddOp>(y, x);
    return isNormalizedFirst ? sum : normalize(norm, position, sum);
  }

  /// The feed-forward part behind the attention, whose result `x` may be null after an error; the
  /// result has the mask of the sequence. False after an error.
  bool finish(Value x, unsigned normPosition, unsigned densePosition,
              llvm::SmallVectorImpl<Value> &outputs) {
    if (!x || c.hasFailed())
      return false;
    x = around(kForwardNorm, normPosition, "feedforward_dropout", x, [&](Value y) {
      y = project(kIntermediate, densePosition, y, intermediate, /*isActivated=*/true);
      return y ? project(kOutput, densePosition + 1, y, c.shapeOf(sequence).back(),
                         /*isActivated=*/false)
               : y;
    });
    if (!x || c.hasFailed())
      return false;
    outputs.push_back(x);
    c.setMask(x, c.getMaskOf(sequence));
    return true;
  }

  /// merge_padding_and_attention_mask: what the caller says of the places of `of`, else what that
  /// says itself, and the caller's mask.
  Value mergeMasks(Value of, Value padding, Value attention) {
    if (!padding)
      padding = c.getMaskOf(of);
    if (padding && c.rankOf(padding) != 2)
      return c.error("a padding mask of " + c.own.layer.className +
                     " must have the shape [batch, places]");
    if (attention && c.rankOf(attention) != 3)
      return c.error("an attention mask of " + c.own.layer.className +
                     " must have the shape [batch, targets, sources]");
    if (padding)
      padding = c.makeReshape(asMask(padding), {c.shapeOf(padding)[0], 1, c.shapeOf(padding)[1]});
    return makeAnd(c, padding, attention ? asMask(attention) : attention);
  }

  C &c;
  const Value sequence;
  const bool isNormalizedFirst;
  const int64_t intermediate;

private:
  /// Keras makes integers of masks first.
  Value asMask(Value mask) {
    if (mlir::isa<mlir::FloatType>(elementTypeOf(mask)))
      mask = c.make<CastOp>(mlir::RankedTensorType::get(c.shapeOf(mask), c.builder.getI32Type()),
                            mask);
    return c.makeBool(mask);
  }

  void copyInitializers(llvm::json::Object &config) {
    for (llvm::StringRef key : {"kernel_initializer", "bias_initializer"})
      if (const llvm::json::Value *value = c.own.layer.config.get(key))
        config[key] = *value;
  }
};

bool importEncoder(C &c, llvm::SmallVectorImpl<Value> &outputs) {
  TransformerBlock block(c, c.getTensor(0, "inputs"));
  Value padding = c.getTensor(1, "padding_mask"), given = c.getTensor(2, "attention_mask");
  if (c.getFlag(4, "return_attention_scores", false))
    c.error("'return_attention_scores' of TransformerEncoder gives no second result in Keras's "
            "graphs; take the scores of a MultiHeadAttention");
  if (c.hasFailed())
    return false;
  Value x = block.sequence, mask = block.mergeMasks(x, padding, given);
  x = block.around(kSelfNorm, 2, "self_attention_dropout", x, [&](Value y) {
    return block.attend({"_self_attention_layer", "self_attention_layer"}, 1, /*isCached=*/false, y,
                        y, mask);
  });
  return block.finish(x, /*normPosition=*/3, /*densePosition=*/4, outputs);
}

bool importDecoder(C &c, llvm::SmallVectorImpl<Value> &outputs) {
  TransformerBlock block(c, c.getTensor(0, "decoder_sequence"));
  Value encoded = c.getTensor(1, "encoder_sequence"),
        padding = c.getTensor(2, "decoder_padding_mask"),
        given = c.getTensor(3, "decoder_attention_mask"),
        otherPadding = c.getTensor(4, "encoder_padding_mask"),
        otherGiven = c.getTensor(5, "encoder_attention_mask");
  constexpr llvm::StringLiteral caches[] = {
      "self_attention_cache", "self_attention_cache_update_index", "cross_attention_cache",
      "cross_attention_cache_update_index"};
  for (const auto &[position, name] : llvm::enumerate(caches))
    if (!c.getArgument(6 + unsigned(position), name).empty() ||
        c.own.getLiteral(6 + unsigned(position), name))
      c.error("'" + name + "' of TransformerDecoder is not supported; call it without");
  const bool isCausal = c.getFlag(10, "use_causal_mask", true);
  // The shapes that the layer was built with say whether it attends to an encoder.
  if (c.own.layer.config.getArray("decoder_sequence_shape") &&
      bool(c.own.layer.config.getArray("encoder_sequence_shape")) != bool(encoded))
    c.error(encoded ? "TransformerDecoder was built without cross attention and is called with an "
                      "encoder's sequence"
                    : "TransformerDecoder was built with cross attention and is called without an "
                      "encoder's sequence");
  if (c.hasFailed())
    return false;
  Value x = block.sequence, mask = block.mergeMasks(x, padding, given);
  if (isCausal && !c.hasFailed())
    mask = makeAnd(c, mask, makeCausalMask(c, c.shapeOf(x)[1], c.shapeOf(x)[1]));
  if (c.hasFailed())
    return false;
  x = block.around(kSelfNorm, 2, "self_attention_dropout", x, [&](Value y) {
    return block.attend({"_self_attention_layer", "self_attention"}, 1, /*isCached=*/true, y, y,
                        mask);
  });
  if (x && encoded) {
    Value crossMask = block.mergeMasks(encoded, otherPadding, otherGiven);
    x = block.around(kCrossNorm, 4, "cross_attention_dropout", x, [&](Value y) {
      return block.attend({"_cross_attention_layer", "cross_attention"}, 3, /*isCached=*/true, y,
                          encoded, crossMask);
    });
  }
  return block.finish(x, /*normPosition=*/7, /*densePosition=*/5, outputs);
}

/// The real part of the transform over places and features, in float32.
Value mixPlaces(C &c, Value x) {
  Value wide = c.makeCastTo(x, c.builder.getF32Type());
  Spectrum features = transformReal(c, wide, c.shapeOf(x).back());
  if (!features)
    return {};
  llvm::SmallVector<int64_t> swapped = llvm::to_vector(llvm::seq<int64_t>(0, c.rankOf(x)));
  std::swap(swapped[swapped.size() - 1], swapped[swapped.size() - 2]);
  Spectrum turned{c.make<TransposeOp>(features.real, swapped),
                  c.make<TransposeOp>(features.imaginary, swapped)};
  Spectrum places = transformComplex(c, turned);
  return places ? c.makeCastLike(c.make<TransposeOp>(places.real, swapped), x) : Value();
}

bool importFNetEncoder(C &c, llvm::SmallVectorImpl<Value> &outputs) {
  TransformerBlock block(c, c.getTensor(0, "inputs"));
  if (c.hasFailed())
    return false;
  Value x = block.sequence, mixed = mixPlaces(c, x);
  if (!mixed)
    return false;
  Value y =
      block.normalize({"_mixing_layer_norm", "mixing_layer_norm"}, 1, c.make<AddOp>(x, mixed));
  if (!y)
    return false;
  Value forward =
      block.project({"_intermediate_dense", "intermediate_dense"}, 3, y, block.intermediate, true);
  forward = forward ? block.project({"_output_dense", "output_dense"}, 4, forward,
                                    c.shapeOf(x).back(), /*isActivated=*/false)
                    : forward;
  forward = forward ? block.drop("output_dropout", forward) : forward;
  if (!forward)
    return false;
  Value output =
      block.normalize({"_output_layer_norm", "output_layer_norm"}, 2, c.make<AddOp>(y, forward));
  if (!output)
    return false;
  outputs.push_back(output);
  return true;
}

constexpr LayerEntry kHubTransformerLayers[] = {
    compositeLayer("FNetEncoder", importFNetEncoder),
    compositeLayer("TransformerDecoder", importDecoder),
    compositeLayer("TransformerEncoder", importEncoder),
};

} // namespace

llvm::ArrayRef<LayerEntry> hubTransformerLayers() { return kHubTransformerLayers; }

} // namespace mpc::keras
