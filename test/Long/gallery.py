# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The models that Keras's own code examples build, small, trained by real Keras and by mpc in three policies.

Other than there, what a BatchNormalization takes has no bias: its gradient would be nothing but rounding noise.
Case N is the same in every run: example N / 3 in policy N % 3.
Usage: gallery.py BIN [CASES [FIRST]] [--keep FOLDER]
"""

import sys

import keras
import numpy
from keras import layers, ops
from real_keras import TOLERANCES, compare, main

BATCH, STEPS = 4, 3
ROWS = BATCH * STEPS


def images(size, channels=3, rows=ROWS):
    return numpy.random.uniform(size=(rows, size, size, channels)).astype("float32")


def sequences(length, features, rows=ROWS):
    return numpy.random.normal(size=(rows, length, features)).astype("float32")


def tokens(length, vocabulary, rows=ROWS):
    """Sentences, some of which end with zeros."""
    ids = numpy.random.randint(1, vocabulary, size=(rows, length)).astype("int32")
    for row, end in zip(ids, numpy.random.randint(length // 2, length + 1, size=rows)):
        row[end:] = 0
    return ids


def classes(count, shape=(), rows=ROWS):
    return numpy.random.randint(0, count, size=(rows, *shape)).astype("int32")


def named(xs):
    return {f"x{i}": x for i, x in enumerate(xs)}


def momentum():
    """Not Adam, which steps as far for rounding noise as for a gradient."""
    return keras.optimizers.SGD(0.005, momentum=0.9)


def labelled(model, *xs, count=4, optimizer=None, shape=()):
    model.compile(optimizer or momentum(), "sparse_categorical_crossentropy", metrics=["accuracy"], run_eagerly=True)
    return model, {**named(xs), "y0": classes(count, shape)}


def binary(model, *xs, optimizer=None):
    model.compile(optimizer or momentum(), "binary_crossentropy", metrics=["binary_accuracy"], run_eagerly=True)
    return model, {**named(xs), "y0": classes(2, (1,)).astype("float32")}


def regression(model, target, *xs, loss="mse", optimizer=None):
    model.compile(optimizer or momentum(), loss, run_eagerly=True)
    return model, {**named(xs), "y0": target}


def softmax(x, count=4):
    return layers.Dense(count, activation="softmax", dtype="float32")(x)


# ---- Images -------------------------------------------------------------------------------------


def mnist_convnet():
    return labelled(keras.Sequential([
        keras.Input((28, 28, 1)), layers.Conv2D(32, 3, activation="relu"), layers.MaxPooling2D(), layers.Conv2D(64, 3, activation="relu"),
        layers.MaxPooling2D(), layers.Flatten(), layers.Dropout(0.0), layers.Dense(4, activation="softmax", dtype="float32"),
    ]), images(28, 1))  # fmt: skip


def image_classification_from_scratch():
    inputs = keras.Input((32, 32, 3))
    x = layers.Rescaling(1.0 / 255)(inputs)
    x = layers.Activation("relu")(layers.BatchNormalization()(layers.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(x)))
    before = x
    for size in (24, 32):
        for _ in range(2):
            x = layers.Activation("relu")(x)
            x = layers.SeparableConv2D(size, 3, padding="same", use_bias=False)(x)
            x = layers.BatchNormalization()(x)
        x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
        x = layers.add([x, layers.Conv2D(size, 1, strides=2, padding="same")(before)])
        before = x
    x = layers.Activation("relu")(layers.BatchNormalization()(layers.SeparableConv2D(40, 3, padding="same", use_bias=False)(x)))
    return labelled(keras.Model(inputs, softmax(layers.GlobalAveragePooling2D()(x))), images(32) * 255)


def vision_transformer():
    inputs = keras.Input((24, 24, 3))
    patches = ops.image.extract_patches(inputs, size=6)
    x = layers.Dense(16)(layers.Reshape((16, 108))(patches))
    for _ in range(2):
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = layers.Add()([layers.MultiHeadAttention(2, 8, dropout=0.0)(y, y), x])
        y = layers.LayerNormalization(epsilon=1e-6)(x)
        x = layers.Add()([layers.Dense(16, activation=keras.activations.gelu)(layers.Dense(32, activation="gelu")(y)), x])
    x = layers.Flatten()(layers.LayerNormalization(epsilon=1e-6)(x))
    return labelled(keras.Model(inputs, softmax(layers.Dense(24, activation="gelu")(x))), images(24), optimizer=keras.optimizers.AdamW(0.001, weight_decay=1e-4))


def conv_mixer():
    inputs = keras.Input((16, 16, 3))
    x = layers.BatchNormalization()(layers.Activation("gelu")(layers.Conv2D(16, 2, strides=2)(inputs)))
    for _ in range(2):
        y = layers.BatchNormalization()(layers.Activation("gelu")(layers.DepthwiseConv2D(5, padding="same")(x)))
        x = layers.Add()([y, x])
        x = layers.BatchNormalization()(layers.Activation("gelu")(layers.Conv2D(16, 1)(x)))
    return labelled(keras.Model(inputs, softmax(layers.GlobalAvgPool2D()(x))), images(16))


def mlp_mixer():
    inputs = keras.Input((16, 12))
    x = inputs
    for _ in range(2):
        y = layers.Permute((2, 1))(layers.LayerNormalization()(x))
        y = layers.Dense(16)(layers.Dense(16, activation="gelu")(y))
        x = layers.Add()([x, layers.Permute((2, 1))(y)])
        y = layers.Dense(12)(layers.Dense(12, activation="gelu")(layers.LayerNormalization()(x)))
        x = x + y
    return labelled(keras.Model(inputs, softmax(layers.GlobalAveragePooling1D()(x))), sequences(16, 12))


def unet_segmentation():
    inputs = keras.Input((16, 16, 3))
    x = before = layers.Activation("relu")(layers.BatchNormalization()(layers.Conv2D(16, 3, strides=2, padding="same", use_bias=False)(inputs)))
    for filters in (16, 24):
        x = layers.BatchNormalization()(layers.SeparableConv2D(filters, 3, padding="same", use_bias=False)(layers.Activation("relu")(x)))
        x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
        x = layers.add([x, layers.Conv2D(filters, 1, strides=2, padding="same")(before)])
        before = x
    for filters in (24, 16, 8):
        x = layers.BatchNormalization()(layers.Conv2DTranspose(filters, 3, padding="same", use_bias=False)(layers.Activation("relu")(x)))
        x = layers.UpSampling2D(2)(x)
        x = layers.add([x, layers.Conv2D(filters, 1, padding="same")(layers.UpSampling2D(2)(before))])
        before = x
    outputs = layers.Conv2D(4, 3, activation="softmax", padding="same", dtype="float32")(x)
    return labelled(keras.Model(inputs, outputs), images(16), shape=(16, 16))


def super_resolution():
    inputs = keras.Input((12, 12, 1))
    x = layers.Conv2D(16, 5, activation="relu", kernel_initializer="orthogonal", padding="same")(inputs)
    x = layers.Conv2D(9, 3, kernel_initializer="orthogonal", padding="same")(x)
    x = ops.reshape(x, (-1, 12, 12, 3, 3))
    x = ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4)), (-1, 36, 36, 1))
    return regression(keras.Model(inputs, x), images(36, 1), images(12, 1))


def convolutional_autoencoder():
    inputs = keras.Input((28, 28, 1))
    x = layers.MaxPooling2D(2, padding="same")(layers.Conv2D(16, 3, activation="relu", padding="same")(inputs))
    x = layers.MaxPooling2D(2, padding="same")(layers.Conv2D(16, 3, activation="relu", padding="same")(x))
    x = layers.Conv2DTranspose(16, 3, strides=2, activation="relu", padding="same")(x)
    x = layers.Conv2DTranspose(16, 3, strides=2, activation="relu", padding="same")(x)
    x = layers.Conv2D(1, 3, activation="sigmoid", padding="same", dtype="float32")(x)
    x0 = images(28, 1)
    return regression(keras.Model(inputs, x), x0, x0, loss="binary_crossentropy")


def ct_scans():
    inputs = keras.Input((12, 12, 8, 1))
    x = inputs
    for filters in (8, 16):
        x = layers.BatchNormalization()(layers.MaxPool3D(2)(layers.Conv3D(filters, 3, activation="relu", padding="same")(x)))
    x = layers.Dense(12, activation="relu")(layers.GlobalAveragePooling3D()(x))
    x = layers.Dense(1, activation="sigmoid", dtype="float32")(layers.Dropout(0.0)(x))
    return binary(keras.Model(inputs, x), numpy.random.uniform(size=(ROWS, 12, 12, 8, 1)).astype("float32"),
                  optimizer=keras.optimizers.SGD(keras.optimizers.schedules.ExponentialDecay(1e-2, 2, 0.96, staircase=True)))  # fmt: skip


def mobile_vit():
    inputs = keras.Input((32, 32, 3))
    x = layers.Rescaling(1.0 / 255)(inputs)
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="swish")(x)
    y = layers.Activation("swish")(layers.BatchNormalization()(layers.Conv2D(32, 1, padding="same", use_bias=False)(x)))
    y = layers.Activation("swish")(layers.BatchNormalization()(layers.DepthwiseConv2D(3, padding="same", use_bias=False)(y)))
    x = layers.Add()([x, layers.BatchNormalization()(layers.Conv2D(16, 1, padding="same", use_bias=False)(y))])
    local = layers.Conv2D(24, 1, padding="same", activation="swish")(layers.Conv2D(24, 3, padding="same", activation="swish", strides=2)(x))
    z = layers.Reshape((4, 16, 24))(local)
    for _ in range(2):
        n = layers.LayerNormalization(epsilon=1e-6)(z)
        z = layers.Add()([layers.MultiHeadAttention(2, 24, dropout=0.0)(n, n), z])
        n = layers.LayerNormalization(epsilon=1e-6)(z)
        z = layers.Add()([layers.Dense(24, activation="swish")(layers.Dense(48, activation="swish")(n)), z])
    z = layers.Conv2D(24, 1, padding="same", activation="swish")(layers.Reshape((8, 8, 24))(z))
    x = layers.Conv2D(24, 3, padding="same", activation="swish")(layers.Concatenate(axis=-1)([local, z]))
    return labelled(keras.Model(inputs, softmax(layers.GlobalAvgPool2D()(x))), images(32) * 255)


def external_attention():
    inputs = keras.Input((16, 12))
    x = inputs
    y = ops.transpose(ops.reshape(layers.Dense(24)(layers.LayerNormalization(epsilon=1e-5)(x)), (-1, 16, 4, 6)), (0, 2, 1, 3))
    attention = layers.Activation("softmax")(layers.Dense(8)(y))
    attention = attention / (ops.convert_to_tensor(1e-9) + ops.sum(attention, axis=-1, keepdims=True))
    y = ops.reshape(ops.transpose(layers.Dense(6)(attention), (0, 2, 1, 3)), (-1, 16, 24))
    x = layers.add([layers.Dense(12)(y), x])
    return labelled(keras.Model(inputs, softmax(layers.GlobalAveragePooling1D()(x))), sequences(16, 12))


def attention_based_instances():
    bag = [keras.Input((8, 8)) for _ in range(3)]
    flatten, dense = layers.Flatten(), [layers.Dense(16, activation="relu"), layers.Dense(8, activation="relu")]
    embeddings = [dense[1](dense[0](flatten(one))) for one in bag]
    tanh, gate = layers.Dense(12, activation="tanh", use_bias=False), layers.Dense(12, activation="sigmoid", use_bias=False)
    weight = layers.Dense(1, use_bias=False)
    alphas = ops.softmax(ops.stack([weight(tanh(one) * gate(one)) for one in embeddings], axis=1), axis=1)
    pooled = layers.concatenate([layers.multiply([alphas[:, i], embeddings[i]]) for i in range(3)], axis=1)
    return labelled(keras.Model(bag, softmax(pooled, 2)), *[sequences(8, 8) for _ in bag], count=2)


def siamese_network():
    inputs = keras.Input((28, 28, 1))
    x = layers.AveragePooling2D(2)(layers.Conv2D(4, 5, activation="tanh")(layers.BatchNormalization()(inputs)))
    x = layers.AveragePooling2D(2)(layers.Conv2D(16, 5, activation="tanh")(x))
    x = layers.Dense(10, activation="tanh")(layers.BatchNormalization()(layers.Flatten()(x)))
    tower = keras.Model(inputs, x)
    one, two = keras.Input((28, 28, 1)), keras.Input((28, 28, 1))
    distance = ops.sqrt(ops.maximum(ops.sum(ops.square(tower(one) - tower(two)), axis=1, keepdims=True), keras.config.epsilon()))
    output = layers.Dense(1, activation="sigmoid", dtype="float32")(layers.BatchNormalization()(distance))
    return binary(keras.Model([one, two], output), images(28, 1), images(28, 1), optimizer="rmsprop")


# ---- Text ---------------------------------------------------------------------------------------


def bidirectional_lstm():
    inputs = keras.Input((None,), dtype="int32", name="words")
    x = layers.Embedding(50, 16, mask_zero=True)(inputs)
    x = layers.Bidirectional(layers.LSTM(12, return_sequences=True))(x)
    x = layers.Bidirectional(layers.LSTM(12))(x)
    return binary(keras.Model(inputs, layers.Dense(1, activation="sigmoid", dtype="float32")(x)), tokens(10, 50))


def text_convolutions():
    inputs = keras.Input((24,), dtype="int32")
    x = layers.Dropout(0.0)(layers.Embedding(50, 16)(inputs))
    x = layers.Conv1D(16, 7, padding="valid", activation="relu", strides=3)(x)
    x = layers.GlobalMaxPooling1D()(layers.Conv1D(16, 3, padding="same", activation="relu", strides=3)(x))
    return binary(keras.Model(inputs, layers.Dense(1, activation="sigmoid", dtype="float32")(layers.Dense(16, activation="relu")(x))), tokens(24, 50))


def transformer_block(x, heads, width, feed, **attention):
    y = layers.MultiHeadAttention(heads, width // heads)(x, x, **attention)
    x = layers.LayerNormalization(epsilon=1e-6)(x + layers.Dropout(0.0)(y))
    y = layers.Dense(width)(layers.Dense(feed, activation="relu")(x))
    return layers.LayerNormalization(epsilon=1e-6)(x + layers.Dropout(0.0)(y))


def text_transformer():
    inputs, positions = keras.Input((12,), dtype="int32"), keras.Input((12,), dtype="int32")
    x = layers.Embedding(50, 16)(inputs) + layers.Embedding(12, 16)(positions)
    x = layers.GlobalAveragePooling1D()(transformer_block(x, 2, 16, 32))
    order = numpy.tile(numpy.arange(12, dtype="int32"), (ROWS, 1))
    return labelled(keras.Model([inputs, positions], softmax(layers.Dense(20, activation="relu")(x), 2)), tokens(12, 50), order, count=2)


def miniature_gpt():
    inputs = keras.Input((12,), dtype="int32")
    x = layers.Embedding(40, 16)(inputs)
    x = transformer_block(x, 2, 16, 32, use_causal_mask=True)
    outputs = layers.Dense(40, dtype="float32")(x)
    model = keras.Model(inputs, outputs)
    model.compile(momentum(), keras.losses.SparseCategoricalCrossentropy(from_logits=True), run_eagerly=True)
    return model, {"x0": tokens(12, 40), "y0": classes(40, (12,))}


def sequence_to_sequence():
    source, target = keras.Input((8, 14)), keras.Input((6, 12))
    _, h, c = layers.LSTM(16, return_state=True)(source)
    x, _, _ = layers.LSTM(16, return_sequences=True, return_state=True)(target, initial_state=[h, c])
    model = keras.Model([source, target], softmax(x, 12))
    model.compile("rmsprop", "categorical_crossentropy", metrics=["accuracy"], run_eagerly=True)
    return model, {"x0": sequences(8, 14), "x1": sequences(6, 12), "y0": numpy.eye(12, dtype="float32")[classes(12, (6,))]}


def addition():
    model = keras.Sequential([keras.Input((7, 12)), layers.LSTM(16), layers.RepeatVector(4), layers.LSTM(16, return_sequences=True),
                              layers.TimeDistributed(layers.Dense(12, activation="softmax", dtype="float32"))])  # fmt: skip
    model.compile(momentum(), "categorical_crossentropy", metrics=["accuracy"], run_eagerly=True)
    return model, {"x0": sequences(7, 12), "y0": numpy.eye(12, dtype="float32")[classes(12, (4,))]}


def translation_with_attention():
    source, target = keras.Input((9,), dtype="int32"), keras.Input((7,), dtype="int32")
    encoded = layers.Bidirectional(layers.GRU(8, return_sequences=True))(layers.Embedding(30, 12, mask_zero=True)(source))
    x = layers.GRU(16, return_sequences=True)(layers.Embedding(30, 12, mask_zero=True)(target))
    x = layers.Concatenate()([x, layers.Attention(use_scale=True)([x, encoded]), layers.AdditiveAttention()([x, encoded])])
    model = keras.Model([source, target], layers.Dense(30, dtype="float32")(x))
    model.compile(momentum(), keras.losses.SparseCategoricalCrossentropy(from_logits=True), run_eagerly=True)
    return model, {"x0": tokens(9, 30), "x1": tokens(7, 30), "y0": classes(30, (7,))}


def optical_characters():
    inputs = keras.Input((32, 16, 1))
    x = layers.MaxPooling2D(2)(layers.Conv2D(8, 3, activation="relu", kernel_initializer="he_normal", padding="same")(inputs))
    x = layers.MaxPooling2D(2)(layers.Conv2D(16, 3, activation="relu", kernel_initializer="he_normal", padding="same")(x))
    x = layers.Dense(16, activation="relu")(layers.Reshape((8, 64))(x))
    x = layers.Bidirectional(layers.LSTM(16, return_sequences=True, dropout=0.0))(x)
    x = layers.Bidirectional(layers.LSTM(8, return_sequences=True, dropout=0.0))(x)
    return labelled(keras.Model(inputs, softmax(x, 11)), numpy.random.uniform(size=(ROWS, 32, 16, 1)).astype("float32"), count=11, shape=(8,))


# ---- Sequences ----------------------------------------------------------------------------------


def next_frame():
    inputs = keras.Input((None, 10, 10, 1), name="frames")
    x = inputs
    for size in (5, 3):
        x = layers.BatchNormalization()(layers.ConvLSTM2D(8, size, padding="same", return_sequences=True, activation="relu")(x))
    x = layers.Conv3D(1, 3, activation="sigmoid", padding="same", dtype="float32")(x)
    frames = numpy.random.uniform(size=(ROWS, 5, 10, 10, 1)).astype("float32")
    return regression(keras.Model(inputs, x), frames, frames[:, ::-1], loss="binary_crossentropy")


def series_transformer():
    inputs = keras.Input((20, 1))
    x = inputs
    for _ in range(2):
        y = layers.LayerNormalization(epsilon=1e-6)(layers.Dropout(0.0)(layers.MultiHeadAttention(key_dim=8, num_heads=2, dropout=0.0)(x, x)))
        residual = y + x
        y = layers.Conv1D(4, 1, activation="relu")(residual)
        x = layers.LayerNormalization(epsilon=1e-6)(layers.Conv1D(1, 1)(y)) + residual
    x = layers.GlobalAveragePooling1D(data_format="channels_last")(x)
    return labelled(keras.Model(inputs, softmax(layers.Dense(16, activation="relu")(x))), sequences(20, 1))


def series_convolutions():
    inputs = keras.Input((30, 1))
    x = inputs
    for _ in range(3):
        x = layers.ReLU()(layers.BatchNormalization()(layers.Conv1D(16, 3, padding="same", use_bias=False)(x)))
    return labelled(keras.Model(inputs, softmax(layers.GlobalAveragePooling1D()(x))), sequences(30, 1))


def anomaly_detection():
    model = keras.Sequential([
        keras.Input((32, 1)), layers.Conv1D(16, 7, padding="same", strides=2, activation="relu"), layers.Dropout(0.0),
        layers.Conv1D(8, 7, padding="same", strides=2, activation="relu"), layers.Conv1DTranspose(8, 7, padding="same", strides=2, activation="relu"),
        layers.Conv1DTranspose(16, 7, padding="same", strides=2, activation="relu"), layers.Conv1DTranspose(1, 7, padding="same", dtype="float32"),
    ])  # fmt: skip
    x = sequences(32, 1)
    return regression(model, x, x, optimizer=keras.optimizers.Adam(0.001))


def speaker_recognition():
    inputs = keras.Input((64, 1))
    x = inputs
    for filters, count in ((8, 2), (16, 3)):
        shortcut = layers.Conv1D(filters, 1, padding="same")(x)
        for _ in range(count - 1):
            x = layers.Activation("relu")(layers.Conv1D(filters, 3, padding="same")(x))
        x = layers.Activation("relu")(layers.Add()([layers.Conv1D(filters, 3, padding="same")(x), shortcut]))
        x = layers.MaxPool1D(2, strides=2)(x)
    x = layers.Flatten()(layers.AveragePooling1D(pool_size=3, strides=3)(x))
    return labelled(keras.Model(inputs, softmax(layers.Dense(16, activation="relu")(x))), sequences(64, 1))


def weather_forecasting():
    inputs = keras.Input((18, 5))
    return regression(keras.Model(inputs, layers.Dense(1)(layers.LSTM(16)(inputs))), numpy.random.normal(size=(ROWS, 1)).astype("float32"), sequences(18, 5))


def hourly_traffic():
    """Recurrent layers in each other's batch dimension, as the graph network for traffic has them."""
    inputs = keras.Input((6, 5, 2))
    x = layers.TimeDistributed(layers.Dense(8, activation="relu"))(inputs)
    x = ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (-1, 5, 48))
    x = layers.GRU(12, activation="relu", recurrent_activation="hard_sigmoid", reset_after=False)(x)
    return regression(keras.Model(inputs, layers.Dense(9)(x)), numpy.random.normal(size=(ROWS, 9)).astype("float32"),
                      numpy.random.normal(size=(ROWS, 6, 5, 2)).astype("float32"), optimizer="rmsprop")  # fmt: skip


