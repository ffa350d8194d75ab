# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes models of tf_keras as cases of the form that test/Conformance/keras2.py reads.

  test/Long/keras2_models.py FOLDER [NAME …]

A function is a row of docs/keras-2.md, or a kind of file; each makes one model per form of file.
"""

import json
import os
import sys

import numpy
import tensorflow as tf
import tf_keras as keras

L = keras.layers
random = numpy.random.default_rng(7)
MODELS = {}


def model(function):
    MODELS[function.__name__] = function
    return function


def normal(*shape):
    return random.normal(0, 1, shape).astype("float32")


def ids(limit, *shape):
    return random.integers(0, limit, shape).astype("float32")


def flags(*shape):
    return random.random(shape) > 0.4


def give_weights(made):
    values = []
    for weight in made.weights:
        shape = weight.shape.as_list()
        if "variance" in weight.name:
            values.append(random.uniform(0.5, 2, shape))
        else:
            values.append(weight.numpy() if weight.dtype.is_integer else random.normal(0, 0.5, shape))
    made.set_weights(values)


def write(folder, form, made, inputs, tolerance=2e-5):
    """`made` may hold what it is to predict already (an adapted layer): then no weights are given."""
    os.makedirs(folder)
    arrays = dict(zip(made.input_names, inputs))
    outputs = made.predict(arrays if len(arrays) > 1 else inputs[0], batch_size=len(inputs[0]), verbose=0)
    outputs = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    if form == "json":
        with open(os.path.join(folder, "model.json"), "w") as handle:
            handle.write(made.to_json())
        made.save_weights(os.path.join(folder, "weights.h5"))
    else:
        made.save(os.path.join(folder, f"model.{form}"))
    numpy.savez(os.path.join(folder, "x.npz"), **arrays)
    numpy.savez(os.path.join(folder, "y.npz"), **{f"out{i}": numpy.asarray(y, "float32") for i, y in enumerate(outputs)})
    with open(os.path.join(folder, "meta.json"), "w") as handle:
        json.dump({"keras": "2.16.0", "kind": "predict", "tolerance": tolerance, "outputs": len(outputs)}, handle)


@model
def activation_names():
    x = L.Input((6,))
    names = ["elu", "exponential", "gelu", "hard_sigmoid", "linear", "mish", "relu", "selu", "sigmoid", "softmax", "softplus", "softsign",
             "swish", "tanh", tf.nn.leaky_relu, tf.nn.softmax]  # fmt: skip
    return keras.Model(x, [L.Dense(3, activation=name)(x) for name in names]), [3 * normal(5, 6)]


@model
def activation_objects():
    x = L.Input((6,))
    y = L.Dense(5, activation=L.LeakyReLU(0.1))(x)
    return keras.Model(x, L.Dense(5, activation=L.ELU(0.7))(y)), [normal(4, 6)]


@model
def activation_layers():
    x = L.Input((4, 5))
    layers = [L.LeakyReLU(0.2), L.ReLU(1.0, 0.1, 0.2), L.PReLU(shared_axes=[1]), L.ELU(0.5), L.Softmax(axis=[1, 2]), L.ThresholdedReLU(0.3)]
    return keras.Model(x, [layer(x) for layer in layers]), [normal(3, 4, 5)]


@model
def masked_softmax():
    x, mask = L.Input((5, 3)), L.Input((5, 3), dtype="bool")
    return keras.Model([x, mask], L.Softmax()(x, mask)), [normal(3, 5, 3), flags(3, 5, 3)]


@model
def merged_masks():
    a, b, c = L.Input((6,)), L.Input((6,)), L.Input((6, 4))
    first, second = (L.Embedding(9, 4, mask_zero=True)(x) for x in (a, b))
    outputs = [L.LSTM(3)(layer()([first, second, c])) for layer in (L.Add, L.Multiply, L.Average, L.Maximum, L.Minimum)]
    outputs += [L.GRU(3)(L.Subtract()([first, c])), L.GRU(3)(L.Concatenate()([first, second])), L.GRU(3)(L.Concatenate()([first, c]))]
    return keras.Model([a, b, c], outputs), [ids(3, 5, 6), ids(3, 5, 6), normal(5, 6, 4)]


@model
def bidirectional():
    x, outputs = L.Input((5, 3)), []
    for cell in (L.LSTM, L.GRU, L.SimpleRNN):
        for mode in ("concat", "sum", "mul", "ave"):
            outputs.append(L.Bidirectional(cell(4, return_sequences=mode == "sum"), merge_mode=mode)(x))
    outputs.append(L.Bidirectional(L.RNN(L.GRUCell(3)))(x))
    return keras.Model(x, outputs), [normal(3, 5, 3)]


@model
def recurrent_states():
    x, h, c = L.Input((5, 3)), L.Input((4,)), L.Input((4,))
    y = L.LSTM(4, return_state=True)(x, initial_state=[h, c])
    both = L.Bidirectional(L.LSTM(4, return_state=True))(x, initial_state=[h, c, c, h])
    outputs = [*y, *both, L.GRU(4, go_backwards=True)(x, initial_state=h), L.SimpleRNN(4)(x, initial_state=y[2])]
    return keras.Model([x, h, c], outputs), [normal(3, 5, 3), normal(3, 4), normal(3, 4)]


@model
def recurrent_cells():
    x = L.Input((5, 3))
    y = L.RNN([L.LSTMCell(4), L.GRUCell(3, reset_after=False)], return_sequences=True)(x)
    z = L.RNN(L.LSTMCell(4, recurrent_activation="hard_sigmoid"), return_state=True)(y)
    return keras.Model(x, [*z, L.RNN(L.StackedRNNCells([L.SimpleRNNCell(2), L.GRUCell(2)]))(y)]), [normal(3, 5, 3)]


@model
def recurrent_states_masks():
    """The mask of the sequences counts, whatever else a layer is called with."""
    x, h, c = L.Input((6,)), L.Input((4,)), L.Input((4,))
    e = L.Embedding(9, 3, mask_zero=True)(x)
    y = L.LSTM(4, return_sequences=True, recurrent_activation="hard_sigmoid")(e, initial_state=[h, c])
    both = L.Bidirectional(L.GRU(4, return_sequences=True))(e, initial_state=[h, c])
    outputs = [y, both, L.GRU(4, go_backwards=True)(e, initial_state=h), L.SimpleRNN(4)(e, initial_state=c)]
    rows = ids(9, 3, 6)
    rows[0, 4:], rows[1, 2], rows[2, :2] = 0, 0, 0
    return keras.Model([x, h, c], outputs), [rows, normal(3, 4), normal(3, 4)]


@model
def recurrent_masks():
    x, mask = L.Input((5, 3)), L.Input((5,), dtype="bool")
    return keras.Model([x, mask], L.LSTM(4, return_sequences=True)(x, mask=mask)), [normal(3, 5, 3), flags(3, 5)]


@model
def time_major():
    x = L.Input(batch_shape=(5, 3, 2))
    y = L.GRU(3, time_major=True, return_sequences=True)(L.LSTM(4, time_major=True, return_sequences=True)(x))
    return keras.Model(x, y), [normal(5, 3, 2)]


@model
def convolutional_recurrence():
    x = L.Input((3, 6, 5, 2))
    y = L.ConvLSTM2D(3, 3, padding="same", return_sequences=True)(x)
    return keras.Model(x, L.ConvLSTM2D(2, 2, recurrent_activation="sigmoid")(y)), [normal(2, 3, 6, 5, 2)]


@model
def attention():
    q, v, k = L.Input((5, 6)), L.Input((4, 6)), L.Input((4, 6))
    query, value = L.Input((5,), dtype="bool"), L.Input((4,), dtype="bool")
    outputs = [L.Attention(use_scale=True)([q, v, k]), L.AdditiveAttention()([q, v]), L.Attention(score_mode="concat")([q, v])]
    outputs += [L.Attention()([q, v], mask=[query, value]), L.Attention()([q, v], use_causal_mask=True)]
    return keras.Model([q, v, k, query, value], outputs), [normal(3, 5, 6), normal(3, 4, 6), normal(3, 4, 6), flags(3, 5), flags(3, 4)]


@model
def multi_head_attention():
    q, v, k, mask = L.Input((5, 6)), L.Input((4, 7)), L.Input((4, 8)), L.Input((5, 4))
    y, scores = L.MultiHeadAttention(3, 2, use_bias=False)(q, v, attention_mask=mask, return_attention_scores=True)
    outputs = [y, scores, L.MultiHeadAttention(2, 3, value_dim=4, output_shape=5)(q, v, k)]
    outputs += [L.MultiHeadAttention(2, 3)(q, q, use_causal_mask=True), L.MultiHeadAttention(2, 3)(query=q, value=v, key=k)]
    return keras.Model([q, v, k, mask], outputs), [normal(3, 5, 6), normal(3, 4, 7), normal(3, 4, 8), flags(3, 5, 4).astype("float32")]


@model
def convolutions():
    x = L.Input((9, 8, 3))
    y = L.Conv2D(6, 3, padding="same", groups=3, dilation_rate=2)(x)
    y = L.DepthwiseConv2D(3, depth_multiplier=2, strides=2, padding="same")(y)
    y = L.SeparableConv2D(4, (3, 2), depth_multiplier=2, activation="relu")(y)
    y = L.BatchNormalization()(L.Conv2DTranspose(3, 3, strides=2, padding="same", output_padding=1)(y))
    y = L.AveragePooling2D(2, strides=1, padding="same")(L.UpSampling2D(2, interpolation="bilinear")(y))
    return keras.Model(x, y), [normal(3, 9, 8, 3)]


@model
def convolutions_of_steps():
    x = L.Input((12, 3))
    y = L.SeparableConv1D(5, 3, padding="causal")(L.Conv1D(4, 3, padding="causal", dilation_rate=2)(x))
    return keras.Model(x, L.Conv1DTranspose(3, 3, strides=2)(L.DepthwiseConv1D(3, padding="same")(y))), [normal(3, 12, 3)]


@model
def local_convolutions():
    x, y = L.Input((7, 3)), L.Input((2, 6, 5))
    outputs = [L.LocallyConnected1D(4, 3, strides=2, implementation=1)(x), L.LocallyConnected1D(4, 3, padding="same", implementation=2)(x)]
    outputs += [L.LocallyConnected2D(3, (3, 2), data_format="channels_first", implementation=i)(y) for i in (1, 2)]
    return keras.Model([x, y], outputs), [normal(3, 7, 3), normal(3, 2, 6, 5)]


@model
def normalizations():
    x, images = L.Input((4, 6)), L.Input((4, 6, 3))
    layers = [L.LayerNormalization(axis=[1, 2], epsilon=1e-2), L.LayerNormalization(axis=1, scale=False), L.UnitNormalization(),
              L.BatchNormalization(axis=1, scale=1, center=0), L.GroupNormalization(3)]  # fmt: skip
    other = L.experimental.SyncBatchNormalization()(L.BatchNormalization()(images))
    return keras.Model([x, images], [layer(x) for layer in layers] + [other]), [normal(3, 4, 6), normal(3, 4, 6, 3)]


@model
def images():
    x = L.Input((9, 8, 3))
    y = L.Rescaling(1 / 255.0, offset=-0.5)(x)
    for layer in (L.RandomFlip(), L.RandomRotation(0.1), L.RandomHeight(0.2), L.RandomWidth(0.1), L.Resizing(6, 7), L.RandomCrop(4, 3)):
        y = layer(y)
    outputs = [L.Resizing(5, 12, interpolation=name)(x) for name in ("bicubic", "nearest", "area", "lanczos3", "lanczos5")]
    return keras.Model(x, outputs + [y, L.RandomCrop(12, 5)(x), L.CenterCrop(12, 4)(x)]), [255 * random.random((3, 9, 8, 3)).astype("float32")]


@model
def categories():
    x, y = L.Input((3,)), L.Input((3,), dtype="int64")
    outputs = [L.Discretization(bin_boundaries=[-1.0, 0.0, 0.5])(x), L.Normalization(mean=[1.0, 2.0, 3.0], variance=[1.0, 2.0, 0.5])(x)]
    outputs += [L.CategoryEncoding(5, output_mode=mode)(y) for mode in ("multi_hot", "count")]
    return keras.Model([x, y], outputs), [normal(4, 3), random.integers(0, 5, (4, 3))]


@model
def nested_models():
    encoder = keras.Sequential([L.Input((3,)), L.Dense(4, activation="relu"), L.Dense(3)], name="encoder")
    late = keras.Sequential([L.Dense(2), L.BatchNormalization()], name="late")  # has no inputs until it is called
    inner = L.Input((3,))
    pair = keras.Model(inner, [L.Dense(2)(inner), L.Dense(3)(inner)], name="pair")
    x, y = L.Input((3,)), L.Input((3,))
    a, b = encoder(x), encoder(y)
    (p, q), (r, s) = pair(a), pair(b)
    return keras.Model([x, y], [L.Concatenate()([a, b, p, late(q)]), r, late(s)]), [normal(4, 3), normal(4, 3)]


def main():
    folder, wanted = sys.argv[1], sys.argv[2:]
    for name, make in MODELS.items():
        for form in ("h5", "keras", "json"):
            if wanted and name not in wanted or form == "json" and "time_major" in name:
                continue
            keras.backend.clear_session()
            made, inputs = make()
            give_weights(made)
            write(os.path.join(folder, f"{name}_{form}"), form, made, inputs)


if __name__ == "__main__":
    main()
