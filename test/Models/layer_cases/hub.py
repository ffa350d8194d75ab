# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of KerasHub 0.32."""

import keras
import keras_hub
from keras import layers
from layer_cases.registry import case

hub = keras_hub.layers


def ids():
    return keras.Input((10,), dtype="int32", name="x")


def embedded(x, **options):
    return hub.TokenAndPositionEmbedding(9, 12, 8, mask_zero=True, **options)(x)


@case("gradient")
def hub_masked_encoder():
    x = ids()
    y = hub.TransformerEncoder(12, 2)(embedded(x))
    return keras.Model(x, layers.Dense(3)(layers.GlobalAveragePooling1D()(hub.TransformerEncoder(12, 4, activation="gelu", normalize_first=True)(y))))


@case("train", steps=3, optimizer="adam_global")
def hub_masked_translation():
    x = ids()
    encoded = hub.TransformerEncoder(12, 2)(embedded(x))
    y = hub.TransformerDecoder(12, 2, normalize_first=True)(embedded(x[:, 2:8]), encoded)
    y = hub.TransformerDecoder(12, 2)(y, encoded, use_causal_mask=False)
    return keras.Model(x, layers.Dense(3)(y))


@case("gradient")
def hub_masked_bfloat16():
    x = ids()
    policies = keras.dtype_policies.DTypePolicyMap(default_policy="mixed_bfloat16")
    for path in ("encoder/self_attention_layer/query", "encoder/feedforward_intermediate_.*"):
        policies[path] = keras.DTypePolicy("float32")
    y = hub.TransformerEncoder(12, 2, dtype=policies, name="encoder")(embedded(x, dtype="mixed_bfloat16"))
    return keras.Model(x, hub.TransformerDecoder(12, 2, dtype="mixed_bfloat16")(y, decoder_padding_mask=x))


@case("gradient")
def hub_float16():
    x = ids()
    y = hub.TransformerDecoder(12, 2, dtype="mixed_float16")(embedded(x, dtype="mixed_float16"))
    return keras.Model(x, hub.FNetEncoder(12, activation="tanh", dtype="mixed_float16")(y))


@case("forward")
def hub_masked_long_decoder():
    """Attention with dropout of so many places that it is one op."""
    x = keras.Input((100,), dtype="int32", name="x")
    y = hub.TokenAndPositionEmbedding(9, 100, 8, mask_zero=True)(x)
    return keras.Model(x, layers.Dense(3)(hub.TransformerDecoder(12, 2, dropout=0.2)(hub.TransformerEncoder(12, 2, dropout=0.2)(y))))


@case("gradient")
def hub_tied_head():
    x = ids()
    embedding = layers.ReversibleEmbedding(9, 8)
    y = embedding(x)
    y = hub.FNetEncoder(12)(y + hub.PositionEmbedding(10)(y))
    return keras.Model(x, hub.MaskedLMHead(token_embedding=embedding, activation="softmax")(y, x[:, :3]))


@case("gradient")
def hub_head_bfloat16():
    x = ids()
    return keras.Model(x, hub.MaskedLMHead(9, intermediate_activation="gelu", dtype="mixed_bfloat16")(embedded(x), x[:, :3]))


@case("gradient")
def hub_positions():
    x = ids()
    y = layers.Embedding(9, 8)(x)
    heads = layers.Reshape((10, 2, 4))(y)
    places = hub.PositionEmbedding(14)
    turned = [hub.RotaryEmbedding()(heads), hub.RotaryEmbedding(rope_type="yarn", scaling_factor=4.0, original_max_position_embeddings=64)(heads, start_index=3),
              hub.RotaryEmbedding(rope_type="dynamic", scaling_factor=2.0, max_wavelength=100)(heads, positions=x)]  # fmt: skip
    y = layers.Add()([y, places(y), places(y, start_index=4), places(y, positions=x), layers.Reshape((10, 8))(layers.Add()(turned))])
    return keras.Model(x, layers.Dense(3)(y * hub.SinePositionEncoding()(y) + hub.SinePositionEncoding(max_wavelength=30)(y, start_index=2)))


@case("gradient")
def hub_positions_bfloat16():
    x = ids()
    y = layers.Embedding(9, 8)(x)
    y = layers.Add()([y, hub.SinePositionEncoding(dtype="bfloat16")(y), layers.Reshape((10, 8))(hub.RotaryEmbedding(dtype="bfloat16")(layers.Reshape((10, 2, 4))(y)))])
    return keras.Model(x, layers.Dense(3)(y))


@case("gradient")
def hub_attention():
    x = ids()
    y, scores = hub.CachedMultiHeadAttention(3, 4)(*2 * [layers.Embedding(9, 8, mask_zero=True)(x)], return_attention_scores=True)
    biased = layers.Permute((2, 1, 3))(hub.AlibiBias(alibi_bias_max=6)(scores))
    return keras.Model(x, layers.Concatenate()([y, layers.Reshape((10, 30))(biased)]))
