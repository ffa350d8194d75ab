# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models and trainings as users have them, beyond Keras's code examples, by real Keras and by mpc.

Architectures of papers written with keras.ops, named inputs and outputs, masks up to the loss, frozen and nested parts,
optimizers with unusual options and with the state of an earlier training. Case N is the same in every run: model N in
policy N % 3, where Keras can run it in that one. Usage: field_models.py BIN [CASES [FIRST]] [--keep FOLDER]
"""

import sys

import field_trainings
import keras
import numpy
from field_trainings import numbers
from gallery import BATCH, ROWS, STEPS, binary, classes, images, labelled, momentum, regression, softmax, tokens
from keras import layers, losses, metrics, ops, regularizers
from real_keras import TOLERANCES, compare, main


def identity_of(x, name=None):
    """In float32, for a loss."""
    return layers.Activation("linear", dtype="float32", name=name)(x)


# ---- Images -------------------------------------------------------------------------------------


def window_partition(x, size):
    height, width, channels = x.shape[1:]
    x = ops.reshape(x, (-1, height // size, size, width // size, size, channels))
    return ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4, 5)), (-1, size * size, channels))


def window_reverse(x, size, height, width):
    x = ops.reshape(x, (-1, height // size, width // size, size, size, x.shape[-1]))
    return ops.reshape(ops.transpose(x, (0, 1, 3, 2, 4, 5)), (-1, height, width, x.shape[-1]))


def swin():
    """Windows in the batch, shifted ones with a mask, heads of a product for queries, keys and values."""
    inputs = keras.Input((8, 8, 6))
    mask = numpy.zeros((4, 16, 16), "float32")
    mask[1, :8, 8:] = mask[3, ::2, 1::2] = -100
    x = inputs
    for shift in (0, 2):
        y = layers.LayerNormalization(epsilon=1e-5)(x)
        y = window_partition(ops.roll(y, shift=[-shift, -shift], axis=[1, 2]), 4)
        heads = ops.transpose(ops.reshape(layers.Dense(18)(y), (-1, 16, 3, 2, 3)), (2, 0, 3, 1, 4))
        query, key, value = heads[0] * 3**-0.5, heads[1], heads[2]
        scores = query @ ops.transpose(key, (0, 1, 3, 2))
        if shift:
            scores = ops.reshape(scores, (-1, 4, 2, 16, 16)) + ops.cast(mask[None, :, None], scores.dtype)
            scores = ops.reshape(scores, (-1, 2, 16, 16))
        y = ops.reshape(ops.transpose(ops.softmax(scores, axis=-1) @ value, (0, 2, 1, 3)), (-1, 16, 6))
        x = x + ops.roll(window_reverse(layers.Dense(6)(y), 4, 8, 8), shift=[shift, shift], axis=[1, 2])
    merged = ops.concatenate([x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)], axis=-1)
    x = layers.Dense(12, use_bias=False)(ops.reshape(merged, (-1, 16, 24)))
    return labelled(keras.Model(inputs, softmax(layers.GlobalAveragePooling1D()(x))), images(8, 6))


def windows_of_layers():
    """Layers that take windows in the batch one by one, and two tensors of them."""
    inputs = keras.Input((4, 4, 6))
    windows = window_partition(inputs, 2)
    x = layers.MultiHeadAttention(2, 4)(windows, windows)
    x = layers.Add()([windows, x])
    x = layers.GRU(6, return_sequences=True)(layers.LayerNormalization()(x))
    x = layers.Conv1D(6, 3, padding="same", activation="relu")(x)
    return labelled(keras.Model(inputs, softmax(layers.GlobalMaxPooling2D()(window_reverse(x, 2, 4, 4)))), images(4, 6))


def deeplab():
    inputs = keras.Input((16, 16, 3))
    low = layers.Conv2D(8, 3, 2, padding="same", activation="relu")(inputs)
    x = layers.Conv2D(12, 3, 2, padding="same", activation="relu")(low)
    pooled = layers.BatchNormalization()(layers.Conv2D(8, 1, use_bias=False)(layers.AveragePooling2D((4, 4))(x)))
    parts = [layers.UpSampling2D((4, 4), interpolation="bilinear")(ops.relu(pooled))]
    for rate in (1, 2, 3):
        y = layers.Conv2D(8, 3 if rate > 1 else 1, dilation_rate=rate, padding="same", use_bias=False)(x)
        parts.append(ops.relu(layers.BatchNormalization()(y)))
    x = layers.UpSampling2D(2, interpolation="bilinear")(layers.Conv2D(8, 1, use_bias=False)(layers.Concatenate()(parts)))
    x = layers.Conv2D(8, 3, padding="same", activation="relu")(layers.Concatenate()([x, layers.Conv2D(4, 1)(low)]))
    outputs = layers.Conv2D(3, 1, padding="same", dtype="float32")(layers.UpSampling2D(2, interpolation="bilinear")(x))
    model = keras.Model(inputs, outputs)
    model.compile(momentum(), losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=2),
                  metrics=["accuracy", metrics.MeanIoU(num_classes=3, sparse_y_pred=False)])  # fmt: skip
    return model, {"x0": images(16), "y0": classes(3, (16, 16))}


def retina_heads():
    """Heads that several sizes share, two named outputs with sums for losses."""
    inputs = keras.Input((32, 32, 3))
    third = layers.Conv2D(8, 3, 4, padding="same", activation="relu")(inputs)
    fourth = layers.Conv2D(8, 1)(layers.Conv2D(8, 3, 2, padding="same", activation="relu")(third))
    levels = [layers.Conv2D(8, 1)(third) + layers.UpSampling2D(2)(fourth), fourth]

    def head(filters, bias):
        return keras.Sequential([
            keras.Input((None, None, 8)), layers.Conv2D(8, 3, padding="same"), layers.ReLU(), layers.Conv2D(filters, 3, padding="same", bias_initializer=bias),
        ])  # fmt: skip

    kinds, boxes = head(6, keras.initializers.Constant(-4.59)), head(12, "zeros")
    outputs = {
        "cls": identity_of(layers.Concatenate(axis=1)([layers.Reshape((-1, 2))(kinds(level)) for level in levels]), "cls"),
        "box": identity_of(layers.Concatenate(axis=1)([layers.Reshape((-1, 4))(boxes(level)) for level in levels]), "box"),
    }
    model = keras.Model(inputs, outputs)
    model.compile(
        keras.optimizers.SGD(0.01, momentum=0.9, clipnorm=10.0), loss_weights={"cls": 0.1, "box": 2.0},
        loss={"cls": losses.BinaryFocalCrossentropy(from_logits=True, reduction="sum"), "box": losses.Huber(delta=0.3)},
        metrics={"box": ["mae"], "cls": [metrics.BinaryAccuracy(threshold=0.0)]},
    )  # fmt: skip
    return model, {"x0": images(32), "cls": numpy.float32(classes(2, (240, 2))), "box": numbers(240, 4)}


def nested_unet():
    inputs = keras.Input((16, 16, 1))

    def block(x, filters):
        return layers.LeakyReLU(0.1)(layers.GroupNormalization(groups=2)(layers.Conv2D(filters, 3, padding="same")(x)))

    def grow(x, filters):
        return layers.Conv2DTranspose(filters, 2, strides=2, padding="same")(x)

    top = block(inputs, 4)
    middle = block(layers.MaxPooling2D()(top), 6)
    bottom = block(layers.MaxPooling2D()(middle), 8)
    first = block(layers.concatenate([top, grow(middle, 4)]), 4)
    second = block(layers.concatenate([top, first, grow(block(layers.concatenate([middle, grow(bottom, 6)]), 6), 4)]), 4)
    model = keras.Model(inputs, [layers.Conv2D(1, 1, activation="sigmoid", dtype="float32")(x) for x in (first, second)])
    model.compile(keras.optimizers.Adam(1e-3, epsilon=1e-4), [losses.Dice(), losses.BinaryCrossentropy()], loss_weights=[0.4, 1.0],
                  metrics=[[metrics.BinaryIoU([0, 1], 0.5)], [metrics.BinaryIoU([1], 0.4)]])  # fmt: skip
    target = numpy.float32(classes(2, (16, 16, 1)))
    return model, {"x0": images(16, 1), "y0": target, "y1": target}


def enhancement_of_any_size():
    inputs = keras.Input((None, None, 3), name="image")
    x = before = layers.Conv2D(8, 3, padding="same")(layers.Rescaling(1 / 255)(inputs))
    for _ in range(2):
        x = layers.Add()([x, layers.Conv2D(8, 3, padding="same")(layers.Conv2D(8, 3, padding="same", activation="relu")(x))])
    x = ops.nn.depth_to_space(layers.Conv2D(32, 3, padding="same")(x + before), 2)
    model = keras.Model(inputs, layers.Rescaling(255.0, dtype="float32")(layers.Conv2D(3, 3, padding="same")(x)))
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([1, 2], [1e-3, 5e-4, 1e-4])
    model.compile(keras.optimizers.Adam(schedule, epsilon=1e-3), "mae", metrics=["mse"])
    return model, {"x0": images(8) * 255, "y0": images(16) * 255}, ["--input-shape=image:8,8,3"]


def curves_of_light():
    inputs = keras.Input((12, 12, 3))
    x = inputs
    for _ in range(2):
        x = layers.Conv2D(8, 3, activation="relu", padding="same")(x)
    curves = layers.Conv2D(12, 3, activation="tanh", padding="same")(x)
    x = inputs
    for part in ops.split(curves, 4, axis=-1):
        x = x + part * (ops.square(x) - x)
    smooth = ops.mean(ops.square(curves[:, 1:] - curves[:, :-1]), axis=(1, 2, 3))
    model = keras.Model(inputs, [x, smooth])
    model.compile(momentum(), ["mse", "mae"], loss_weights=[1.0, 200.0])
    return model, {"x0": images(12), "y0": images(12), "y1": numpy.zeros(ROWS, "float32")}


def involution():
    inputs = keras.Input((8, 8, 6))
    kernel = layers.ReLU()(layers.BatchNormalization()(layers.Conv2D(2, 1, use_bias=False)(inputs)))
    kernel = ops.reshape(layers.Conv2D(18, 1)(kernel), (-1, 8, 8, 9, 1, 2))
    patches = ops.reshape(ops.image.extract_patches(inputs, size=(3, 3), strides=1, padding="same"), (-1, 8, 8, 9, 3, 2))
    x = ops.reshape(ops.sum(kernel * patches, axis=3), (-1, 8, 8, 6))
    return labelled(keras.Model(inputs, softmax(layers.GlobalAveragePooling2D()(ops.relu(x)))), images(8, 6))


def attended_channels():
    """Squeeze and excitation, ECA and CBAM."""
    inputs = keras.Input((8, 8, 8))
    squeezed = layers.Conv2D(2, 1, activation="relu")(layers.GlobalAveragePooling2D(keepdims=True)(inputs))
    x = layers.Multiply()([inputs, layers.Conv2D(8, 1, activation="hard_sigmoid")(squeezed)])
    e = layers.Conv1D(1, 3, padding="same", use_bias=False)(ops.expand_dims(layers.GlobalAveragePooling2D()(x), -1))
    x = x * ops.expand_dims(ops.transpose(layers.Activation("sigmoid")(e), (0, 2, 1)), 1)
    one, two = layers.Dense(4, activation="relu"), layers.Dense(8)
    scores = two(one(layers.GlobalAveragePooling2D()(x))) + two(one(layers.GlobalMaxPooling2D()(x)))
    x = x * ops.sigmoid(scores)[:, None, None, :]
    places = layers.Concatenate()([ops.mean(x, axis=-1, keepdims=True), ops.max(x, axis=-1, keepdims=True)])
    x = x * layers.Conv2D(1, 3, padding="same", activation="sigmoid")(places)
    return labelled(keras.Model(inputs, softmax(layers.Flatten()(x))), images(8, 8))


def cycle_generator():
    inputs = keras.Input((12, 12, 3))
    x = layers.Conv2D(6, 7, use_bias=False)(ops.pad(inputs, [[0, 0], [3, 3], [3, 3], [0, 0]], mode="reflect"))
    x = layers.Activation("relu")(layers.GroupNormalization(groups=-1)(x))
    x = layers.ReLU()(layers.GroupNormalization(groups=8)(layers.Conv2D(8, 3, 2, padding="same", use_bias=False)(x)))
    x = layers.add([x, layers.Conv2D(8, 3)(ops.pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="symmetric"))])
    x = layers.GroupNormalization(-1)(layers.Conv2DTranspose(6, 3, strides=2, padding="same", output_padding=1)(x))
    model = keras.Model(inputs, layers.Activation("tanh", dtype="float32")(layers.Conv2D(3, 7, padding="same")(x)))
    return regression(model, images(12), images(12), loss="mae", optimizer=keras.optimizers.Adam(2e-4, beta_1=0.5, epsilon=1e-4))


def capsules():
    def squash(s):
        norm = ops.sum(ops.square(s), axis=-1, keepdims=True)
        return norm / (1 + norm) * s / ops.sqrt(norm + keras.config.epsilon())

    inputs = keras.Input((10, 10, 2))
    parts = squash(ops.reshape(layers.Conv2D(16, 3, 2)(inputs), (-1, 32, 8)))
    votes = layers.EinsumDense("bic,cjd->bijd", output_shape=(None, 4, 6))(parts)
    agreement = ops.zeros_like(votes[..., :1])
    for _ in range(3):
        whole = squash(ops.sum(ops.softmax(agreement, axis=2) * votes, axis=1, keepdims=True))
        agreement = agreement + ops.sum(votes * whole, axis=-1, keepdims=True)
    model = keras.Model(inputs, ops.norm(ops.squeeze(whole, 1), axis=-1))
    model.compile(momentum(), "categorical_hinge", metrics=["categorical_accuracy"])
    return model, {"x0": images(10, 2), "y0": numpy.eye(4, dtype="float32")[classes(4)]}


def point_clouds():
    """PointNet: learned transformations with orthogonal regularizers."""
    inputs = keras.Input((32, 3))

    def block(x, filters):
        return layers.Activation("relu")(layers.BatchNormalization(momentum=0.0)(layers.Conv1D(filters, 1, use_bias=False)(x)))

    def transformed(x, size):
        y = layers.GlobalMaxPooling1D()(block(block(x, 8), 16))
        y = layers.Dense(size * size, kernel_regularizer=regularizers.OrthogonalRegularizer(0.01, mode="columns"), activity_regularizer="l2", dtype="float32")(y)
        return ops.matmul(ops.cast(x, "float32"), layers.Reshape((size, size), dtype="float32")(y))

    x = layers.GlobalMaxPooling1D()(transformed(block(transformed(inputs, 3), 8), 8))
    return labelled(keras.Model(inputs, softmax(layers.Dense(12, activation="relu")(x))), numbers(32, 3))


# ---- Sequences ----------------------------------------------------------------------------------


def conformer():
    inputs = keras.Input((20, 8))
    x = inputs

    def feed(x):
        return 0.5 * layers.Dense(8)(layers.Dense(16, activation="silu")(layers.LayerNormalization()(x)))

    for _ in range(2):
        x = x + feed(x)
        y = layers.LayerNormalization()(x)
        x = x + layers.MultiHeadAttention(2, 4, use_bias=False)(y, y)
        y = ops.glu(layers.Conv1D(16, 1)(layers.LayerNormalization()(x)), axis=-1)
        y = layers.BatchNormalization()(layers.DepthwiseConv1D(5, padding="same", use_bias=False)(y))
        x = x + layers.Conv1D(8, 1)(ops.silu(y))
        x = layers.LayerNormalization()(x + feed(x))
    model = keras.Model(inputs, layers.Dense(6, dtype="float32")(x))
    schedule = keras.optimizers.schedules.CosineDecay(1e-4, 10, warmup_target=1e-3, warmup_steps=2)
    model.compile(keras.optimizers.SGD(schedule, momentum=0.9), losses.CTC())
    labels = numpy.concatenate([numpy.random.randint(1, 6, (ROWS, 4)), numpy.zeros((ROWS, 16), int)], axis=1)
    return model, {"x0": numbers(20, 8), "y0": labels.astype("int32")}


def spoken_words():
    inputs = keras.Input((400,))
    x = layers.MelSpectrogram(fft_length=64, sequence_stride=32, sequence_length=64, sampling_rate=1600, num_mel_bins=12, min_freq=20, max_freq=700)(inputs)
    x = layers.Conv2D(4, 3, padding="same", use_bias=False)(ops.expand_dims(layers.Permute((2, 1))(x), -1))
    x = layers.MaxPooling2D((1, 2))(layers.ReLU(max_value=6)(layers.BatchNormalization()(x)))
    x = layers.Reshape((-1, x.shape[2] * x.shape[3]))(x)
    x = layers.Bidirectional(layers.GRU(6, return_sequences=True), merge_mode="sum")(x)
    return labelled(keras.Model(inputs, softmax(layers.GlobalAveragePooling1D()(x))), numbers(400))


def wavenet():
    inputs = keras.Input((32, 1))
    x, skips = layers.Conv1D(6, 2, padding="causal")(inputs), []
    for rate in (1, 2, 4, 8):
        halves = [layers.Conv1D(6, 2, dilation_rate=rate, padding="causal", activation=a)(x) for a in ("tanh", "sigmoid")]
        skips.append(layers.Conv1D(6, 1)(layers.Multiply()(halves)))
        x = layers.Add()([x, skips[-1]])
    y = layers.Conv1D(8, 1, activation="relu")(layers.Activation("relu")(layers.Add()(skips)))
    return labelled(keras.Model(inputs, softmax(y, 10)), numbers(32, 1), count=10, shape=(32,))


def llama():
    """Rotary positions, grouped heads, SwiGLU."""
    inputs = keras.Input((10,), dtype="int32")
    frequencies = 1.0 / ops.power(10000.0, ops.arange(0, 4, 2, dtype="float32") / 4.0)
    angles = ops.einsum("i,j->ij", ops.arange(10, dtype="float32"), frequencies)

    def rotated(x):
        cosine, sine = [ops.cast(f(angles), x.dtype)[None, :, None, :] for f in (ops.cos, ops.sin)]
        one, two = ops.split(x, 2, axis=-1)
        return ops.concatenate([one * cosine - two * sine, two * cosine + one * sine], axis=-1)

    x = layers.Embedding(32, 16)(inputs)
    for _ in range(2):
        y = layers.RMSNormalization(epsilon=1e-6)(x)
        query, key, value = [layers.EinsumDense("btd,dhk->bthk", output_shape=(None, heads, 4))(y) for heads in (4, 2, 2)]
        key, value = ops.repeat(rotated(key), 2, axis=2), ops.repeat(value, 2, axis=2)
        y = ops.dot_product_attention(rotated(query), key, value, is_causal=True)
        x = x + layers.EinsumDense("bthk,hkd->btd", output_shape=(None, 16))(y)
        y = layers.RMSNormalization(epsilon=1e-6)(x)
        x = x + layers.Dense(16, use_bias=False)(ops.silu(layers.Dense(24, use_bias=False)(y)) * layers.Dense(24, use_bias=False)(y))
    model = keras.Model(inputs, layers.Dense(32, use_bias=False, dtype="float32")(layers.RMSNormalization()(x)))
    model.compile(keras.optimizers.AdamW(1e-3, weight_decay=0.1, beta_2=0.95, global_clipnorm=1.0, epsilon=1e-5),
                  losses.SparseCategoricalCrossentropy(from_logits=True), metrics=["sparse_categorical_accuracy"])  # fmt: skip
    return model, {"x0": tokens(10, 32), "y0": classes(32, (10,))}


def linear_attention():
    inputs = keras.Input((9, 6))
    query, key, value = [layers.Dense(6)(inputs) for _ in range(3)]
    query, key = ops.elu(query) + 1, ops.elu(key) + 1
    sums = ops.cumsum(ops.einsum("btd,bte->btde", key, value), axis=1)
    scale = 1 / (ops.einsum("btd,btd->bt", query, ops.cumsum(key, axis=1)) + 1e-3)
    return labelled(keras.Model(inputs, softmax(layers.Flatten()(ops.einsum("btd,btde,bt->bte", query, sums, scale)))), numbers(9, 6))


def fourier_convolution():
    inputs = keras.Input((16, 4))
    x = ops.transpose(layers.Activation("tanh", dtype="float32")(inputs), (0, 2, 1))
    kernel = layers.Dense(16, dtype="float32")(layers.GlobalAveragePooling1D(dtype="float32")(inputs))
    (a, b), (c, d) = ops.rfft(x, fft_length=32), ops.rfft(ops.expand_dims(kernel, 1), fft_length=32)
    y = ops.irfft((a * c - b * d, a * d + b * c), fft_length=32)[..., :16]
    return labelled(keras.Model(inputs, softmax(layers.Flatten()(y))), numbers(16, 4))


def switched_experts():
    """Each token goes to one of the experts, of which each takes three."""
    inputs = keras.Input((6, 8))
    gates = ops.softmax(layers.Dense(3, dtype="float32")(inputs))
    gate, index = [ops.squeeze(x, -1) for x in ops.top_k(gates, k=1)]
    chosen = ops.one_hot(index, 3, dtype="int32")
    place = ops.cumsum(chosen, axis=1) * chosen
    chosen = chosen * ops.cast(ops.less(place, 3), "int32")
    gate = gate * ops.cast(ops.sum(chosen, axis=-1), gate.dtype)
    slot = ops.one_hot(ops.maximum(ops.sum(place * chosen, axis=-1) - 1, 0), 3, dtype="float32")
    combine = ops.expand_dims(ops.expand_dims(gate, -1) * ops.cast(chosen, gate.dtype), -1) * ops.expand_dims(slot, -2)
    x = ops.einsum("btd,btec->becd", inputs, ops.cast(combine > 0, inputs.dtype))
    x = layers.Dense(8, activation="relu")(x)
    y = ops.einsum("becd,btec->btd", x, ops.cast(combine, x.dtype))
    return labelled(keras.Model(inputs, softmax(layers.Flatten()(y))), numbers(6, 8))


def shared_tables():
    """An encoder and a decoder whose words are one table, which is the output's matrix, too."""
    source, target = keras.Input((7,), dtype="int32"), keras.Input((6,), dtype="int32")
    words = layers.ReversibleEmbedding(24, 12, mask_zero=True)
    encoded, state = layers.GRU(12, return_sequences=True, return_state=True)(words(source))
    decoded = layers.GRU(12, return_sequences=True)(words(target), initial_state=state)
    x = layers.LayerNormalization()(layers.Add()([decoded, layers.MultiHeadAttention(2, 6)(decoded, encoded)]))
    model = keras.Model([source, target], words(x, reverse=True))
    model.compile(momentum(), losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0), weighted_metrics=["accuracy"])
    return model, {"x0": tokens(7, 24), "x1": tokens(6, 24), "y0": tokens(6, 24)}


