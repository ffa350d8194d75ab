# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functions of TensorFlow that Keras 2 records."""

import numpy
import tensorflow as tf
import tf_keras as keras

from .registry import case, normal

L = keras.layers


@case(keeps_weights=True)
def gamma_functions():
    """With their derivatives, which the bias before them takes."""
    x = L.Input((8,), name="x")
    y = L.LayerNormalization(epsilon=1e-3, center=False, scale=False)(x)
    inside = L.Dense(8, kernel_initializer="identity", bias_initializer="random_normal")(x)
    outputs = [tf.math.lgamma(inside), tf.math.digamma(inside), tf.math.lgamma(tf.abs(y)), L.Dense(2)(tf.math.digamma(tf.exp(y)))]
    model = keras.Model(x, outputs)
    model.compile(keras.optimizers.SGD(1e-6), "mae")
    values = numpy.array([[0.5, 1, 1.5, 2, 2.5, 3, 4.2, 7.9], [8, 8.1, 11, 20, 30, 40, 50, 0.3], [0.2, 0.25, 0.75, 1.02, 1.98, 1.4616, 5, 6.5],
                          [-0.3, -0.6, -1.3, -1.5, -2.3, -3.4, -2.6, 0.9]], "float32")  # fmt: skip
    return model, [values]


@case(form="json", keeps_weights=True)
def gamma_functions_at_poles():
    x = L.Input((8,), name="x")
    model = keras.Model(x, [tf.math.lgamma(x), tf.math.digamma(x), L.Dense(2)(x)])
    return model, [numpy.array([[0, -1, -2, numpy.inf, 1e-3, 20.0, numpy.nan, -1e8], [1, 2, -40.5, 33, 8.5, 0.5, 3, 35]], "float32")]
