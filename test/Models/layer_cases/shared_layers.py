# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers that are called several times."""

import keras
from keras import layers
from layer_cases.registry import case


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