def tagger():
    """Words and their letters, a mask, and a weight for each word."""
    words, letters = keras.Input((9,), dtype="int64"), keras.Input((9, 5), dtype="uint8")
    x = layers.TimeDistributed(layers.Embedding(12, 4))(letters)
    x = layers.TimeDistributed(layers.GlobalMaxPooling1D())(layers.TimeDistributed(layers.Conv1D(6, 3, padding="same", activation="tanh"))(x))
    x = layers.concatenate([layers.Embedding(30, 8, mask_zero=True)(words), x])
    x = layers.Bidirectional(layers.LSTM(6, return_sequences=True))(layers.SpatialDropout1D(0.0)(x))
    model = keras.Model([words, letters], layers.TimeDistributed(layers.Dense(5, activation="softmax", dtype="float32"))(x))
    model.compile("nadam", "sparse_categorical_crossentropy", weighted_metrics=["accuracy"])
    return model, {"x0": tokens(9, 30).astype("int64"), "x1": numpy.uint8(classes(12, (9, 5))), "y0": classes(5, (9,)),
                   "sample_weight": numpy.random.uniform(0.2, 2, (ROWS, 9)).astype("float32")}  # fmt: skip


def rows_by_index():
    """Vectors at places that an input says, as heads of masked language models take them."""
    inputs, places = keras.Input((8,), dtype="int32"), keras.Input((3,), dtype="int32")
    x = layers.Embedding(30, 8)(inputs)
    x = layers.LayerNormalization()(x + layers.MultiHeadAttention(2, 4, use_bias=False)(x, x))
    x = ops.take_along_axis(x, ops.expand_dims(places, -1), axis=1)
    x = layers.Dense(8)(x) * ops.expand_dims(ops.norm(x, ord=1, axis=(1, 2), keepdims=True)[:, :, 0], -1) * 0.1
    return labelled(keras.Model([inputs, places], softmax(x, 30)), tokens(8, 30), classes(8, (3,)), count=30, shape=(3,))