# ---- Tables and recommendations -----------------------------------------------------------------


def structured_data():
    age, kind, state = keras.Input((1,), name="age"), keras.Input((1,), dtype="int32", name="kind"), keras.Input((1,), dtype="int32", name="state")
    scaled = layers.Normalization(mean=40.0, variance=80.0)(age)
    one_hot = layers.CategoryEncoding(num_tokens=5, output_mode="one_hot")(kind)
    known = layers.IntegerLookup(vocabulary=[10, 20, 30], output_mode="multi_hot")(state)
    bucket = layers.Discretization(bin_boundaries=[20.0, 40.0, 60.0], output_mode="one_hot")(age)
    x = layers.Dense(16, activation="relu")(layers.concatenate([scaled, one_hot, known, bucket]))
    model = keras.Model([age, kind, state], layers.Dense(1, activation="sigmoid", dtype="float32")(layers.Dropout(0.0)(x)))
    return binary(model, numpy.random.uniform(10, 80, size=(ROWS, 1)).astype("float32"), classes(5, (1,)), 10 * classes(5, (1,)))


def collaborative_filtering():
    user, film = keras.Input((1,), dtype="int32"), keras.Input((1,), dtype="int32")
    options = {"embeddings_initializer": "he_normal", "embeddings_regularizer": keras.regularizers.l2(1e-6)}
    u, f = layers.Flatten()(layers.Embedding(20, 8, **options)(user)), layers.Flatten()(layers.Embedding(30, 8, **options)(film))
    biases = layers.Flatten()(layers.Embedding(20, 1)(user)) + layers.Flatten()(layers.Embedding(30, 1)(film))
    x = ops.sigmoid(layers.Dot(axes=1)([u, f]) + biases)
    return binary(keras.Model([user, film], layers.Activation("linear", dtype="float32")(x)), classes(20, (1,)), classes(30, (1,)))


