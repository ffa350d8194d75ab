# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention with as many scores as mpc-form-attention wants of a head on a CPU."""

import keras
import numpy as np
from keras import layers
from layer_cases.registry import case


def long_attention_model(policy):
    """Two blocks of targets, widths that are no multiple of anything; heads, one head, a causal mask."""
    keras.config.set_dtype_policy(policy)
    try:
        x = keras.Input((100, 6), name="x")
        # The gradient of a key's bias is nothing but roundings.
        y = layers.MultiHeadAttention(2, 5, value_dim=3, use_bias=False)(x, x, use_causal_mask=True)
        z = layers.Dense(6, activation="relu")(x)
        y = layers.Attention()([layers.Rescaling(0.2)(y), layers.Add()([x, z])])
        return keras.Model(x, layers.Activation("tanh", dtype="float32")(layers.MultiHeadAttention(1, 7, use_bias=False)(y, x)))
    finally:
        keras.config.set_dtype_policy("float32")


@case("gradient", rows=2)
def long_attention():
    return long_attention_model("float32")


@case("gradient", rows=2)
def long_attention_bfloat16():
    return long_attention_model("mixed_bfloat16")


@case("gradient", rows=2)
def long_attention_float16():
    return long_attention_model("mixed_float16")


def masked_long_attention_model(policy):
    """Padding of targets and sources, with a causal mask and without one, and of sources alone; places that see nothing."""
    keras.config.set_dtype_policy(policy)
    try:
        ids = keras.Input((100,), name="x", dtype="int32")
        x = layers.Embedding(9, 6, mask_zero=True)(ids)
        # A softmax of a few sources: means of many would cancel out, and be nothing but roundings in 16 bits.
        q = layers.Rescaling(8.0)(x)
        plain = layers.Dense(6, activation="relu")(layers.Embedding(9, 6)(ids))
        y = layers.MultiHeadAttention(2, 5, value_dim=3, use_bias=False)(q, x, use_causal_mask=True)
        z = layers.MultiHeadAttention(2, 5, use_bias=False)(q, x)
        w = layers.MultiHeadAttention(1, 7, use_bias=False)(layers.Rescaling(8.0)(plain), x)
        return keras.Model(ids, layers.Activation("tanh", dtype="float32")(layers.Add()([y, z, w])))
    finally:
        keras.config.set_dtype_policy("float32")


@case("gradient", rows=3)
def masked_long_attention():
    return masked_long_attention_model("float32")


# Not in bfloat16: TensorFlow sums the gradients of kernels over 300 places in bfloat16 itself, 25 % and more off.
@case("gradient", rows=3)
def masked_long_attention_float16():
    return masked_long_attention_model("mixed_float16")


def dropped_long_attention_model(policy):
    """Dropout is configured, so that Keras computes attention op by op; nothing is dropped in a prediction."""
    keras.config.set_dtype_policy(policy)
    try:
        x = keras.Input((100, 6), name="x")
        y = layers.MultiHeadAttention(2, 5, value_dim=3, dropout=0.3)(x, x)
        z = layers.GroupQueryAttention(6, 4, 2, dropout=0.5)(x, x)
        w = layers.Attention(dropout=0.4)([layers.Rescaling(0.2)(x), x])
        return keras.Model(x, layers.Activation("tanh", dtype="float32")(layers.Add()([y, z, w])))
    finally:
        keras.config.set_dtype_policy("float32")


@case("forward", rows=2)
def dropped_long_attention():
    return dropped_long_attention_model("float32")


# Not in bfloat16: Keras's scores, rounded to it, leave 0.06 of its own float32 results.
@case("forward", rows=2)
def dropped_long_attention_float16():
    return dropped_long_attention_model("mixed_float16")