# ---- Tables -------------------------------------------------------------------------------------


def matrix_factors():
    """NeuMF with named inputs of 64-bit ids."""
    user, item = keras.Input((1,), name="user", dtype="int64"), keras.Input((1,), name="item", dtype="int64")

    def table(size, width, ids):
        return layers.Flatten()(layers.Embedding(size, width, embeddings_initializer="lecun_uniform", embeddings_regularizer="l2")(ids))

    x = layers.Concatenate()([table(20, 8, user), table(30, 8, item)])
    for units in (16, 8):
        x = layers.Dense(units, activation="relu", kernel_regularizer=regularizers.L1L2(1e-3, 1e-3))(x)
    x = layers.Concatenate()([layers.Multiply()([table(20, 6, user), table(30, 6, item)]), x])
    model = keras.Model({"user": user, "item": item}, layers.Dense(1, activation="sigmoid", dtype="float32")(x))
    model.compile(keras.optimizers.Adamax(0.01, epsilon=1e-3), "binary_crossentropy", metrics=[metrics.AUC(num_thresholds=50), "accuracy"])
    return model, {"user": classes(20, (1,)).astype("int64"), "item": classes(30, (1,)).astype("int64"), "y0": numpy.float32(classes(2, (1,)))}


def tab_transformer():
    kinds, amounts = keras.Input((4,), dtype="int32"), keras.Input((3,))
    x = layers.Embedding(20, 8)(kinds + numpy.array([0, 5, 10, 15], "int32")) + layers.Embedding(4, 8)(ops.arange(4))
    for _ in range(2):
        x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([layers.MultiHeadAttention(2, 4, use_bias=False)(x, x), x]))
        x = layers.LayerNormalization(epsilon=1e-6)(layers.Add()([keras.Sequential([layers.Dense(16, activation="gelu"), layers.Dense(8)])(x), x]))
    x = layers.concatenate([layers.Flatten()(x), layers.LayerNormalization(epsilon=1e-6)(amounts)])
    outputs = layers.Dense(1, activation="sigmoid", dtype="float32")(layers.Dense(16, activation="selu")(x))
    return binary(keras.Model([kinds, amounts], outputs), classes(5, (4,)), numbers(3))