def wide_deep_cross():
    inputs = [keras.Input((1,), dtype="int32") for _ in range(3)]
    x0 = layers.concatenate([layers.Flatten()(layers.Embedding(9, 6)(one)) for one in inputs])
    cross = x0
    for _ in range(2):
        cross = x0 * layers.Dense(18)(cross) + cross
    cross = layers.BatchNormalization()(cross)
    deep = x0
    for _ in range(2):
        deep = layers.ReLU()(layers.BatchNormalization()(layers.Dense(16, use_bias=False)(deep)))
    return binary(keras.Model(inputs, layers.Dense(1, activation="sigmoid", dtype="float32")(layers.concatenate([cross, deep]))),
                  *[classes(9, (1,)) for _ in range(3)])  # fmt: skip


def gated_residual():
    inputs = keras.Input((12,))
    x = layers.Dense(16)(inputs)
    for _ in range(2):
        y = layers.Dropout(0.0)(layers.Dense(16)(layers.Dense(16, activation="elu")(x)))
        y = layers.Dense(16)(y) * layers.Dense(16, activation="sigmoid")(y)
        x = layers.LayerNormalization()(x + y)
    parts = ops.stack([x, layers.Dense(16)(inputs)], axis=1)
    weights = ops.expand_dims(layers.Dense(2, activation="softmax")(inputs), axis=1)
    x = ops.squeeze(ops.matmul(weights, parts), axis=1)
    return binary(keras.Model(inputs, layers.Dense(1, activation="sigmoid", dtype="float32")(x)), sequences(1, 12)[:, 0])


