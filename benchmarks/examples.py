# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models after the code examples of keras.io, of the layers that they are known for, in sizes whose steps take a part of a second.
Each is a function without arguments that gives the inputs, the outputs and the loss."""

from keras import Input, layers

CLASSES, SQUARES = "sparse_categorical_crossentropy", "mean_squared_error"


def residual(x, y):
    return layers.LayerNormalization()(layers.Add()([x, y]))


def text_transformer():
    """Text classification with a transformer: a small block, with dropout in the attention, behind an embedding."""
    tokens = Input((200,), dtype="int32", name="x")
    x = layers.Embedding(20000, 32)(tokens)
    x = residual(x, layers.Dropout(0.1)(layers.MultiHeadAttention(2, 32, dropout=0.1)(x, x)))
    x = residual(x, layers.Dropout(0.1)(layers.Dense(32)(layers.Dense(32, activation="relu")(x))))
    x = layers.Dropout(0.1)(layers.GlobalAveragePooling1D()(x))
    x = layers.Dropout(0.1)(layers.Dense(20, activation="relu")(x))
    return tokens, layers.Dense(2, activation="softmax", dtype="float32")(x), CLASSES


def bidirectional_lstm():
    """Sentiments of movie reviews, by two bidirectional LSTMs."""
    tokens = Input((200,), dtype="int32", name="x")
    x = layers.Embedding(20000, 128)(tokens)
    x = layers.Bidirectional(layers.LSTM(64, return_sequences=True))(x)
    x = layers.Bidirectional(layers.LSTM(64))(x)
    return tokens, layers.Dense(2, activation="softmax", dtype="float32")(x), CLASSES


def segmentation():
    """Image segmentation with a U-Net of separable and transposed convolutions."""
    images = Input((160, 160, 3), name="x")
    x = layers.Activation("relu")(layers.BatchNormalization()(layers.Conv2D(32, 3, strides=2, padding="same")(images)))
    previous = x
    for filters in (64, 128, 256):
        for _ in range(2):
            x = layers.SeparableConv2D(filters, 3, padding="same")(layers.Activation("relu")(x))
            x = layers.BatchNormalization()(x)
        x = layers.MaxPooling2D(3, strides=2, padding="same")(x)
        x = previous = layers.Add()([x, layers.Conv2D(filters, 1, strides=2, padding="same")(previous)])
    for filters in (256, 128, 64, 32):
        for _ in range(2):
            x = layers.Conv2DTranspose(filters, 3, padding="same")(layers.Activation("relu")(x))
            x = layers.BatchNormalization()(x)
        x = layers.UpSampling2D(2)(x)
        x = previous = layers.Add()([x, layers.Conv2D(filters, 1, padding="same")(layers.UpSampling2D(2)(previous))])
    return images, layers.Conv2D(3, 3, activation="softmax", padding="same", dtype="float32")(x), CLASSES


def autoencoder():
    """A convolutional autoencoder that takes noise out of digits."""
    images = x = Input((28, 28, 1), name="x")
    for _ in range(2):
        x = layers.MaxPooling2D(2, padding="same")(layers.Conv2D(32, 3, activation="relu", padding="same")(x))
    for _ in range(2):
        x = layers.Conv2DTranspose(32, 3, strides=2, activation="relu", padding="same")(x)
    return images, layers.Conv2D(1, 3, activation="sigmoid", padding="same", dtype="float32")(x), SQUARES


def time_series_convolutions():
    """Time series classification from scratch: convolutions along time."""
    series = x = Input((500, 1), name="x")
    for _ in range(3):
        x = layers.ReLU()(layers.BatchNormalization()(layers.Conv1D(64, 3, padding="same")(x)))
    return series, layers.Dense(2, activation="softmax", dtype="float32")(layers.GlobalAveragePooling1D()(x)), CLASSES


def time_series_transformer():
    """Time series classification with a transformer: heads far wider than the series, dropout, pointwise convolutions."""
    series = x = Input((500, 1), name="x")
    for _ in range(2):
        y = layers.Dropout(0.25)(layers.MultiHeadAttention(4, 256, dropout=0.25)(x, x))
        x = residual(x, y)
        y = layers.Dropout(0.25)(layers.Conv1D(4, 1, activation="relu")(x))
        x = residual(x, layers.Conv1D(1, 1)(y))
    x = layers.GlobalAveragePooling1D(data_format="channels_last")(x)
    x = layers.Dropout(0.4)(layers.Dense(128, activation="relu")(x))
    return series, layers.Dense(2, activation="softmax", dtype="float32")(x), CLASSES


def vision_transformer():
    """Image classification with a vision transformer: gelu and dropout in every block."""
    images = Input((72, 72, 3), name="x")
    x = layers.Reshape((144, 64))(layers.Conv2D(64, 6, strides=6)(images))
    for _ in range(4):
        y = layers.LayerNormalization()(x)
        x = layers.Add()([x, layers.MultiHeadAttention(4, 64, dropout=0.1)(y, y)])
        y = layers.LayerNormalization()(x)
        for units in (128, 64):
            y = layers.Dropout(0.1)(layers.Dense(units, activation="gelu")(y))
        x = layers.Add()([x, y])
    x = layers.Dropout(0.5)(layers.Flatten()(layers.LayerNormalization()(x)))
    for units in (2048, 1024):
        x = layers.Dropout(0.5)(layers.Dense(units, activation="gelu")(x))
    return images, layers.Dense(100, activation="softmax", dtype="float32")(x), CLASSES


def miniature_gpt():
    """Text generation with a miniature GPT: a causal block over a large vocabulary."""
    words = Input((80,), dtype="int32", name="x")
    x = layers.Embedding(20000, 256)(words)
    x = residual(x, layers.Dropout(0.1)(layers.MultiHeadAttention(2, 256)(x, x, use_causal_mask=True)))
    x = residual(x, layers.Dropout(0.1)(layers.Dense(256)(layers.Dense(256, activation="relu")(x))))
    return words, layers.Dense(20000, activation="softmax", dtype="float32")(x), CLASSES


def padded_encoder():
    """Text classification with an encoder as BERT's, fine-tuned: padding hides places, and attention drops some of the others."""
    words = Input((128,), dtype="int32", name="x")
    x = layers.Embedding(20000, 256, mask_zero=True)(words)
    for _ in range(2):
        x = residual(x, layers.Dropout(0.1)(layers.MultiHeadAttention(4, 64, dropout=0.1)(x, x)))
        x = residual(x, layers.Dropout(0.1)(layers.Dense(256)(layers.Dense(1024, activation="gelu")(x))))
    return words, layers.Dense(2, activation="softmax", dtype="float32")(layers.GlobalAveragePooling1D()(x)), CLASSES


