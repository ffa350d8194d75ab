# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masks, losses, categories and images."""

import keras
import numpy as np
from keras import layers
from layer_cases.registry import case, chain


@case("gradient")
def attention_value_mask():
    x = keras.Input((4, 3), name="x")
    y = layers.Attention()([layers.Dense(3)(x), x], mask=[None, x[:, :, 0] > 0.0])
    return keras.Model(x, y)


@case("gradient")
def attention_takes_masks():
    """call() of MultiHeadAttention takes the masks off its inputs: the Add finds none, and what attends to its sum sees all places."""
    x = keras.Input((6, 3), name="x")
    e = layers.Masking(0.0)(keras.ops.relu(x - 0.5))
    a = layers.MultiHeadAttention(2, 2, value_dim=3, use_bias=False)(e, e)
    y = layers.LayerNormalization()(layers.Add()([e, a]))
    return keras.Model(x, layers.GroupQueryAttention(2, 2, 1, use_bias=False)(y, y))


@case("gradient")
def attention_takes_masks_of_later_layers():
    """Of layers that read one tensor, those that Keras runs after a MultiHeadAttention find no mask, and after a model that is called with one, that."""
    x = keras.Input((6, 3), name="x")
    y = keras.ops.relu(x - 0.5)
    e = layers.Masking(0.0)(y)
    attend = lambda *tensors: layers.MultiHeadAttention(1, 2, value_dim=3, use_bias=False)(*tensors)
    grouped = layers.LSTM(2)(layers.GroupQueryAttention(2, 2, 1, use_bias=False)(e, e))
    parts = [layers.LSTM(2)(attend(e, y)), layers.Flatten()(attend(y, e)), grouped, layers.LSTM(2)(layers.Dense(2)(e))]
    z = 2.0 * x
    inner = keras.Input((6, 3))
    called = keras.Model(inner, layers.LSTM(2)(inner))(z, mask=x[:, :, 0] > 0.0)
    return keras.Model(x, layers.Concatenate()([*parts, layers.LSTM(2)(z), called, layers.SimpleRNN(2)(layers.Dense(2)(z))]))


@case("gradient")
def masked_batch_normalization():
    x = keras.Input((5, 3), name="x")
    y = layers.Masking(0.0)(keras.ops.relu(x - 0.5))
    return keras.Model(x, layers.LSTM(2)(layers.BatchNormalization(momentum=0.5)(layers.Dense(3, use_bias=False)(y))))


@case("gradient")
def time_distributed_activity():
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(3, activity_regularizer="l2"), layers.Dense(2, activity_regularizer="l1")])
    return chain((5, 4), layers.TimeDistributed(inner))


@case("forward")
def discretization():
    return chain((4,), layers.Discretization([-0.5, 0.0, 0.7]), layers.Embedding(4, 3))


@case("forward")
def category_planes():
    """Counts of inputs with several feature dimensions go over the first of them."""
    x = keras.Input((3, 2), name="x")
    counts = [layers.Discretization([-0.5, 0.0, 0.7], output_mode=mode)(x) for mode in ("count", "multi_hot", "one_hot")]
    return keras.Model(x, counts)


@case("forward", rows=12, values=[12, -5, 36, 99, 7, 0, 1, 2, 3, -17, 2**53, 2**53 + 1, -(2**63), 2**63 - 2])
def integer_lookup():
    x = keras.Input((5,), name="x", dtype="int64")
    tokens = [12, -5, 2**53 + 1, 99, -17]
    lookup = lambda **options: layers.IntegerLookup(**{"vocabulary": tokens, **options})
    places = lookup()(x)
    return keras.Model(x, [places, lookup(mask_token=7)(x), lookup(mask_token=7, output_mode="multi_hot")(x), lookup(num_oov_indices=3)(x),
                           lookup(num_oov_indices=2, mask_token=7, output_mode="one_hot")(x), lookup(max_tokens=10, pad_to_max_tokens=True, output_mode="count")(x),
                           lookup(vocabulary=[7, -1, 36, 2, 3], mask_token=7)(x), lookup(invert=True)(places), lookup(invert=True, mask_token=7)(places),
                           layers.Embedding(6, 2)(places), layers.Dense(2)(lookup(output_mode="count")(x))])


@case("gradient")
def resized_nearest_float16():
    return chain((5, 4, 2), layers.Conv2D(2, 1, dtype="mixed_float16"), layers.Resizing(8, 4, interpolation="nearest", dtype="mixed_float16"),
                 layers.Activation("linear", dtype="float32"))


