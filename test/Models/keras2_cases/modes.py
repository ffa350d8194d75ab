# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Calls that say `training`, which hold whatever the model does."""

import tf_keras as keras

from .registry import case, normal

L = keras.layers


def compiled(inputs, outputs):
    model = keras.Model(inputs, outputs)
    model.compile(keras.optimizers.SGD(0.05), "mse")
    return model


@case(form="h5")
def calls_for_inference():
    """Also in training moving statistics count and stay, and nothing is random; a call inside may say otherwise."""
    base = keras.Sequential([L.Input((6,)), L.BatchNormalization(momentum=0.7), L.Dropout(0.5), L.GaussianNoise(1.0), L.Dense(4)], name="base")
    a = L.Input((4,))
    y = L.BatchNormalization(momentum=0.6, name="obeys")(a)
    y = L.BatchNormalization(momentum=0.6, name="own")(y, training=True)
    inner = keras.Model(a, L.AlphaDropout(0.4)(L.Dense(4)(y)), name="inner")
    x = L.Input((6,), name="x")
    y = inner(base(x, training=False), training=False)
    y = L.BatchNormalization(momentum=0.6, name="as_the_model")(L.Dropout(0.5)(y, False))
    return compiled(x, L.Dense(2)(y)), [normal(8, 6) * 3 + 2]


@case()
def calls_for_inference_in_an_archive():
    """Layers of images and steps, and a shared one whose other call trains."""
    images = L.Input((4, 6, 2), name="images")
    shared = L.BatchNormalization(momentum=0.7, name="shared")
    y = L.RandomFlip()(L.RandomContrast(0.5)(images, training=False), training=False)
    y = shared(shared(L.Conv2D(2, 2)(y)), training=False)
    y = L.Reshape((5, 6))(y)
    y = L.LSTM(3, dropout=0.5, recurrent_dropout=0.5, return_sequences=True)(y, training=False)
    y = L.TimeDistributed(L.BatchNormalization(momentum=0.7))(y, training=False)
    y = L.MultiHeadAttention(2, 3, dropout=0.5)(y, y, training=False)
    y = L.Bidirectional(L.GRU(2, dropout=0.5))(y, training=False)
    y = L.BatchNormalization(momentum=0.7, renorm=True)(y, training=0)
    return compiled(images, L.Dense(2)(y)), [normal(4, 4, 6, 2)]


@case(form="h5")
def calls_for_training():
    """Predictions, too, take the batch's statistics, but of a layer that is frozen."""
    base = keras.Sequential([L.Input((6,)), L.BatchNormalization(momentum=0.7), L.Dense(4)], name="base")
    x = L.Input((6,), name="x")
    y = L.BatchNormalization(momentum=0.6, trainable=False)(base(x, training=True), training=True)
    y = L.Dropout(0.0)(L.BatchNormalization(momentum=0.6)(y), training=True)
    return compiled(x, L.Dense(2)(y)), [normal(8, 6) * 3 + 2]