def mixer():
    """Image classification with an MLP mixer: products along places and along channels."""
    images = Input((64, 64, 3), name="x")
    x = layers.Reshape((64, 256))(layers.Conv2D(256, 8, strides=8)(images))
    for _ in range(4):
        y = layers.Permute((2, 1))(layers.LayerNormalization()(x))
        y = layers.Dropout(0.2)(layers.Dense(64)(layers.Dense(64, activation="gelu")(y)))
        x = layers.Add()([x, layers.Permute((2, 1))(y)])
        y = layers.Dense(256)(layers.Dense(256, activation="gelu")(layers.LayerNormalization()(x)))
        x = layers.Add()([x, layers.Dropout(0.2)(y)])
    return images, layers.Dense(100, activation="softmax", dtype="float32")(layers.GlobalAveragePooling1D()(x)), CLASSES


def character_gru():
    """Text generation, character by character, by a wide GRU."""
    tokens = Input((100,), dtype="int32", name="x")
    x = layers.GRU(512, return_sequences=True)(layers.Embedding(66, 256)(tokens))
    return tokens, layers.Dense(66, activation="softmax", dtype="float32")(x), CLASSES


def next_frame():
    """Next-frame video prediction with convolutional LSTMs."""
    frames = x = Input((8, 32, 32, 1), name="x")
    for window in (5, 3):
        x = layers.ConvLSTM2D(32, window, padding="same", return_sequences=True, activation="relu")(x)
        x = layers.BatchNormalization()(x)
    return frames, layers.Conv3D(1, 3, activation="sigmoid", padding="same", dtype="float32")(x), SQUARES


def volumes():
    """Image classification of computed tomographies: convolutions of volumes."""
    scans = x = Input((64, 64, 32, 1), name="x")
    for filters in (32, 32, 64, 128):
        x = layers.MaxPooling3D(2)(layers.Conv3D(filters, 3, activation="relu", padding="same")(x))
        x = layers.BatchNormalization()(x)
    x = layers.Dropout(0.3)(layers.Dense(512, activation="relu")(layers.GlobalAveragePooling3D()(x)))
    return scans, layers.Dense(2, activation="softmax", dtype="float32")(x), CLASSES