def outputs_by_name():
    inputs = {"amounts": keras.Input((5,), name="amounts"), "ids": keras.Input((4,), dtype="int32", name="ids")}
    x = layers.Concatenate()([layers.Dense(6)(inputs["amounts"]), layers.GlobalAveragePooling1D()(layers.Embedding(9, 6)(inputs["ids"]))])
    outputs = {"kind": layers.Dense(3, activation="softmax", dtype="float32")(x), "value": layers.Dense(1, dtype="float32")(x),
               "flag": layers.Dense(1, activation="sigmoid", dtype="float32")(x)}  # fmt: skip
    model = keras.Model(inputs, outputs)
    model.compile(
        "rmsprop", loss_weights={"kind": 0.5, "value": 2.0, "flag": 1.0},
        loss={"kind": losses.SparseCategoricalCrossentropy(reduction="sum"), "value": "huber", "flag": losses.BinaryCrossentropy(label_smoothing=0.1)},
        metrics={"kind": ["accuracy", metrics.SparseTopKCategoricalAccuracy(2)], "value": metrics.RootMeanSquaredError()},
        weighted_metrics={"flag": [metrics.Precision(thresholds=0.3), metrics.AUC(curve="PR", num_thresholds=30)]},
    )  # fmt: skip
    return model, {"amounts": numbers(5), "ids": classes(9, (4,)), "kind": classes(3), "value": numbers(1), "flag": numpy.float32(classes(2, (1,)))}


