# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Numbers that formulas of Keras 2 add or bound by, where these show."""

import numpy
import tf_keras as keras

from .registry import case, normal

L = keras.layers


@case(form="h5")
def vectors_of_next_to_nothing():
    """They are divided by 1e-6 at least."""
    x, y = L.Input((4,), name="x"), L.Input((4,), name="y")
    model = keras.Model([x, y], [L.UnitNormalization()(x), L.Dot(1, normalize=True)([x, y])])
    sizes = numpy.array([[1], [1e-5], [3e-7], [1e-8], [0]], "float32")
    return model, [sizes * normal(5, 4), normal(5, 4)]


@case(form="h5", keeps_weights=True, evaluates=5)
def similarity_of_vectors_of_next_to_nothing():
    x = L.Input((3,), name="x")
    model = keras.Model(x, L.Dense(3, use_bias=False, kernel_initializer="identity")(x))
    model.compile(keras.optimizers.SGD(1e-14), "cosine_similarity", metrics=["cosine_similarity"])
    sizes = numpy.array([[1], [1e-5], [3e-7], [2e-8], [1e-6]], "float32")
    return model, [sizes * normal(5, 3)], [normal(5, 3)]


@case(form="h5", keeps_weights=True, evaluates=6)
def cross_entropy_of_certain_answers():
    """The logarithm of 0, which no sigmoid gives: epsilon is added after the probabilities were clipped. Of 1 there is
    none here, where TensorFlow's graphs round otherwise than its operations."""
    x = L.Input((4,), name="x")
    model = keras.Model(x, L.Dense(2, activation="hard_sigmoid", kernel_initializer=keras.initializers.Constant(-0.5))(x))
    model.compile(keras.optimizers.SGD(0.01), "binary_crossentropy", metrics=["binary_crossentropy", "mse"])
    return model, [3 * numpy.abs(normal(6, 4))], [(normal(6, 2) > 0).astype("float32")]