def learned_distances():
    """Cosine similarities of two towers, and a temperature."""
    one, two = keras.Input((10,)), keras.Input((14,))
    a, b = layers.UnitNormalization()(layers.Dense(8)(one)), layers.UnitNormalization()(layers.Dense(8)(two))
    x = layers.Dot(axes=-1, normalize=True)([a, b]) / 0.2
    return binary(keras.Model([one, two], layers.Dense(1, activation="sigmoid", dtype="float32")(x)), sequences(1, 10)[:, 0], sequences(1, 14)[:, 0])


def discriminator():
    model = keras.Sequential([
        keras.Input((28, 28, 1)), layers.ZeroPadding2D((2, 2)), layers.Conv2D(16, 5, strides=2, padding="same"), layers.LeakyReLU(negative_slope=0.2),
        layers.Conv2D(24, 5, strides=2, padding="same"), layers.LeakyReLU(negative_slope=0.2), layers.Dropout(0.0), layers.Flatten(), layers.Dense(1),
    ])  # fmt: skip
    return regression(model, numpy.random.normal(size=(ROWS, 1)).astype("float32"), images(28, 1), loss="hinge",
                      optimizer=keras.optimizers.Adam(0.0002, beta_1=0.5, beta_2=0.9))  # fmt: skip


def generator():
    inputs = keras.Input((16,))
    x = layers.LeakyReLU(negative_slope=0.2)(layers.BatchNormalization()(layers.Dense(4 * 4 * 16, use_bias=False)(inputs)))
    x = layers.Reshape((4, 4, 16))(x)
    for filters in (16, 8, 1):
        x = layers.Conv2D(filters, 3, padding="same", use_bias=False)(layers.UpSampling2D((2, 2))(x))
        x = layers.BatchNormalization()(x)
        x = layers.Activation("tanh")(x) if filters == 1 else layers.LeakyReLU(negative_slope=0.2)(x)
    return regression(keras.Model(inputs, layers.Cropping2D((2, 2))(x)), images(28, 1), sequences(1, 16)[:, 0])


