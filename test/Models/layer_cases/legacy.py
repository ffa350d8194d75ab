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


@case("forward", suffix=".h5")
def legacy_frozen():
    """The weights of a frozen layer are in the order of its layers, not trainable ones first."""
    x = keras.Input((3, 8, 8, 1), name="x")
    tower = keras.Sequential([
        keras.Input((8, 8, 1)), layers.Conv2D(2, 3), layers.BatchNormalization(), layers.Conv2D(3, 3), layers.BatchNormalization(),
        layers.GlobalMaxPooling2D(),
    ])  # fmt: skip
    critic = keras.Sequential([keras.Input((4,)), layers.SpectralNormalization(layers.Dense(3)), layers.SpectralNormalization(layers.Dense(2))])
    y = layers.SimpleRNN(4)(layers.TimeDistributed(tower)(x))
    model = keras.Model(x, critic(y))
    tower.trainable = critic.trainable = False
    return model


@case("forward", suffix=".h5", reads=False)
def legacy_operations():
    """What keras.ops recorded, which Keras writes like layers of these names and cannot read back."""
    x = keras.Input((5, 4), name="x")
    e = layers.Masking(0.0)(keras.ops.relu(x[:, :, 1:] - 0.5))
    inner = keras.Model(x, keras.ops.max(2.0 * x - 1.0, axis=1) ** 2.0)
    y = layers.Add()([layers.Dense(3)(e), 3.0 * e])
    return keras.Model(x, [layers.LSTM(2)(y), keras.ops.softmax(inner(x) / 4.0, axis=-1), keras.ops.cast(layers.Dense(2)(inner(x)) > 0.0, "int32") + 1])
