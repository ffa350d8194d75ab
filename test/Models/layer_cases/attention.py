# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Attention with as many scores as mpc-form-attention wants of a head on a CPU."""

import keras
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
