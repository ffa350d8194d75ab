# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Keras models that tf2onnx writes otherwise than PyTorch's exporter does: recurrences become loops, heads have biases of
their own, images turn around. Needs Keras on TensorFlow."""

import keras
from keras import layers, ops


def convolutional_recurrence():
    x = keras.Input((4, 6, 6, 2))
    return keras.Model(x, layers.ConvLSTM2D(3, 3, padding="same")(x))


def recurrences_of_both_ways():
    x = keras.Input((7, 5))
    y = layers.Bidirectional(layers.GRU(6, return_sequences=True))(x)
    y = layers.SimpleRNN(5, go_backwards=True, return_sequences=True)(y)
    y = layers.GRU(4, reset_after=False, return_sequences=True)(y)
    return keras.Model(x, layers.TimeDistributed(layers.Dense(3))(y))


def masked_recurrence():
    ids = keras.Input((9,), dtype="int32")
    y = layers.Embedding(20, 6, mask_zero=True)(ids)
    y = layers.Bidirectional(layers.LSTM(5, return_sequences=True))(y)
    return keras.Model(ids, layers.Dense(3)(layers.Bidirectional(layers.LSTM(4))(y)))


def padded_attention():
    ids, given = keras.Input((8,), dtype="int32"), keras.Input((8,), dtype="int32")
    y = layers.Embedding(20, 12)(ids) + layers.Embedding(8, 12)(ops.cumsum(ops.ones_like(ids), 1) - 1)
    mask = ops.expand_dims(given > 9, 1)
    for _ in range(2):
        y = layers.LayerNormalization()(y + layers.MultiHeadAttention(3, 4)(y, y, attention_mask=mask))
        y = layers.LayerNormalization()(y + layers.Dense(12)(layers.Dense(16, "silu")(y)))
    return keras.Model([ids, given], layers.Dense(4)(y[:, 0]))


def convolutions_of_steps():
    x = keras.Input((16, 4))
    y = layers.Conv1D(8, 3, padding="causal", dilation_rate=2, activation="swish")(x)
    y = layers.AveragePooling1D(2)(layers.SeparableConv1D(6, 3)(y))
    y = layers.PReLU()(layers.Dense(10)(layers.Flatten()(y)))
    return keras.Model(x, layers.Dense(3)(y))


def joined_images():
    x = keras.Input((12, 12, 2))
    fine = layers.Conv2D(4, 3, padding="same", activation="relu")(x)
    y = layers.Conv2D(8, 3, padding="same", activation="elu")(layers.MaxPooling2D()(fine))
    y = layers.Concatenate()([fine, layers.UpSampling2D(interpolation="bilinear")(y)])
    y = layers.Conv2DTranspose(3, 3, 2, "same")(y)
    return keras.Model(x, layers.Dense(2)(layers.GlobalAveragePooling2D()(layers.DepthwiseConv2D(3, 2)(y))))


# The model, what its inputs are (draws.py), its target: "classes" or "numbers", its shape, their count.
CASES = {
    "keras_convolutional_recurrence": (convolutional_recurrence, [[4, 6, 6, 2]], ("numbers", [6, 6, 3], None)),
    "keras_recurrences_of_both_ways": (recurrences_of_both_ways, [[7, 5]], ("classes", [7], 3)),
    "keras_masked_recurrence": (masked_recurrence, [([9], 20)], ("classes", [], 3)),
    "keras_padded_attention": (padded_attention, [([8], 20), ([8], 20)], ("classes", [], 4)),
    "keras_convolutions_of_steps": (convolutions_of_steps, [[16, 4]], ("classes", [], 3)),
    "keras_joined_images": (joined_images, [[12, 12, 2]], ("classes", [], 2)),
}  # fmt: skip