def softmax_masked_long_attention_model(policy):
    """As masked_long_attention, written with the Softmax layer, which masks in its own way; a causal mask alone, padding, and both."""
    keras.config.set_dtype_policy(policy)
    try:
        ids = keras.Input((100,), name="x", dtype="int32")
        x = layers.Embedding(9, 6)(ids)
        counts = keras.ops.expand_dims(keras.ops.not_equal(ids, 0), 1)
        causal = keras.ops.expand_dims(keras.ops.greater_equal(keras.ops.expand_dims(keras.ops.arange(100), 1), keras.ops.arange(100)), 0)
        results = []
        for mask in (counts, causal, keras.ops.logical_and(counts, causal)):
            # A softmax of a few sources: means of many would cancel out, and be nothing but roundings in 16 bits.
            query, key, value = (layers.Dense(5, use_bias=False)(layers.Rescaling(scale)(x)) for scale in (8.0, 1.0, 1.0))
            weights = layers.Softmax()(layers.Dot(2)([query, key]), mask=mask)
            results.append(layers.Dot((2, 1))([weights, value]))
        return keras.Model(ids, layers.Activation("tanh", dtype="float32")(layers.Add()(results)))
    finally:
        keras.config.set_dtype_policy("float32")


@case("gradient", rows=3)
def softmax_masked_long_attention():
    return softmax_masked_long_attention_model("float32")


@case("gradient", rows=3)
def softmax_masked_long_attention_float16():
    return softmax_masked_long_attention_model("mixed_float16")


def dropped_masked_long_attention_model(policy):
    """Causal masks and padding with dropout, which Keras computes op by op; nothing is dropped in a prediction."""
    keras.config.set_dtype_policy(policy)
    try:
        ids = keras.Input((100,), name="x", dtype="int32")
        x = layers.Embedding(9, 6, mask_zero=True)(ids)
        y = layers.MultiHeadAttention(2, 5, value_dim=3, dropout=0.3)(x, x, use_causal_mask=True)
        plain = layers.Embedding(9, 6)(ids)
        z = layers.MultiHeadAttention(1, 7, dropout=0.3)(plain, plain, use_causal_mask=True)
        w = layers.GroupQueryAttention(6, 4, 2, dropout=0.5)(plain, layers.Embedding(9, 6, mask_zero=True)(ids))
        return keras.Model(ids, layers.Activation("tanh", dtype="float32")(layers.Add()([y, z, w])))
    finally:
        keras.config.set_dtype_policy("float32")


@case("forward", rows=3)
def dropped_masked_long_attention():
    return dropped_masked_long_attention_model("float32")


@case("forward", rows=3)
def dropped_masked_long_attention_float16():
    return dropped_masked_long_attention_model("mixed_float16")


# run.py knows what it computes, whatever it drops.
@case("file")
def dropped_attention():
    x, e = keras.Input((100, 6), name="x"), keras.Input((100, 100), name="e")
    return keras.Model([x, e], layers.Attention(dropout=0.3)([x, e, x]))


@case("forward")
def repeated_constant_masks():
    """Masks of all targets or all sources alike, which are not causality, however the first rows look."""
    x = keras.Input((96, 8), name="x")
    first = np.zeros((1, 1, 1, 96), bool)
    first[..., 0] = True
    y = layers.Add()([layers.MultiHeadAttention(2, 4)(x, x, attention_mask=mask)
                      for mask in (first, np.ones((1, 1, 1, 1), bool), np.ones((1, 1, 96, 1), bool))])
    scores = keras.ops.einsum("btd,bsd->bts", x, y) * 0.35
    z = keras.ops.matmul(keras.ops.softmax(keras.ops.where(first[0, 0], scores, -1e35)), y)
    return keras.Model(x, layers.Dense(2)(layers.Flatten()(layers.Add()([y, z]))))


@case("gradient")
def attention_of_planes():
    """Attention within each plane of [batch, planes, places, width]: by products, by sums, with masks of places and of time."""
    e = keras.Input((2, 6, 4), name="x")
    x = layers.Dense(4, activation="relu")(e[:, :, 1:])
    masked = layers.TimeDistributed(layers.Dense(4))(layers.Masking()(keras.ops.relu(e)))
    # Keras takes masks of sources in causal attention alone here.
    y = layers.Attention(use_scale=True)([x, e], use_causal_mask=True)
    z = layers.AdditiveAttention()([x, masked, e], use_causal_mask=True)
    w = layers.Attention(score_mode="concat")([x, e], mask=[x[..., 0] > 0.1, None])
    return keras.Model(e, layers.Activation("tanh")(layers.Add()([y, z, w])))
