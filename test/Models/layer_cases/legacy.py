# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers inside layers in the legacy format."""

import keras
from keras import layers
from layer_cases.registry import case


@case("forward", suffix=".h5")
def legacy_wrappers():
    x = keras.Input((5, 4), name="x")
    y = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(x)
    y = layers.MultiHeadAttention(2, 3)(y, y)
    y = layers.RNN(layers.GRUCell(3), return_sequences=True)(y)
    inner = keras.Sequential([keras.Input((3,)), layers.Dense(3), layers.BatchNormalization()])
    y = layers.TimeDistributed(inner)(y)
    return keras.Model(x, layers.ConvLSTM1D(2, 2)(layers.Reshape((5, 3, 1))(y)))
