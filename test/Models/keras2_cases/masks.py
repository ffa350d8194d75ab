# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Masks and steps as layers of Keras 2 pass them on."""

import tf_keras as keras

from .registry import case, flags, ids, normal

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


@case(form="h5")
def scores_beside_a_loss():
    """The dictionary of losses names one of two outputs; the scores have a mask of their own."""
    x = L.Input((6,), name="x")
    e = L.Embedding(7, 4, mask_zero=True)(x)
    y, scores = L.MultiHeadAttention(2, 3)(e, e, return_attention_scores=True)
    model = keras.Model(x, [L.Dense(2, name="head")(y), scores])
    model.compile(keras.optimizers.SGD(0.1), {"head": "mse"})
    return model, [ids(7, 5, 6)], [normal(5, 6, 2)]


@case(form="h5", trains=False)
def scores_with_a_loss():
    """Keras compiles it, and fails when it trains: the scores' mask has more dimensions than their losses."""
    q, v, a = L.Input((5, 6), name="q"), L.Input((4, 7), name="v"), L.Input((5, 4), name="a", dtype="bool")
    outputs = L.MultiHeadAttention(2, 3, value_dim=4)(q, v, attention_mask=a, return_attention_scores=True)
    model = keras.Model([q, v, a], outputs)
    model.compile("sgd", "mse")
    return model, [normal(3, 5, 6), normal(3, 4, 7), flags(3, 5, 4)]
