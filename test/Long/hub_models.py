# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of KerasHub's layers, and its backbones as Functional models, trained by real Keras and by mpc in three policies.

Case N is the same in every run: model N / 3 in policy N % 3.
Usage: hub_models.py BIN [CASES [FIRST]] [--keep FOLDER]
"""

import sys

import keras
import keras_hub
import numpy
from gallery import BATCH, ROWS, STEPS, classes, labelled, momentum, named, regression, sequences, softmax, tokens
from keras import layers
from real_keras import TOLERANCES, compare, main

hub = keras_hub.layers
VOCABULARY, LENGTH, WIDTH = 50, 8, 16


def ids(name="ids", length=LENGTH):
    return keras.Input((length,), dtype="int32", name=name)


def padding():
    """Sentences end with zeros; what counts is 1."""
    return (tokens(LENGTH, VOCABULARY) > 0).astype("int32")


def scored(model, *xs, shape):
    """Logits of the vocabulary."""
    model.compile(momentum(), keras.losses.SparseCategoricalCrossentropy(from_logits=True), run_eagerly=True)
    return model, {**named(xs), "y0": classes(VOCABULARY, shape)}


def pooled(x):
    return softmax(layers.GlobalAveragePooling1D()(x))


# ---- Keras's examples ---------------------------------------------------------------------------


def text_classification_with_transformer():
    x = ids()
    y = hub.TokenAndPositionEmbedding(VOCABULARY, LENGTH, WIDTH)(x)
    y = hub.TransformerEncoder(intermediate_dim=32, num_heads=2)(y)
    return labelled(keras.Model(x, pooled(y)), tokens(LENGTH, VOCABULARY))


def english_to_spanish():
    source, target = ids("source"), ids("target", LENGTH - 1)
    y = hub.TokenAndPositionEmbedding(VOCABULARY, LENGTH, WIDTH, mask_zero=True)(source)
    encoded = hub.TransformerEncoder(intermediate_dim=32, num_heads=2)(y)
    z = hub.TokenAndPositionEmbedding(VOCABULARY, LENGTH, WIDTH, mask_zero=True)(target)
    z = hub.TransformerDecoder(intermediate_dim=32, num_heads=2)(decoder_sequence=z, encoder_sequence=encoded)
    return labelled(keras.Model([source, target], softmax(z, VOCABULARY)), tokens(LENGTH, VOCABULARY), tokens(LENGTH - 1, VOCABULARY),
                    count=VOCABULARY, shape=(LENGTH - 1,))  # fmt: skip


def gpt_from_scratch():
    x = ids()
    y = hub.TokenAndPositionEmbedding(VOCABULARY, LENGTH, WIDTH, mask_zero=True)(x)
    for _ in range(2):
        y = hub.TransformerDecoder(num_heads=2, intermediate_dim=32)(y)
    return labelled(keras.Model(x, softmax(y, VOCABULARY)), tokens(LENGTH, VOCABULARY), count=VOCABULARY, shape=(LENGTH,))


def masked_language_model():
    x, places = ids(), ids("places", 3)
    embedding = keras.layers.ReversibleEmbedding(VOCABULARY, WIDTH, mask_zero=True)
    y = embedding(x)
    y = layers.LayerNormalization()(y + hub.PositionEmbedding(LENGTH)(y))
    y = hub.TransformerEncoder(32, 2, activation="gelu", normalize_first=True)(y)
    y = hub.MaskedLMHead(token_embedding=embedding, intermediate_activation="gelu", activation="softmax", dtype="float32")(y, mask_positions=places)
    return labelled(keras.Model([x, places], y), tokens(LENGTH, VOCABULARY), classes(LENGTH, (3,)), count=VOCABULARY, shape=(3,))


# ---- Layers and options -------------------------------------------------------------------------


def encoder_with_masks():
    x = keras.Input((LENGTH, WIDTH))
    mask, attention = ids("mask"), keras.Input((LENGTH, LENGTH), dtype="bool", name="attention")
    y = hub.TransformerEncoder(24, 4, activation="tanh", layer_norm_epsilon=1e-3, normalize_first=True)(x, padding_mask=mask, attention_mask=attention)
    y = hub.TransformerEncoder(24, 2)(y, padding_mask=mask)
    return regression(keras.Model([x, mask, attention], layers.Dense(3)(y)), sequences(LENGTH, 3), sequences(LENGTH, WIDTH), padding(),
                      numpy.random.uniform(size=(ROWS, LENGTH, LENGTH)) < 0.8)  # fmt: skip


def decoder_with_masks():
    x, other = keras.Input((LENGTH, WIDTH)), keras.Input((5, 12), name="other")
    mask = ids("mask")
    y = hub.TransformerDecoder(24, 2, normalize_first=True)(x, decoder_padding_mask=mask)
    y = hub.TransformerDecoder(24, 2, normalize_first=True)(y, layers.Masking()(other), use_causal_mask=False, decoder_padding_mask=mask)
    return regression(keras.Model([x, other, mask], layers.Dense(3)(y)), sequences(LENGTH, 3), sequences(LENGTH, WIDTH), sequences(5, 12), padding())


def shared_decoder():
    x = keras.Input((LENGTH, WIDTH))
    decoder = hub.TransformerDecoder(24, 2, activation=keras_hub.src.utils.keras_utils.gelu_approximate)
    return regression(keras.Model(x, layers.Dense(3)(decoder(decoder(x)))), sequences(LENGTH, 3), sequences(LENGTH, WIDTH))


def fnet():
    x = ids()
    y = hub.TokenAndPositionEmbedding(VOCABULARY, LENGTH, WIDTH)(x)
    for _ in range(2):
        y = hub.FNetEncoder(intermediate_dim=32)(y)
    return labelled(keras.Model(x, pooled(y)), tokens(LENGTH, VOCABULARY))


def positions():
    x, places = keras.Input((LENGTH, WIDTH)), ids("places")
    kinds = [hub.SinePositionEncoding(), hub.SinePositionEncoding(max_wavelength=50), hub.PositionEmbedding(20)]
    y = layers.Add()([kinds[0](x), kinds[1](x, start_index=3), kinds[2](x), kinds[2](x, start_index=7), kinds[2](x, positions=places),
                      kinds[1](x, positions=places)])  # fmt: skip
    return regression(keras.Model([x, places], layers.Dense(3)(y * x)), sequences(LENGTH, 3), sequences(LENGTH, WIDTH), classes(20, (LENGTH,)))


def rotations():
    x, places = keras.Input((LENGTH, WIDTH)), ids("places")
    heads = layers.Reshape((LENGTH, 2, WIDTH // 2))(layers.Dense(WIDTH)(x))
    turned = [hub.RotaryEmbedding()(heads), hub.RotaryEmbedding(max_wavelength=500, scaling_factor=2.0)(heads, start_index=5),
              hub.RotaryEmbedding(rope_type="dynamic", scaling_factor=4.0)(heads, positions=places),
              hub.RotaryEmbedding(rope_type="yarn", scaling_factor=8.0, original_max_position_embeddings=64)(heads),
              hub.RotaryEmbedding(rope_type="yarn", scaling_factor=2.0, truncate=False)(heads),
              hub.RotaryEmbedding(rope_type="none", denominator_dim=6)(heads),
              layers.Permute((2, 1, 3))(hub.RotaryEmbedding(sequence_axis=2)(layers.Permute((2, 1, 3))(heads)))]  # fmt: skip
    y = layers.Reshape((LENGTH, WIDTH))(layers.Average()(turned))
    y = layers.Add()([y, layers.Permute((2, 1))(hub.RotaryEmbedding(sequence_axis=-1, feature_axis=1)(layers.Permute((2, 1))(x)))])
    return regression(keras.Model([x, places], layers.Dense(3)(y)), sequences(LENGTH, 3), sequences(LENGTH, WIDTH), classes(20, (LENGTH,)))


def alibi_and_cached_attention():
    x = keras.Input((LENGTH, WIDTH))
    y = layers.Masking()(x)
    y, scores = hub.CachedMultiHeadAttention(3, 4, value_dim=5)(y, y, return_attention_scores=True)
    biased = layers.Softmax()(hub.AlibiBias(alibi_bias_max=6)(scores))
    y = layers.Concatenate()([y, layers.Reshape((LENGTH, 3 * LENGTH))(layers.Permute((2, 1, 3))(biased))])
    return regression(keras.Model(x, layers.Dense(3)(y)), sequences(LENGTH, 3), sequences(LENGTH, WIDTH))


def untied():
    x, places = ids(), ids("places", 3)
    y = hub.TokenAndPositionEmbedding(VOCABULARY, 2 * LENGTH, WIDTH, tie_weights=False, mask_zero=True)(x)
    y = hub.TransformerEncoder(24, 2, dropout=0.0)(y)
    # Under a policy of the whole model, which files do not hold, Keras leaves the head's own variables float32.
    y = hub.MaskedLMHead(VOCABULARY, layer_norm_epsilon=1e-3, dtype="float32")(y, places)
    return scored(keras.Model([x, places], y), tokens(LENGTH, VOCABULARY), classes(LENGTH, (3,)), shape=(3,))


def scores_of_tokens():
    x = ids()
    embedding = hub.ReversibleEmbedding(VOCABULARY, WIDTH, tie_weights=False, logit_soft_cap=5.0, reverse_dtype="float32")
    y = hub.TransformerDecoder(24, 2)(embedding(x))
    return scored(keras.Model(x, embedding(y, reverse=True)), tokens(LENGTH, VOCABULARY), shape=(LENGTH,))


# ---- Backbones as Functional models -------------------------------------------------------------


def functional(backbone):
    """The way that the documentation tells: the graph instead of the class and its arguments."""
    model = keras.Model(backbone.input, backbone.output)
    given = {"token_ids": lambda: tokens(LENGTH, VOCABULARY), "segment_ids": lambda: classes(2, (LENGTH,)), "padding_mask": padding}
    inputs = {key: keras.Input((LENGTH,), dtype="int32", name=key) for key in model.input}
    y = model(inputs)
    y = y["pooled_output"] if isinstance(y, dict) else y[:, 0]
    return labelled(keras.Model(list(inputs.values()), softmax(y)), *(given[key]() for key in inputs))


def bert():
    return functional(keras_hub.models.BertBackbone(VOCABULARY, 2, 2, WIDTH, 32, dropout=0.0, max_sequence_length=12))


def gpt2():
    return functional(keras_hub.models.GPT2Backbone(VOCABULARY, 2, 2, WIDTH, 32, dropout=0.0, max_sequence_length=12))


def distil_bert():
    return functional(keras_hub.models.DistilBertBackbone(VOCABULARY, 1, 2, WIDTH, 32, dropout=0.0, max_sequence_length=12))


def roberta():
    return functional(keras_hub.models.RobertaBackbone(VOCABULARY, 1, 2, WIDTH, 32, dropout=0.0, max_sequence_length=12))


def albert():
    return functional(keras_hub.models.AlbertBackbone(VOCABULARY, 2, 2, 8, WIDTH, 32, dropout=0.0, max_sequence_length=12))


def fnet_backbone():
    return functional(keras_hub.models.FNetBackbone(VOCABULARY, 1, WIDTH, 32, dropout=0.0, max_sequence_length=12))


MODELS = [text_classification_with_transformer, english_to_spanish, gpt_from_scratch, masked_language_model, encoder_with_masks, decoder_with_masks,
          shared_decoder, fnet, positions, rotations, alibi_and_cached_attention, untied, scores_of_tokens, bert, gpt2, distil_bert, roberta, albert,
          fnet_backbone]  # fmt: skip


def check(number, tools, folder):
    make, policy = MODELS[number // 3], list(TOLERANCES)[number % 3]
    keras.utils.set_random_seed(number)
    keras.config.set_dtype_policy(policy)
    model, data = make()
    return compare(model, data, policy, f"model {number} {policy} {make.__name__}", tools, folder, STEPS, BATCH)


if __name__ == "__main__":
    sys.exit(main(check, __doc__, 3 * len(MODELS)))