def adapted_tables():
    amount, ids = keras.Input((1,)), keras.Input((3,), dtype="int64")
    buckets, lookup = layers.Discretization(num_bins=4, output_mode="one_hot"), layers.IntegerLookup(max_tokens=8, num_oov_indices=2, mask_token=0, output_mode="count")
    buckets.adapt(numbers(1))
    lookup.adapt(numpy.random.randint(0, 15, 50))
    x = layers.Concatenate()([ops.cast(buckets(amount), "float32"), ops.cast(lookup(ids), "float32"),
                              layers.CategoryEncoding(6, output_mode="multi_hot")(ops.mod(ids, 6))])  # fmt: skip
    return labelled(keras.Model([amount, ids], softmax(x)), numbers(1), classes(15, (3,)).astype("int64"))


MODELS = [
    swin, windows_of_layers, deeplab, retina_heads, nested_unet, enhancement_of_any_size, curves_of_light, involution, attended_channels, cycle_generator,
    capsules, point_clouds, conformer, spoken_words, wavenet, llama, linear_attention, fourier_convolution, switched_experts, shared_tables, tagger,
    rows_by_index, matrix_factors, tab_transformer, outputs_by_name, adapted_tables, *field_trainings.MODELS,
]  # fmt: skip


def check(number, tools, folder):
    build, policy = MODELS[number], list(TOLERANCES)[number % 3]
    keras.utils.set_random_seed(number)
    keras.config.set_dtype_policy(policy)
    model, data, *options = build()
    return compare(model, data, policy, f"model {number} {policy} {build.__name__}", tools, folder, STEPS, BATCH, *options)


if __name__ == "__main__":
    sys.exit(main(check, __doc__, len(MODELS)))
