# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masks and steps as layers of Keras 2 pass them on."""

import tf_keras as keras

from .registry import case, ids, normal

L = keras.layers


@case()
def masks_stay_behind_attention():
    """Each layer finds the masks of its inputs, whatever layers took them before."""
    q, v = L.Input((5,), name="q"), L.Input((4,), name="v")
    query, value = L.Embedding(9, 4, mask_zero=True)(q), L.Embedding(9, 4, mask_zero=True)(v)
    outputs = [L.MultiHeadAttention(2, 3)(query, value), L.Attention()([query, value]), L.AdditiveAttention()([query, value])]
    return keras.Model([q, v], [L.GlobalAveragePooling1D()(output) for output in outputs]), [ids(4, 5, 5), ids(4, 5, 4)]


@case()
def steps_that_are_masked_as_a_whole():
    x = L.Input((4, 5), name="x")
    y = L.TimeDistributed(L.LSTM(3))(L.TimeDistributed(L.Embedding(7, 3, mask_zero=True))(x))
    model = keras.Model(x, L.GRU(2)(y))
    model.compile(keras.optimizers.SGD(0.05), "mse")
    rows = ids(7, 3, 4, 5)
    rows[:, :, 3:], rows[0, 2:], rows[1, 1] = 0, 0, 0
    return model, [rows]


@case()
def statistics_of_all_steps():
    """TimeDistributed hands all steps to the layer at once."""
    x, y = L.Input((3, 6, 5, 2), name="x"), L.Input((4, 3), name="y")
    images = L.TimeDistributed(L.BatchNormalization())(L.TimeDistributed(L.Conv2D(3, 3))(x))
    model = keras.Model([x, y], [L.TimeDistributed(L.GlobalAveragePooling2D())(images), L.TimeDistributed(L.BatchNormalization())(y)])
    model.compile(keras.optimizers.SGD(0.05), "mse")
    return model, [normal(4, 3, 6, 5, 2), normal(4, 4, 3)]