def constant_arguments_model(policy):
    """Arrays of NumPy and tensors that no layer computed, in the calls of layers."""
    keras.config.set_dtype_policy(policy)
    try:
        x = keras.Input((5, 4), name="x")
        seen = np.tril(np.ones((1, 5, 5), bool))
        y = layers.MultiHeadAttention(2, 3, use_bias=False)(x, x, attention_mask=seen)
        z = layers.Attention()([x, x], mask=[None, np.array([[True, False, True, True, False]])])
        w = layers.Softmax()(layers.Dot(2)([x, x]), mask=keras.ops.convert_to_tensor(seen))
        steps = layers.LSTM(4, return_sequences=True)(x, mask=np.array([[True, True, False, True, False]]))
        # In float64: the layer casts it.
        sums = layers.Add()([y, np.linspace(-1.001, 1.003, 20).reshape(1, 5, 4)])
        products = layers.Multiply()([z, keras.ops.linspace(0.501, 1.503, 4)[None, None]])
        # Without masks: those of one sample are in the way of those of the batch.
        results = [layers.Reshape((-1,))(result) for result in (sums, products, w, steps)]
        return keras.Model(x, layers.Concatenate(dtype="float32")(results))
    finally:
        keras.config.set_dtype_policy("float32")


@case("gradient")
def constant_arguments():
    return constant_arguments_model("float32")


@case("gradient")
def constant_arguments_float16():
    return constant_arguments_model("mixed_float16")


@case("forward")
def softmax_masks_of_numbers():
    """More than a half counts; in integers, which have no half, more than 0."""
    x = keras.Input((5, 4), name="x")
    masks = [x, np.array([0.25, 0.5, 0.75, 1.0], "float32"), np.array([[3, 0, -2, 1]], "int32"), np.array([[255, 0, 1, 2]], "uint8")]
    return keras.Model(x, [layers.Softmax()(x, mask=mask) for mask in masks])


@case("forward")
def masks_by_position_of_one_input():
    """Keras looks for a mask that passes on among the keywords alone: behind a mask by position comes the input's own."""
    ids = keras.Input((5,), dtype="int32", name="x")
    x = layers.Embedding(50, 4, mask_zero=True)(ids)
    mask = ids > 2
    hidden = layers.Softmax(axis=1)(x, ids[:, :, None] > 2)
    return keras.Model(ids, [hidden, layers.GlobalAveragePooling1D()(hidden), layers.GlobalAveragePooling1D()(x, mask),
                             layers.GlobalAveragePooling1D()(inputs=x, mask=mask), layers.Softmax()(inputs=x, mask=ids[:, :, None] > 1)])


@case("gradient")
def masks_by_position():
    """MultiHeadAttention takes the query's own mask, whatever it is given."""
    x = keras.Input((5, 3), name="x")
    state, mask = layers.Dense(2)(x[:, 0]), x[:, :, 0] > -0.5
    parts = [layers.LSTM(2)(x, [state, state], mask), layers.GRU(2)(x, state, mask), layers.Bidirectional(layers.GRU(2))(x, [state, state], mask),
             layers.RNN(layers.SimpleRNNCell(2))(x, state, mask), layers.RNN([layers.GRUCell(2), layers.SimpleRNNCell(2)])(x, [state, state], mask)]
    attended = [layers.MultiHeadAttention(1, 2, use_bias=False)(x, x, x, mask, mask), layers.GroupQueryAttention(2, 2, 1, use_bias=False)(x, x, x, mask, mask)]
    return keras.Model(x, layers.Concatenate()(parts + [layers.Reshape((15,))(y) for y in attended]))


@case("gradient")
def flags_that_are_numbers():
    """Python takes 1 for True."""
    x = keras.Input((4, 3), name="x")
    y = layers.Dense(3)(x)
    seen, scores = layers.Attention()([x, y], return_attention_scores=1, use_causal_mask=1)
    attended = layers.MultiHeadAttention(2, 3, use_bias=False)(x, y, use_causal_mask=1.0)
    grouped = layers.GroupQueryAttention(2, 2, 1, use_bias=False)(x, y, use_causal_mask=0)
    table = layers.ReversibleEmbedding(5, 3)
    parts = [seen, scores, attended, grouped, table(keras.ops.cast(x[:, 0] > 0.0, "int32"), reverse=0), table(y, reverse=1)]
    return keras.Model(x, layers.Concatenate()([layers.Flatten()(part) for part in parts]))


@case("gradient")
def masked_spectral_normalization():
    """It supports no masks, and destroys none: the LSTM finds that of what Dense returned."""
    x = keras.Input((5, 3), name="x")
    y = layers.Masking(0.0)(keras.ops.relu(x - 0.5))
    return keras.Model(x, layers.LSTM(2)(layers.SpectralNormalization(layers.Dense(3))(y)))


@case("forward")
def spectral_normalization_of_ids():
    """The result has the dtype of the ids; the mask is lost in the cast."""
    x = keras.Input((5,), name="x", dtype="int32")
    y = layers.SpectralNormalization(layers.Embedding(9, 3, mask_zero=True))(x)
    return keras.Model(x, [y, layers.LSTM(2)(y)])