def discriminator():
    """DCGAN's discriminator: strided convolutions and leaky relu."""
    images = x = Input((64, 64, 3), name="x")
    for filters in (64, 128, 128):
        x = layers.LeakyReLU(0.2)(layers.Conv2D(filters, 4, strides=2, padding="same")(x))
    x = layers.Dropout(0.2)(layers.Flatten()(x))
    return images, layers.Dense(2, activation="softmax", dtype="float32")(x), CLASSES


def generator():
    """DCGAN's generator: strided transposed convolutions."""
    noise = Input((128,), name="x")
    x = layers.Reshape((8, 8, 128))(layers.Dense(8 * 8 * 128)(noise))
    for filters in (128, 256, 512):
        x = layers.LeakyReLU(0.2)(layers.Conv2DTranspose(filters, 4, strides=2, padding="same")(x))
    return noise, layers.Conv2D(3, 5, padding="same", activation="sigmoid", dtype="float32")(x), SQUARES


def recommender():
    """Collaborative filtering: the rows of a large embedding."""
    items = Input((20,), dtype="int32", name="x")
    x = layers.Flatten()(layers.Embedding(100000, 64)(items))
    x = layers.Dense(128, activation="relu")(x)
    return items, layers.Dense(2, activation="softmax", dtype="float32")(x), CLASSES


def waves():
    """Audio by dilated causal convolutions with gates, as in WaveNet."""
    waveform = Input((1024, 1), name="x")
    x = layers.Conv1D(32, 2, padding="causal")(waveform)
    skips = []
    for dilation in (1, 2, 4, 8, 16, 32):
        gated = layers.Multiply()([layers.Conv1D(32, 2, padding="causal", dilation_rate=dilation, activation=activation)(x) for activation in ("tanh", "sigmoid")])
        skips.append(layers.Conv1D(32, 1)(gated))
        x = layers.Add()([x, skips[-1]])
    x = layers.Conv1D(64, 1, activation="relu")(layers.ReLU()(layers.Add()(skips)))
    return waveform, layers.Conv1D(64, 1, activation="softmax", dtype="float32")(x), CLASSES


def diffusion():
    """The U-Net of diffusion models: residual blocks with group normalisation and swish, bilinear upsampling, concatenations."""
    images = Input((64, 64, 3), name="x")
    skips = []

    def block(x, width):
        y = layers.Conv2D(width, 3, padding="same", activation="swish")(layers.GroupNormalization(8)(x))
        y = layers.Conv2D(width, 3, padding="same")(y)
        return layers.Add()([y, x if x.shape[-1] == width else layers.Conv2D(width, 1)(x)])

    x = layers.Conv2D(32, 1)(images)
    for width in (32, 64, 96):
        for _ in range(2):
            x = block(x, width)
            skips.append(x)
        x = layers.AveragePooling2D(2)(x)
    for _ in range(2):
        x = block(x, 128)
    for width in (96, 64, 32):
        x = layers.UpSampling2D(2, interpolation="bilinear")(x)
        for _ in range(2):
            x = block(layers.Concatenate()([x, skips.pop()]), width)
    return images, layers.Conv2D(3, 1, dtype="float32")(x), SQUARES


def augmented():
    """Image classification from scratch: random flips, rotations and zooms before the convolutions."""
    images = Input((96, 96, 3), name="x")
    x = layers.RandomZoom(0.1)(layers.RandomRotation(0.1)(layers.RandomFlip("horizontal")(images)))
    for filters in (32, 64, 128):
        x = layers.MaxPooling2D(2)(layers.Conv2D(filters, 3, activation="relu", padding="same")(x))
    return images, layers.Dense(10, activation="softmax", dtype="float32")(layers.GlobalAveragePooling2D()(x)), CLASSES


EXAMPLES = {function.__name__: function for function in (
    text_transformer, bidirectional_lstm, segmentation, autoencoder, time_series_convolutions, time_series_transformer, vision_transformer, miniature_gpt, padded_encoder, mixer,
    character_gru, next_frame, volumes, discriminator, generator, recommender, waves, diffusion, augmented)}  # fmt: skip
