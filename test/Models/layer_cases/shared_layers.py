# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers that are called several times, and layers as the activations of others."""

import keras
import numpy as np
from keras import layers
from layer_cases.registry import case, chain


@case("forward")
def shared_normalization_inference():
    """Inference renews nothing for the next call."""
    x = keras.Input((4,), name="x")
    shared = layers.BatchNormalization()
    tower = keras.Sequential([keras.Input((4,)), layers.Dense(3), layers.BatchNormalization()])
    return keras.Model(x, layers.Concatenate()([shared(x), shared(layers.Dense(4)(x)), tower(x), tower(2.0 * x)]))


@case("train", steps=3, optimizer="sgd")
def shared_normalization():
    """Calls of one layer at several depths, which Keras runs in its own order: the averages tell."""
    x = keras.Input((4,), name="x")
    shared, dense = layers.BatchNormalization(momentum=0.5), layers.Dense(4, use_bias=False)
    near = shared(x)
    far = layers.ReLU()(dense(shared(dense(near))))
    side = shared(layers.Activation("tanh")(x))
    return keras.Model(x, layers.Dense(2)(side * shared(far) + near))


@case("train", steps=3, optimizer="adam")
def shared_spectral_normalization():
    """The gradient is the sum over the kernels of all calls, and the regulariser sees the last."""
    x = keras.Input((4,), name="x")
    shared = layers.SpectralNormalization(layers.Dense(4, use_bias=False, kernel_regularizer="l2"))
    return keras.Model(x, layers.Dense(2)(shared(layers.ReLU()(shared(x))) + shared(x)))


def far_away(random, rows, shape):
    """Targets that make gradients of a few ten thousands."""
    return (1.2e6 + random.normal(size=(rows, *shape[1:]))).astype(np.float32)


@case("gradient", target=far_away)
def sums_of_calls_float16():
    """Each call casts the weights anew, so that its gradients, rounded to float16, are summed in float32."""
    half = dict(dtype="mixed_float16")
    x = keras.Input((4,), name="x")
    shared, scaled = layers.Dense(4, activation="sigmoid", **half), layers.Rescaling(0.5, **half)
    parts = [shared(x), shared(scaled(x)), shared(scaled(scaled(x))), shared(shared(x))]
    return keras.Model(x, layers.Concatenate(dtype="float32")(parts))


@case("gradient", target=far_away)
def sums_of_narrowings_float16():
    """Each layer casts its input anew: the gradients of a float32 tensor are summed in float32."""
    half = dict(dtype="mixed_float16")
    y = layers.Dense(4)(x := keras.Input((4,), name="x"))
    parts = [layers.Rescaling(factor, **half)(y) for factor in (0.75, 0.875, 1.0)]
    return keras.Model(x, layers.Concatenate(dtype="float32")(parts))


@case("gradient")
def activation_objects():
    x = keras.Input((5, 3), name="x")
    y = layers.Conv1D(4, 2, activation=layers.LeakyReLU(negative_slope=0.1))(x)
    y = layers.GRU(4, activation=layers.ELU(0.7), return_sequences=True)(y)
    y = layers.TimeDistributed(layers.Dense(4, activation=layers.ReLU(max_value=0.4, negative_slope=0.2, threshold=0.1)))(y)
    return keras.Model(x, layers.Activation(layers.Softmax(axis=1))(y))


@case("gradient")
def activation_objects_bfloat16():
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        return chain((6,), layers.Dense(8, activation=layers.LeakyReLU(negative_slope=0.3)), layers.Dense(4, activation=layers.Softmax()))
    finally:
        keras.config.set_dtype_policy("float32")


@case("file")
def quantized_attention():
    """Of quantize, the configs of the attentions' own layers say nothing, and Keras does not load what it saves."""
    x = keras.Input((5, 8), name="x")
    model = keras.Model(x, layers.GroupQueryAttention(4, 2, 1)(layers.MultiHeadAttention(2, 4)(x, x), x))
    model.quantize("int8", filters="query|key|value|output")
    return model


@case("file")
def quantized_attention_float8():
    x = keras.Input((5, 8), name="x")
    model = keras.Model(x, layers.MultiHeadAttention(2, 4)(x, x))
    model.quantize("float8", filters="query")
    return model


def attention_that_stores(change):
    """An attention whose query is stored otherwise than its layer holds it."""
    x = keras.Input((5, 8), name="x")
    attention = layers.MultiHeadAttention(2, 4, name="attention")
    model = keras.Model(x, attention(x, x))
    query = attention._query_dense
    query.save_own_variables = lambda store: change(store, [np.asarray(query.kernel), np.asarray(query.bias)])
    return model


def store_all(store, arrays):
    for number, array in enumerate(arrays):
        store[str(number)] = array


@case("file")
def attention_with_more():
    """As many arrays more as float8 has numbers, which are none of float8."""
    return attention_that_stores(lambda store, arrays: store_all(store, arrays + 6 * [np.zeros(3, np.float32)]))


@case("file")
def attention_of_integers():
    """A kernel of integers without scales."""
    return attention_that_stores(lambda store, arrays: store_all(store, [arrays[0].astype(np.int8), arrays[1]]))