EXAMPLES = [
    mnist_convnet, image_classification_from_scratch, vision_transformer, conv_mixer, mlp_mixer, unet_segmentation, super_resolution, convolutional_autoencoder,
    ct_scans, mobile_vit, external_attention, attention_based_instances, siamese_network, bidirectional_lstm, text_convolutions, text_transformer,
    miniature_gpt, sequence_to_sequence, addition, translation_with_attention, optical_characters, next_frame, series_transformer, series_convolutions,
    anomaly_detection, speaker_recognition, weather_forecasting, hourly_traffic, structured_data, collaborative_filtering, wide_deep_cross, gated_residual,
    learned_distances, discriminator, generator,
]  # fmt: skip


# Only the compiler must know these extents, which Keras takes from the data.
OPTIONS = {bidirectional_lstm: ["--input-shape=words:10"], next_frame: ["--input-shape=frames:5,10,10,1"]}


def check(number, tools, folder):
    example, policy = EXAMPLES[number // 3], list(TOLERANCES)[number % 3]
    keras.utils.set_random_seed(number)
    keras.config.set_dtype_policy(policy)
    model, data = example()
    return compare(model, data, policy, f"model {number} {policy} {example.__name__}", tools, folder, STEPS, BATCH, OPTIONS.get(example, []))


if __name__ == "__main__":
    sys.exit(main(check, __doc__, 3 * len(EXAMPLES)))
