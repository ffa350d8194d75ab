# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers with options that layer_options.py does not draw, run by real Keras and by mpc in the same way.

Dilations, output paddings, masks through layers, returned states, cells, attention over several axes, wrappers around
wrappers, regularisers, integer inputs, preprocessing. Usage: unusual_options.py BIN [CASES [FIRST]] [--only REGEX] [--keep FOLDER]
"""

import sys

import keras
import layer_options
import numpy
from keras import layers, ops
from layer_options import ACTIVATIONS, data_format, image
from media_options import augmented, augmented_in_training, spectrogram

EVERY_ACTIVATION = ACTIVATIONS + ["softmax", "log_softmax", "hard_tanh", "hard_shrink", "soft_shrink", "sparse_plus", "sparsemax", "squareplus",
                                  "sparse_sigmoid", "swish", "hard_swish"]  # fmt: skip


def between(d, low, high, rank):
    return d.choice([d.size(low, high), d.dims(rank, low, high)])


def convolution(d, rank):
    if rank == 1 and d.size(1, 3) == 1:
        return spectrogram(d)
    form, dilated = data_format(d), d.flag()
    padding = d.choice(["valid", "same"] + (["causal"] if rank == 1 and form == "channels_last" else []))
    groups = d.choice([1, 1, 2, 4])
    layer = getattr(layers, f"Conv{rank}D")(
        groups * d.size(1, 3), between(d, 1, 4, rank), strides=1 if dilated else between(d, 1, 4, rank), padding=padding, groups=groups,
        dilation_rate=between(d, 1, 4, rank) if dilated else 1, data_format=form, activation=d.choice(EVERY_ACTIVATION),
        kernel_regularizer=d.choice([None, "l2", keras.regularizers.OrthogonalRegularizer(0.02, mode=d.choice(["rows", "columns"])) if rank == 4 else "l1"]),
        activity_regularizer=d.choice([None, None, keras.regularizers.L2(0.01)]))  # fmt: skip
    return layer, [image(d, rank, form, 1 if padding != "valid" else 10, 14 if rank < 3 else 11, groups * d.size(1, 2))]


def transposed(d, rank):
    strides = between(d, 1, 3, rank)
    flat = strides if isinstance(strides, tuple) else (strides,) * rank
    out = d.choice([None, None, tuple(d.randrange(s) for s in flat)])
    form = data_format(d)
    layer = getattr(layers, f"Conv{rank}DTranspose")(
        d.size(1, 4), between(d, 1, 4, rank), strides=strides, padding=d.choice(["valid", "same"]), output_padding=out, data_format=form,
        dilation_rate=d.choice([1, 1, 2]), activation=d.activation(), use_bias=d.flag())  # fmt: skip
    return layer, [image(d, rank, form, 2, 6)]


def depthwise(d, rank):
    form, dilated = data_format(d), d.flag()
    padding = d.choice(["valid", "same"] + (["causal"] if rank == 1 and form == "channels_last" else []))
    options = dict(padding=padding, data_format=form, dilation_rate=between(d, 1, 3, rank) if dilated else 1, depth_multiplier=d.size(1, 3),
                   strides=1 if dilated else d.size(1, 3), activation=d.activation())  # fmt: skip
    if d.flag():
        return getattr(layers, f"DepthwiseConv{rank}D")(between(d, 1, 4, rank), **options), [image(d, rank, form, 10, 14)]
    return getattr(layers, f"SeparableConv{rank}D")(d.size(1, 4), between(d, 1, 4, rank), **options), [image(d, rank, form, 10, 14)]


def pool(d, rank):
    form, kind = data_format(d), d.choice(["Max", "Average"])
    return getattr(layers, f"{kind}Pooling{rank}D")(between(d, 1, 4, rank), strides=d.choice([None, between(d, 1, 4, rank)]),
                                                   padding=d.choice(["valid", "same"]), data_format=form), [image(d, rank, form, 4, 9)]  # fmt: skip


def adaptive(d, rank):
    form, kind = data_format(d), d.choice(["Max", "Average"])
    return getattr(layers, f"Adaptive{kind}Pooling{rank}D")(between(d, 1, 5, rank), data_format=form), [image(d, rank, form)]


def activation(d):
    name = d.choice(EVERY_ACTIVATION + ["glu"])
    shape = (*d.dims(d.size(0, 2), 1, 5), 2 * d.size(1, 4))
    return d.choice([layers.Activation(name), layers.Dense(2 * d.size(1, 4), activation=name)]), [shape]


def normalization(d):
    rank = d.size(1, 4)
    shape = d.dims(rank, 1, 5)
    kind = d.choice(["Batch", "Layer", "Group", "RMS", "Unit", "Normalization", "Spectral"])
    axes = d.choice([-1, list(range(1, rank + 1)), sorted(d.sample(range(1, rank + 1), d.size(1, rank)))])
    if kind == "Batch":
        layer = layers.BatchNormalization(axis=d.size(1, rank), momentum=d.choice([0.0, 0.5, 0.9]), gamma_regularizer=d.choice([None, "l2"]),
                                          beta_regularizer=d.choice([None, "l1"]), trainable=d.random() < 0.8)
        return (lambda x: layers.Dense(2)(layer(x))), [shape]
    if kind == "Layer":
        return layers.LayerNormalization(axis=axes, gamma_regularizer=d.choice([None, "l2"]), epsilon=d.choice([1e-3, 1e-12, 0.1])), [shape]
    if kind == "Group":
        form = d.choice([-1, 1])
        groups = d.size(1, 3)
        inner = list(d.dims(d.size(1, 3), 2, 4))
        inner.insert(0 if form == 1 else len(inner), groups * d.size(1, 3))
        return layers.GroupNormalization(groups, axis=form, center=d.flag(), scale=d.flag()), [tuple(inner)]
    if kind == "RMS":
        return layers.RMSNormalization(axis=axes, epsilon=d.choice([1e-6, 1e-2])), [shape]
    if kind == "Unit":
        return layers.UnitNormalization(axis=axes), [shape]
    if kind == "Normalization":
        axis = d.choice([-1, None, 1])
        extent = () if axis is None else (shape[axis - 1 if axis > 0 else axis],)
        layer = layers.Normalization(axis=axis, mean=numpy.arange(1, 1 + numpy.prod(extent)).reshape(extent) * 0.3,
                                     variance=numpy.full(extent, 0.7), invert=d.flag())
        return (lambda x: layers.Dense(2)(layer(x))), [shape]
    return layers.SpectralNormalization(layers.Dense(d.size(1, 4)), power_iterations=d.size(1, 3)), [shape]


def masked(d):
    """Token ids, or vectors some of which are zero, and layers that see their masks."""
    tokens, width, steps = d.size(3, 6), d.size(2, 5), d.size(2, 6)

    def call(x):
        y = layers.Embedding(tokens, width, mask_zero=True)(x)
        for _ in range(d.size(1, 3)):
            kind = d.randrange(14)
            if kind == 0:
                y = layers.Dropout(0.0)(y)
            elif kind == 1:
                y = layers.LSTM(width, return_sequences=True, recurrent_initializer="glorot_uniform", go_backwards=d.flag())(y)
            elif kind == 2:
                y = layers.Bidirectional(layers.GRU(width, return_sequences=True, recurrent_initializer="glorot_uniform"), merge_mode="sum")(y)
            elif kind == 3:
                y = layers.MultiHeadAttention(2, 2)(y, y, use_causal_mask=d.flag())
            elif kind == 4:
                y = layers.Add()([y, layers.Dense(width)(y)])
            elif kind == 5:
                y = layers.Concatenate()([y, y])
                y = layers.Dense(width)(y)
            elif kind == 6:
                y = layers.TimeDistributed(layers.Dense(width, activation="tanh"))(y)
            elif kind == 7:
                y = layers.LayerNormalization()(y)
            elif kind == 8:
                y = layers.Attention()([y, y])
            elif kind == 9:
                y = layers.Activation("tanh")(y * 0.5)
            elif kind == 10:
                y = layers.BatchNormalization(momentum=0.5)(y)
            elif kind == 11:
                y = layers.Permute((1, 2))(layers.SpatialDropout1D(0.0)(y))
            elif kind == 12:
                y = layers.GroupQueryAttention(2, 2, 1)(y, y)
            else:
                y = layers.RNN([layers.SimpleRNNCell(width), layers.GRUCell(width)], return_sequences=True)(y) if d.flag() else layers.ConvLSTM1D(
                    width, 2, padding="same", return_sequences=False, recurrent_initializer="glorot_uniform")(layers.Reshape((steps, width, 1))(y))
        end = d.choice([layers.GlobalAveragePooling1D, lambda: layers.SimpleRNN(2, recurrent_initializer="glorot_uniform"), None])
        return end()(y) if end and len(y.shape) == 3 else y

    return call, [("ids", tokens, (steps,))]


def masking(d):
    steps, width = d.size(2, 6), d.size(1, 4)
    layer = getattr(layers, d.choice(["LSTM", "GRU", "SimpleRNN"]))(
        d.size(1, 4), return_sequences=d.flag(), go_backwards=d.flag(), recurrent_initializer="glorot_uniform")
    value = d.choice([0.0, 0.0, 1.0])
    return (lambda x: layer(layers.Masking(value)(ops.relu(x) if value == 0.0 else x))), [(steps, width)]


def states(d):
    """Recurrent layers that return or are given their states; cells; unrolled."""
    units, steps, width = d.size(1, 5), d.size(1, 6), d.size(1, 5)
    kind = d.choice(["LSTM", "GRU", "SimpleRNN", "cells", "bidirectional", "conv"])
    options = dict(return_sequences=d.flag(), unroll=d.random() < 0.3, recurrent_initializer="glorot_uniform")
    if kind == "cells":
        cells = [d.choice([layers.LSTMCell, layers.GRUCell, layers.SimpleRNNCell])(d.size(1, 4), recurrent_initializer="glorot_uniform",
                                                                                 activation=d.choice(["tanh", "relu"])) for _ in range(d.size(1, 3))]  # fmt: skip
        layer = layers.RNN(cells if len(cells) > 1 or d.flag() else cells[0], return_sequences=d.flag(), go_backwards=d.flag(), unroll=d.random() < 0.3)
        return layer, [(steps, width)]
    if kind == "bidirectional":
        cls = d.choice([layers.LSTM, layers.GRU])
        backward = d.choice([None, cls(units, go_backwards=True, activation="relu", return_sequences=options["return_sequences"], recurrent_initializer="glorot_uniform")])
        options.pop("unroll")
        layer = layers.Bidirectional(cls(units, **options), merge_mode=d.choice(["concat", "sum", "mul", "ave", None]), backward_layer=backward)
        return layer, [(steps, width)]
    if kind == "conv":
        rank, form = d.size(1, 2), data_format(d)
        layer = getattr(layers, f"ConvLSTM{rank}D")(
            d.size(1, 3), d.size(1, 3), strides=d.size(1, 2), padding=d.choice(["same", "valid"]), data_format=form, return_sequences=d.flag(),
            activation=d.choice(["tanh", "relu"]), recurrent_activation=d.choice(["sigmoid", "hard_sigmoid"]), use_bias=d.flag(),
            go_backwards=d.flag(), recurrent_initializer="glorot_uniform")
        return layer, [(d.size(1, 3), *image(d, rank, form, 4, 6, d.size(1, 3)))]
    count = 2 if kind == "LSTM" else 1
    layer = getattr(layers, kind)(units, return_state=True, **options)
    if d.flag():
        return (lambda x, *s: list(layer(x, initial_state=list(s)))), [(steps, width), *[(units,)] * count]
    return (lambda x: list(layer(x))), [(steps, width)]


def cell_policies(d):
    """Stacks and cells with policies of their own. Masks only where all compute in one dtype: elsewhere Keras refuses them."""
    names = d.choice([["mixed_bfloat16", "bfloat16"], ["mixed_float16", "float16"], ["float32", "mixed_bfloat16"], ["float32", "mixed_float16"],
                      ["float32", "float64"], ["float64", "mixed_bfloat16", "mixed_float16", "float32"]])  # fmt: skip
    cells = [d.choice([layers.LSTMCell, layers.GRUCell, layers.SimpleRNNCell])(d.size(1, 4), recurrent_initializer="glorot_uniform", dtype=d.choice(names))
             for _ in range(d.size(2, 3))]  # fmt: skip
    options = dict(return_sequences=d.flag(), go_backwards=d.random() < 0.3, unroll=d.random() < 0.3, return_state=d.flag(), dtype=d.choice(names))
    layer = layers.RNN(layers.StackedRNNCells(cells, dtype=d.choice(names)), zero_output_for_mask=d.random() < 0.3, **options)
    masking = layers.Masking(-3.0, dtype="float32")
    shapes = [(d.size(1, 6), d.size(1, 5))]
    if d.flag():
        shapes += [(size,) for cell in cells for size in keras.tree.flatten(cell.state_size)]

    def apply(x, *states):
        if names[0] == "mixed_" + names[1]:
            # Whole steps that are left out: some of the first, some of the others.
            x = masking(ops.where(ops.floor(x[:, :, :1] * 2.0) == 0.0, -3.0, x))
        given = iter(states)
        nested = [[next(given) for _ in keras.tree.flatten(cell.state_size)] for cell in cells] if states else None
        return keras.tree.flatten(layer(x, initial_state=nested) if nested else layer(x))

    return apply, shapes


def attention(d):
    """Rank 4, several axes, masks as inputs, separate keys, scores returned."""
    heads, key = d.size(1, 3), d.size(1, 4)
    kind = d.choice(["axes", "mask", "scores", "key", "gate", "window", "grouped", "plain"])
    if kind == "axes":
        layer = layers.MultiHeadAttention(heads, key, attention_axes=d.choice([(1,), (2,), (1, 2), None]), output_shape=d.choice([None, 3]))
        shape = (d.size(1, 4), d.size(1, 4), d.size(1, 4))
        return (lambda q: layer(q, q)), [shape]
    steps, others, width = d.size(1, 5), d.size(1, 5), d.size(1, 5)
    layer = layers.MultiHeadAttention(heads, key, value_dim=d.choice([None, d.size(1, 4)]), use_bias=d.flag(), use_gate=kind == "gate",
                                      sliding_window=d.size(1, 4) if kind == "window" else None)  # fmt: skip
    if kind == "mask":
        shape = d.choice([(steps, others), (1, others), (steps, 1)])
        return (lambda q, v, m: layer(q, v, attention_mask=m, use_causal_mask=d.flag())), [(steps, width), (others, width), ("bool", 2, shape)]
    if kind == "scores":
        return (lambda q, v: list(layer(q, v, return_attention_scores=True))), [(steps, width), (others, width)]
    if kind == "key":
        return (lambda q, v, k: layer(q, v, k)), [(steps, width), (others, width), (others, d.size(1, 4))]
    if kind == "grouped":
        groups = d.size(1, 2)
        grouped = layers.GroupQueryAttention(d.size(1, 4), groups * d.size(1, 3), groups, use_gate=d.flag(), use_bias=d.flag())
        return (lambda q, v, m: grouped(q, v, attention_mask=m)), [(steps, width), (others, width), ("bool", 2, (steps, others))]
    if kind == "plain":
        plain = d.choice([layers.Attention(use_scale=d.flag(), score_mode=d.choice(["dot", "concat"])), layers.AdditiveAttention(use_scale=d.flag())])
        scores = d.flag()
        return (lambda q, v, k, m: (list if scores else lambda y: y)(plain([q, v, k], mask=[None, m], return_attention_scores=scores))), [
            (steps, width), (others, d.size(1, 4)), (others, width), ("bool", 2, (others,))]  # fmt: skip
    return (lambda q, v: layer(q, v)), [(steps, width), (others, width)]


def wrapped(d):
    kind, steps = d.randrange(6), d.size(1, 4)
    if kind == 0:
        return layers.TimeDistributed(layers.Conv2D(d.size(1, 3), 2, padding="same", activation=d.activation())), [(steps, *image(d, 2, "channels_last", 3, 5))]
    if kind == 1:
        return layers.TimeDistributed(layers.LSTM(d.size(1, 3), recurrent_initializer="glorot_uniform")), [(steps, *d.dims(2, 1, 4))]
    if kind == 2:
        inner = keras.Input((4,))
        model = keras.Model(inner, layers.Dense(2, activation="tanh")(layers.BatchNormalization()(inner)))
        return layers.TimeDistributed(model), [(steps, 4)]
    if kind == 3:
        return layers.TimeDistributed(layers.TimeDistributed(layers.Dense(d.size(1, 3)))), [d.dims(3, 1, 4)]
    if kind == 4:
        return layers.TimeDistributed(d.choice([layers.Flatten(), layers.MaxPooling1D(2), layers.GlobalAveragePooling1D(), layers.Reshape((-1, 1)),
                                                layers.BatchNormalization(), layers.PReLU()])), [(steps, *d.dims(2, 2, 4))]  # fmt: skip
    return layers.TimeDistributed(layers.Dense(3, activity_regularizer="l2", kernel_regularizer="l1")), [d.dims(d.size(2, 3), 1, 4)]


def resampling(d):
    form = data_format(d)
    kind = d.randrange(6)
    if kind < 3:
        crop = d.choice([dict(), dict(crop_to_aspect_ratio=True), dict(pad_to_aspect_ratio=True, fill_value=d.choice([0.0, 0.5]))])
        return layers.Resizing(d.size(1, 9), d.size(1, 9), interpolation=d.choice(["bilinear", "nearest", "bicubic", "lanczos3", "lanczos5"]),
                               antialias=d.random() < 0.3, data_format=form, **crop), [image(d, 2, form, 1, 9)]  # fmt: skip
    if kind == 3:
        return layers.CenterCrop(d.size(1, 8), d.size(1, 8), data_format=form), [image(d, 2, form, 3, 8)]
    if kind == 4:
        return layers.UpSampling2D(between(d, 1, 3, 2), data_format=form, interpolation=d.choice(["nearest", "bilinear", "bicubic"])), [image(d, 2, form, 1, 5)]
    rank = d.size(1, 3)
    cls = getattr(layers, f"{d.choice(['ZeroPadding', 'Cropping'])}{rank}D")
    return cls(between(d, 0, 1, rank)), [image(d, rank, "channels_last", 3, 6)]


def merge(d):
    rank = d.size(1, 4)
    shape = d.dims(rank, 1, 4)
    kind = d.choice(["Dot", "Concatenate", "Multiply", "Add", "Maximum"])
    if kind == "Dot":
        a, b, c = d.dims(3, 1, 5)
        axes, shapes = d.choice([(1, [(a, b), (a, c)]), (2, [(a, b), (c, b)]), ((1, 2), [(b, a), (c, b)]), (1, [(a,), (a,)]), (-1, [(a, b), (c, b)]),
                                 ((2, 1), [(c, a), (a, b)]), ((3, 1), [(2, c, a), (a, b)])])  # fmt: skip
        layer = layers.Dot(axes, normalize=d.flag())
        return (lambda *x: layer(list(x))), shapes
    layer = layers.Concatenate(d.choice([-1, d.size(1, rank)])) if kind == "Concatenate" else getattr(layers, kind)()
    return (lambda *x: layer(list(x))), [shape] * d.size(2, 4)


def integers(d):
    """Inputs that are no floats."""
    kind, dtype = d.randrange(7), d.choice(["uint8", "int32"])
    if kind == 0:
        return (lambda x: layers.Dense(3)(layers.Rescaling(1 / 255)(x))), [(dtype, 200, d.dims(d.size(1, 2), 1, 4))]
    if kind == 1:
        return (lambda x: layers.Conv2D(2, 2)(layers.Rescaling(1 / 127.5, offset=-1)(x))), [(dtype, 200, image(d, 2, "channels_last"))]
    if kind == 2:
        encode = layers.CategoryEncoding(5, output_mode=d.choice(["multi_hot", "one_hot"]))
        return (lambda x: layers.Dense(3)(encode(x))), [("ids", 5, (d.size(1, 1) if encode.output_mode == "one_hot" else d.size(1, 5),))]
    if kind == 3:
        count = layers.CategoryEncoding(5, output_mode="count")
        return (lambda x: layers.Dense(3)(count(x))), [("ids", 5, (d.size(1, 5),))]
    if kind == 4:
        return (lambda x: layers.Embedding(6, 3)(layers.Discretization([-0.5, 0.0, 0.7, 1.5])(x))), [d.dims(1, 1, 5)]
    if kind == 5:
        encode = layers.Discretization([-0.5, 0.0, 0.7], output_mode=d.choice(["one_hot", "multi_hot", "count"]))
        return (lambda x: layers.Dense(3)(encode(x))), [(1,) if encode.output_mode == "one_hot" else d.dims(1, 1, 5)]
    return (lambda x: layers.Dense(2)(ops.one_hot(x, 6))), [("ids", 6, d.dims(1, 1, 4))]


def regularized(d):
    regularizer = lambda: d.choice([None, keras.regularizers.L1(0.02), keras.regularizers.L2(0.03), keras.regularizers.L1L2(0.01, 0.02),
                                    keras.regularizers.OrthogonalRegularizer(0.05, mode=d.choice(["rows", "columns"]))])  # fmt: skip
    activity = d.choice([None, keras.regularizers.L1L2(0.01, 0.02), keras.regularizers.L2(0.1)])
    bias = d.choice([None, keras.regularizers.L2(0.1)])
    kind = d.randrange(5)
    if kind == 0:
        return layers.Dense(d.size(1, 5), activation="tanh", kernel_regularizer=regularizer(), bias_regularizer=bias, activity_regularizer=activity), [d.dims(d.size(1, 2), 1, 5)]
    if kind == 1:
        layer = layers.LSTM(d.size(1, 4), kernel_regularizer=regularizer(), recurrent_regularizer=regularizer(), bias_regularizer=bias,
                            activity_regularizer=activity, return_sequences=d.flag(), recurrent_initializer="glorot_uniform")
        return layer, [d.dims(2, 1, 5)]
    if kind == 2:
        return (lambda x: layers.Dense(2)(layers.ActivityRegularization(0.01, 0.02)(x))), [d.dims(2, 1, 5)]
    if kind == 3:
        layer = layers.MultiHeadAttention(2, 3, kernel_regularizer=d.choice([None, "l2"]), bias_regularizer=bias, activity_regularizer=activity)
        return (lambda q: layer(q, q)), [d.dims(2, 1, 4)]
    layer = layers.Embedding(6, 3, embeddings_regularizer=d.choice([None, "l2", "l1"]), activity_regularizer=activity)
    return layer, [("ids", 6, d.dims(1, 1, 5))]


def composed(d):
    """Nested models of several inputs and outputs, shared layers, dictionaries."""
    width = d.size(1, 5)
    a, b = keras.Input((width,), name="a"), keras.Input((width,), name="b")
    shared = layers.Dense(width, activation="tanh")
    y = layers.Add()([shared(a), shared(b)])
    inner = keras.Model([a, b] if d.flag() else {"a": a, "b": b}, [y, layers.Multiply()([shared(y), b])])
    named = isinstance(inner.input, dict)

    def call(x, y):
        first, second = inner({"a": x, "b": y} if named else [x, y])
        third, fourth = inner({"a": second, "b": first} if named else [second, first])
        return [layers.Concatenate()([first, third]), fourth, shared(third)]

    return call, [(width,), (width,)]


def random_layers(d):
    """Identities at inference, and in training where they draw nothing."""
    layer = d.choice([layers.Dropout(0.0), layers.SpatialDropout1D(0.0), layers.GaussianNoise(0.0), layers.GaussianDropout(0.0), layers.AlphaDropout(0.0)])
    return (lambda x: layers.Dense(2)(layer(x))), [d.dims(2, 1, 4)]


def reversible(d):
    tokens, width, steps = d.size(3, 6), d.size(1, 4), d.size(1, 4)
    layer = layers.ReversibleEmbedding(tokens, width, tie_weights=d.flag(), logit_soft_cap=d.choice([None, 5.0]))
    return (lambda x: layer(layers.Dense(width)(layer(x)), reverse=True)), [("ids", tokens, (steps,))]


def recorded_vectors(d):
    """keras.ops on [rows, a, b]."""
    a, b = d.size(2, 6), d.size(2, 6)
    other, constant = numpy.random.RandomState(d.size(1, 99)).randn(a, b).astype("float32"), numpy.arange(3.0, dtype="float32")
    axis, keep = d.choice([1, 2, -1]), d.flag()
    operation = d.choice([
        lambda x: ops.average(x, axis=axis), lambda x: ops.average(x, axis=2, weights=numpy.arange(1.0, b + 1, dtype="float32")),
        lambda x: ops.cast(ops.count_nonzero(ops.relu(x), axis=axis), "float32") + ops.sum(x, axis=axis), lambda x: ops.nan_to_num(x * 2.0),
        lambda x: ops.nan_to_num(ops.log(x)), lambda x: ops.median(x, axis=axis, keepdims=keep), lambda x: ops.ptp(x, axis=axis),
        lambda x: ops.quantile(x, d_quantile, axis=axis, method=method, keepdims=keep), lambda x: ops.trapezoid(x, dx=0.5, axis=axis),
        lambda x: ops.nanmean(ops.log(x) * 0.0 + x, axis=axis), lambda x: ops.nansum(ops.sqrt(x), axis=axis, keepdims=keep),
        lambda x: ops.nanmax(ops.sqrt(x), axis=axis), lambda x: ops.fmod(x, 0.7), lambda x: ops.logaddexp2(x, x * 0.5), lambda x: ops.sinc(x),
        lambda x: ops.erfc(x), lambda x: ops.append(x, x * 2.0, axis=axis), lambda x: ops.fliplr(x),
        lambda x: ops.where(ops.isclose(x, 0.0, atol=0.3), x, x * 0.5), lambda x: ops.inner(x, other), lambda x: ops.diagonal(x, axis1=1, axis2=2),
        lambda x: ops.trace(x, axis1=1, axis2=2), lambda x: x * ops.cast(ops.searchsorted(constant - 1.0, x), x.dtype),
        lambda x: x * ops.cast(ops.digitize(x, numpy.array([-0.5, 0.0, 0.4])), x.dtype),
        lambda x: ops.layer_normalization(x, numpy.arange(1.0, b + 1, dtype="float32"), numpy.ones(b, "float32"), axis=-1),
        lambda x: ops.rms_normalization(x, numpy.arange(1.0, b + 1, dtype="float32"), axis=-1),
        lambda x: ops.batch_normalization(x, numpy.arange(b, dtype="float32"), numpy.arange(1.0, b + 1, dtype="float32"), axis=-1),
        lambda x: ops.categorical_crossentropy(ops.softmax(x * 2.0), ops.softmax(x)), lambda x: ops.binary_crossentropy(ops.sigmoid(x * 3.0), x, from_logits=True),
        lambda x: ops.rearrange(x, "n a b -> n (b a)"), lambda x: ops.rearrange(x, "n a b -> n b a"),
        lambda x: ops.select([x > 0.5, x > 0.0], [x, x * 0.5], default=0.1), lambda x: ops.full_like(x, 2.0) * x,
        lambda x: ops.cdist(x, x * 0.5 + 1.0) if hasattr(ops, "cdist") else x, lambda x: ops.convert_to_tensor(x) * 2.0,
        lambda x: ops.cross(x[:, :, :1] * constant, x[:, :, 1:2] + constant), lambda x: ops.nanstd(ops.sqrt(x), axis=axis),
    ])  # fmt: skip
    d_quantile, method = d.choice([0.0, 0.25, 0.5, 0.9]), d.choice(["linear", "lower", "higher", "nearest", "midpoint"])
    return (lambda x: operation(x) * 0.5), [(a, b)]


def recorded_angles(d):
    a, b = d.size(1, 5), d.size(1, 6)
    operation = d.choice([
        lambda x: ops.arctan(x * 3.0), lambda x: ops.arctan2(x, x[:, ::-1]), lambda x: ops.arctan2(x, -0.7), lambda x: ops.arctan2(0.3, x),
        lambda x: ops.arcsin(ops.tanh(x)), lambda x: ops.arccos(ops.tanh(x)), lambda x: ops.arcsin(x), lambda x: ops.where(ops.signbit(x), x, 0.5 * x),
    ])  # fmt: skip
    dense = layers.Dense(b)
    return (lambda x: operation(dense(x)) * 0.5), [(a, b)]


def recorded_integers(d):
    """Quotients and bits; the divisors are not 0, where TensorFlow ends."""
    dtype, shape = d.choice(["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"]), (d.size(1, 5), d.size(1, 6))
    signed = not dtype.startswith("u")
    number = d.size(2, 9) * (-1 if signed and d.flag() else 1)
    operation = d.choice([
        lambda x, y: x // (y | ops.ones_like(y)), lambda x, y: x % (y * y % 5 + 1), lambda x, y: x // number, lambda x, y: x % number,
        lambda x, y: ops.bitwise_and(x, y), lambda x, y: ops.bitwise_or(x, y), lambda x, y: ops.bitwise_xor(x, y), lambda x, y: ops.bitwise_not(x),
        lambda x, y: ops.left_shift(x, y % 6), lambda x, y: ops.right_shift(x, y % 6), lambda x, y: x ** 3, lambda x, y: ops.signbit(x),
    ])  # fmt: skip
    center = 40 if signed else 0
    return (lambda x, y: layers.Dense(2)(ops.cast(operation(x - center, y), "float32") * 0.1)), [(dtype, 90, shape), (dtype, 90, shape)]


def recorded_matrices(d):
    n, columns = d.size(1, 4), d.size(1, 3)

    def positive(x):
        return ops.matmul(x, ops.transpose(x, (0, 2, 1))) + numpy.eye(n, dtype="float32") * 2.0

    operation = d.choice([
        lambda x: ops.det(positive(x)), lambda x: ops.inv(positive(x)), lambda x: ops.cholesky(positive(x)), lambda x: ops.det(x),
        lambda x: ops.solve(positive(x), x[:, :, :columns]), lambda x: ops.norm(x, axis=(1, 2)), lambda x: ops.inv(x + numpy.eye(n, dtype="float32") * 9.0),
    ])  # fmt: skip
    return (lambda x: operation(x) * 0.5), [(n, n)]


def recorded_images(d):
    form = "channels_last"
    shape = image(d, 2, form, 4, 8, d.choice([3, 4]))
    height, width, channels = shape
    kernel = numpy.random.RandomState(d.size(1, 99)).randn(2, 3, channels, 4).astype("float32")
    padding, stride = d.choice(["valid", "same"]), d.size(1, 3)
    size, crop, keep = (d.size(2, 9), d.size(2, 9)), d.flag(), d.choice(["bilinear", "nearest", "bicubic"])
    operation = d.choice([
        lambda x: ops.max_pool(x, 2, strides=stride, padding=padding), lambda x: ops.average_pool(x, (2, 3), padding=padding),
        lambda x: ops.conv(x, kernel, strides=stride, padding=padding), lambda x: ops.depthwise_conv(x, kernel, padding=padding),
        lambda x: ops.separable_conv(x, kernel[..., :2], numpy.ones((1, 1, channels * 2, 3), "float32") * 0.3, padding=padding),
        lambda x: ops.image.resize(x, size, interpolation=keep, crop_to_aspect_ratio=crop), lambda x: ops.image.rgb_to_grayscale(x[..., :3]),
        lambda x: ops.image.crop_images(x, top_cropping=1, left_cropping=0, target_height=2, target_width=3),
        lambda x: ops.image.pad_images(x, top_padding=1, left_padding=2, bottom_padding=0, right_padding=1),
        lambda x: ops.image.extract_patches(x, 2), lambda x: ops.image.extract_patches(x, (2, 3), strides=stride, padding=padding),
        lambda x: ops.image.extract_patches(x, 2, strides=1, dilation_rate=2, padding=padding),
        lambda x: ops.rearrange(x, "n h w c -> n w (c h)"),
        lambda x: ops.space_to_depth(x[:, : height // 2 * 2, : width // 2 * 2], 2) if hasattr(ops, "space_to_depth") else x,
        lambda x: ops.depth_to_space(ops.concatenate([x] * 4, axis=-1), 2) if hasattr(ops, "depth_to_space") else x,
        lambda x: ops.slice_update(x, (0, 1, 1, 0), x[:, 1:, 1:] * 2.0),
    ])  # fmt: skip
    return (lambda x: operation(x) * 0.5), [shape]


FAMILIES = {
    **{f"convolution{r}": (lambda d, r=r: convolution(d, r)) for r in (1, 2, 3)},
    **{f"transposed{r}": (lambda d, r=r: transposed(d, r)) for r in (1, 2, 3)},
    **{f"depthwise{r}": (lambda d, r=r: depthwise(d, r)) for r in (1, 2)},
    **{f"pool{r}": (lambda d, r=r: pool(d, r)) for r in (1, 2, 3)},
    **{f"adaptive{r}": (lambda d, r=r: adaptive(d, r)) for r in (1, 2)},
    "activation": activation, "normalization": normalization, "masked": masked, "masking": masking, "states": states, "attention": attention,
    "wrapped": wrapped, "resampling": resampling, "merge": merge, "integers": integers, "regularized": regularized, "composed": composed,
    "random": random_layers, "reversible": reversible, "augmented": augmented,
    "recorded_vectors": recorded_vectors, "recorded_matrices": recorded_matrices, "recorded_images": recorded_images,
    "recorded_vectors2": recorded_vectors, "recorded_images2": recorded_images,
    "masked2": masked, "attention2": attention, "states2": states, "cell_policies": cell_policies,
    "recorded_angles": recorded_angles, "recorded_integers": recorded_integers, "augmented_in_training": augmented_in_training,
}  # fmt: skip


if __name__ == "__main__":
    layer_options.FAMILIES = FAMILIES
    layer_options.__doc__ = __doc__
    sys.exit(layer_options.main())
