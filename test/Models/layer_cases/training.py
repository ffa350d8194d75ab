# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Optimizers, losses and weights of samples."""

import keras
import numpy as np
from keras import layers
from layer_cases.registry import CASES, case, chain


# ---- Gradients of embeddings in optimizers ------------------------------------------------------


def embedding():
    ids = keras.Input((7,), name="x", dtype="int32")
    shared = layers.Embedding(9, 3)
    y = layers.Add()([shared(ids), layers.Dense(3)(shared(keras.ops.flip(ids, axis=1)))])
    return keras.Model(ids, layers.Dense(2)(layers.GlobalAveragePooling1D()(y)))


OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(0.5, momentum=0.9, clipnorm=0.05),
    "rmsprop": lambda: keras.optimizers.RMSprop(0.01, momentum=0.5),
    "adam": lambda: keras.optimizers.Adam(0.01, clipnorm=0.05),
    "adam_global": lambda: keras.optimizers.Adam(0.01, global_clipnorm=0.05),
    "adam_value": lambda: keras.optimizers.Adam(0.01, clipvalue=0.01),
    "adagrad": lambda: keras.optimizers.Adagrad(0.1),
    "adadelta": lambda: keras.optimizers.Adadelta(1.0),
    "adamax": lambda: keras.optimizers.Adamax(0.01),
    "nadam": lambda: keras.optimizers.Nadam(0.01),
    "ftrl": lambda: keras.optimizers.Ftrl(0.1),
    "lion": lambda: keras.optimizers.Lion(0.01),
    "lamb": lambda: keras.optimizers.Lamb(0.01),
    "adafactor": lambda: keras.optimizers.Adafactor(0.1),
    "muon": lambda: keras.optimizers.Muon(0.01, exclude_embeddings=True),
    "schedule_free": lambda: keras.optimizers.ScheduleFreeAdamW(0.01, clipnorm=0.5),
}
for _name in OPTIMIZERS:
    CASES["embedding_" + _name] = ("train", embedding, dict(steps=4, optimizer=_name))


@case("train", steps=3, optimizer="adam")
def embedding_regularized():
    ids = keras.Input((5,), name="x", dtype="int32")
    y = layers.Embedding(9, 3, embeddings_regularizer="l2")(ids)
    return keras.Model(ids, layers.Dense(2)(layers.Flatten()(y)))


OPTIMIZERS["adam_rows"] = lambda: keras.optimizers.Adam(0.01)


@case("train", steps=4, optimizer="adam_rows")
def embedding_called_twice():
    """Both calls take the same rows of the table: their gradients are rows of their own, squared before they are summed."""
    ids, embedding = keras.Input((5,), name="x", dtype="int32"), layers.Embedding(9, 3)
    return keras.Model(ids, layers.Dense(2)(layers.Flatten()(layers.Concatenate()([embedding(ids), 2.0 * embedding(ids)]))))


@case("train", steps=4, optimizer="adam_rows")
def embedding_of_steps():
    """A table that every step of TimeDistributed reads has rows for a gradient, too, also inside of a model."""
    ids = keras.Input((4, 5), name="x", dtype="int32")
    model = keras.Sequential([keras.Input((5,), dtype="int32"), layers.Embedding(9, 3), layers.Flatten()])
    parts = [layers.TimeDistributed(layers.Embedding(9, 3))(ids), layers.TimeDistributed(model)(ids)]
    return keras.Model(ids, layers.Dense(2)(layers.Concatenate()([layers.Flatten()(part) for part in parts])))


# ---- Regularizers -------------------------------------------------------------------------------


@case("gradient")
def orthogonal_regularizers():
    """Of rows and columns, of few and of more than there are dimensions for; a frozen layer adds nothing."""
    orthogonal = keras.regularizers.OrthogonalRegularizer
    frozen = layers.Dense(4, kernel_regularizer=orthogonal(100.0))
    frozen.trainable = False
    return chain((5, 3), frozen, layers.Dense(6, activation="tanh", kernel_regularizer=orthogonal(0.7, mode="columns")),
                 layers.LSTM(2, kernel_regularizer="orthogonal_regularizer", recurrent_regularizer=orthogonal(3.0)), layers.Dense(4, kernel_regularizer=orthogonal(2.0)))


@case("train", steps=3, optimizer="adam")
def orthogonal_bfloat16():
    return chain((4,), layers.Dense(8, kernel_regularizer=keras.regularizers.OrthogonalRegularizer(0.5), dtype="mixed_bfloat16"), layers.Dense(2, dtype="float32"))


# ---- Optimizers that go on from what the file holds ------------------------------------------------


OPTIMIZERS["adafactor_decay"] = lambda: keras.optimizers.Adafactor(keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5))
OPTIMIZERS["scaled_adafactor"] = lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.Adafactor(0.1), dynamic_growth_steps=2)
OPTIMIZERS["scaled_nadam"] = lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.Nadam(0.01), dynamic_growth_steps=2)


def two_layers():
    return chain((4,), layers.Dense(3, activation="tanh"), layers.Dense(2))


for _name in ("adafactor_decay", "scaled_adafactor", "scaled_nadam", "nadam", "ftrl", "muon", "schedule_free"):
    CASES["resumed_" + _name] = ("train", two_layers, dict(before=3, steps=3, optimizer=_name))


# The decay comes before the first step and after the copy of the weights that it makes steps of.
OPTIMIZERS["schedule_free_decay"] = lambda: keras.optimizers.ScheduleFreeAdamW(0.1, beta_1=0.8, warmup_steps=3, weight_decay=0.5)
OPTIMIZERS["schedule_free_parts"] = lambda: keras.optimizers.LossScaleOptimizer(
    keras.optimizers.ScheduleFreeAdamW(0.1, use_ema=True, gradient_accumulation_steps=2), dynamic_growth_steps=2)
for _name in ("schedule_free_decay", "schedule_free_parts"):
    CASES[_name] = ("train", two_layers, dict(steps=4, optimizer=_name))


# The first call constrains the weights and updates nothing; the copy is of the weights before it.
OPTIMIZERS["schedule_free_accumulated"] = lambda: keras.optimizers.ScheduleFreeAdamW(0.1, gradient_accumulation_steps=2)


@case("train", steps=4, optimizer="schedule_free_accumulated")
def schedule_free_constrained():
    return chain((4,), layers.Dense(3, kernel_constraint="unit_norm", activation="tanh"), layers.Dense(2))


# ---- Losses of sequences and pairs ---------------------------------------------------------------


def labels_of_steps(random, rows, shape):
    """Class labels padded with the blank 0, among them an empty row, repeated labels, and as many as fit."""
    labels = np.zeros((rows, shape[1]), np.int32)
    for row, count in enumerate([0, 1, 2, 3, 4, 7][:rows]):
        labels[row, :count] = 1 + np.arange(count) % 3 if count == 7 else random.integers(1, 4, size=count)
    labels[2, :2] = 2
    return labels


@case("train", steps=4, optimizer="sgd", loss="ctc", target=labels_of_steps)
def ctc():
    return chain((7, 3), layers.SimpleRNN(5, return_sequences=True), layers.Dense(4))


def labels_of_samples(random, rows, shape):
    return random.integers(0, 2, size=rows).astype(np.int32)


@case("train", rows=12, steps=4, optimizer="sgd", loss="circle", target=labels_of_samples)
def circle():
    return chain((5,), layers.Dense(4, activation="tanh"), layers.Dense(3), layers.UnitNormalization())


# ---- Losses of outputs ----------------------------------------------------------------------------


@case("train", steps=3, optimizer="rmsprop", loss={"place": "huber", "kind": "sparse_categorical_crossentropy"}, metrics={"kind": ["accuracy"], "place": ["mae"], "spare": ["mse"]},
      target=[lambda random, rows, shape: random.integers(0, 3, size=rows).astype(np.int32), None, None])
def outputs_by_key():
    """The keys of a dictionary are the names, not the layers; one of them has no loss."""
    x = keras.Input((4,), name="x")
    y = layers.Dense(5, activation="tanh")(x)
    return keras.Model(x, {"spare": layers.Dense(2, name="place")(y), "place": layers.Dense(2, name="spare")(y), "kind": layers.Dense(3, activation="softmax", name="label")(y)})


def one_hot(random, rows, shape):
    return np.eye(shape[-1], dtype=np.float32)[random.integers(0, shape[-1], size=(rows, *shape[1:-1]))]


@case("train", steps=3, optimizer="sgd", target=one_hot, loss=keras.losses.CategoricalFocalCrossentropy(alpha=[0.1, 0.2, 0.3, 0.4], gamma=1.5, label_smoothing=0.1))
def focal_of_classes():
    return chain((5, 3), layers.Dense(4, activation="softmax"))


@case("train", steps=3, optimizer="rmsprop", loss=["mse", "huber", "mae"], metrics=[["mae"], None, None], loss_weights=[1.0, 0.5, 2.0])
def losses_of_integers():
    """Losses of integers and of truth values, which become float32; the output of numbers learns."""
    x = keras.Input((4,), name="x")
    return keras.Model(x, [layers.Dense(2, name="number")(x), layers.Discretization([-0.5, 0.0, 1.0], name="bin")(x), keras.ops.greater(x, 0.0)])


# ---- Sample weights -------------------------------------------------------------------------------


def weights_of(*shapes):
    """For each output an array of weights with these dims behind the rows, zeros among them."""
    def draw(random, rows):
        return [np.where(random.uniform(size=(rows, *shape)) < 0.2, 0.0, random.uniform(0.2, 2.0, size=(rows, *shape))).astype(np.float32)
                for shape in shapes]
    return draw


@case("train", steps=3, optimizer="rmsprop", weights=weights_of((), (4,)), target=[lambda random, rows, shape: random.integers(0, 3, size=rows).astype(np.int32), None],
      loss={"label": "sparse_categorical_crossentropy", "box": "mse"}, weighted_metrics={"label": ["accuracy"], "box": ["mae", "mse"]},
      metrics={"label": ["accuracy"], "box": ["mae"]})
def weights_of_outputs():
    x = keras.Input((4, 3), name="x")
    y = layers.Dense(5, activation="tanh")(x)
    return keras.Model(x, [layers.Dense(3, activation="softmax", name="label")(layers.Flatten()(y)), layers.Dense(2, name="box")(y)])


@case("train", steps=3, optimizer="adam", weights=weights_of((5,)), loss="sparse_categorical_crossentropy",
      target=lambda random, rows, shape: random.integers(0, 4, size=(rows, 5)).astype(np.int32),
      weighted_metrics=["accuracy", keras.metrics.SparseCategoricalCrossentropy(name="ce"), keras.metrics.SparseTopKCategoricalAccuracy(2, name="top")])
def weights_of_masked_steps():
    return chain((5, 3), layers.Masking(0.0), layers.LSTM(4, return_sequences=True), layers.Dense(4, activation="softmax"))


@case("train", steps=3, optimizer="sgd", weights=weights_of((3, 1)), loss=keras.losses.BinaryCrossentropy(from_logits=True, reduction="sum"),
      target=lambda random, rows, shape: random.integers(0, 2, size=(rows, 3, 4, 1)).astype(np.float32),
      weighted_metrics=[keras.metrics.AUC(20, from_logits=True, name="auc"), keras.metrics.Precision(0.3, name="precision"), "mae"])
def weights_of_columns():
    return chain((3, 4, 2), layers.Conv2D(3, 2, padding="same", activation="tanh"), layers.Conv2D(1, 1))


@case("train", steps=3, optimizer="sgd", weights=weights_of((5,)), loss=keras.losses.MeanAbsoluteError(reduction="mean_with_sample_weight"))
def weights_divided_by():
    return chain((5, 3), layers.Dense(2))


# ---- Zeros, masks and classes that there are not ---------------------------------------------------


@case("train", steps=4, optimizer="sgd", loss="cosine_similarity", metrics=["cosine_similarity"])
def masked_cosine():
    """Places that the mask hides are predicted to be zero vectors, where the norm's root has no derivative."""
    return chain((5, 3), layers.Masking(0.0), layers.Dense(2, use_bias=False))


@case("gradient")
def masked_unit_norm():
    return chain((5, 3), layers.Dense(4, use_bias=False), layers.UnitNormalization(), layers.Dense(2))


@case("train", steps=3, optimizer="adam", weights=weights_of((5,)), metrics=[keras.metrics.RootMeanSquaredError(), "mse"],
      weighted_metrics=[keras.metrics.RootMeanSquaredError(name="weighted_root"), "mae"])
def masked_root_mean_square():
    """The squares that Keras's RootMeanSquaredError averages have no mask."""
    return chain((5, 3), layers.Masking(0.0), layers.LSTM(4, return_sequences=True), layers.Dense(4))


@case("train", rows=12, steps=4, optimizer="sgd", loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=-1),
      target=lambda random, rows, shape: random.integers(-1, 4, size=rows).astype(np.int32), metrics=["accuracy", keras.metrics.SparseTopKCategoricalAccuracy(2, name="top")])
def top_of_ignored():
    return chain((4,), layers.Dense(4))


# ---- Weights of losses --------------------------------------------------------------------------


def two_outputs():
    x = keras.Input((3,), name="x")
    return keras.Model(x, [layers.Dense(2, name="zed")(x), layers.Dense(2, name="abe")(x)])


for _name, _loss, _weights in (("sorted", ["mse", "mae"], {"zed": 0.5, "abe": 3.0}), ("all", "mse", {"abe": 0.5}), ("names", {"abe": "mae", "zed": "mse"}, {"abe": 0.5, "zed": None})):
    CASES["loss_weights_" + _name] = ("train", two_outputs, dict(steps=2, optimizer="sgd", loss=_loss, loss_weights=_weights))


# ---- Outputs inside lists and dictionaries, and with one name --------------------------------------------


def three_outputs(shape):
    x = keras.Input((6,), name="x")
    a, b, c = (layers.Dense(size, name=name)(x) for name, size in (("a", 2), ("b", 3), ("c", 1)))
    return keras.Model(x, shape(a, b, c))


for _name, _shape, _options in (
        ("leaves", lambda a, b, c: {"q": [b, c], "p": a}, dict(loss={"p": "mse", "q": ["mae", "mse"]}, loss_weights={"p": 2.0, "q": [0.5, 3.0]},
                                                               metrics={"p": ["mae"], "q": [None, ["mse", "mae"]]}, weighted_metrics={"p": None, "q": ["mse", None]})),
        ("some", lambda a, b, c: {"p": a, "q": {"s": c, "r": b}}, dict(loss={"q": {"r": "mae"}, "p": "mse"})),
        ("lists", lambda a, b, c: [[a, b], c], dict(loss=[["mse", "mae"], "huber"], loss_weights=[0.5, 2.0, 0.25], metrics=[["mae", "mse"], "mae"])),
        ("flat", lambda a, b, c: [a, {"q": c, "p": b}], dict(loss=["mse", "mae", "huber"])),
        ("names", lambda a, b, c: [[a, b], c], dict(loss={"c": "mse", "a": "huber", "b": "mae"}, loss_weights={"b": 2.0, "c": 0.5, "a": 1.0})),
        ("one", lambda a, b, c: {"p": a, "q": [b, c]}, dict(loss="mse", loss_weights=[0.5])),
):  # fmt: skip
    CASES["nested_outputs_" + _name] = ("train", lambda shape=_shape: three_outputs(shape), dict(steps=2, optimizer="sgd", **_options))


@case("train", steps=2, optimizer="sgd", loss=["mse", "mae"])
def outputs_of_one_layer():
    """Keras logs both losses under one name, and the last one stays."""
    x, dense = keras.Input((3,), name="x"), layers.Dense(2, name="both")
    return keras.Model(x, [dense(x), dense(3.0 * x)])


@case("train", steps=2, optimizer="sgd")
def dictionary_of_inputs():
    """Data come under the key, not under the name of the layer."""
    inputs = keras.Input((3,), name="other")
    return keras.Model({"x": inputs}, layers.Dense(2)(inputs))


# ---- Classes of the user's ----------------------------------------------------------------------


@keras.saving.register_keras_serializable("mine")
class OwnModel(keras.Model):
    """With the constructor of Keras's model, so that its config is a graph."""


@keras.saving.register_keras_serializable("mine")
class OwnChain(keras.Sequential):
    pass


@case("train", steps=2, optimizer="sgd")
def own_classes():
    x = keras.Input((3,), name="x")
    inner = keras.Input((4,))
    y = OwnChain([keras.Input((3,)), layers.Dense(4, activation="tanh")])(x)
    return OwnModel(x, OwnModel(inner, layers.Dense(2)(inner))(y))


# ---- Gradients of biases ------------------------------------------------------------------------


def biases():
    """Cotangents that several layers read in shapes of their own."""
    x = keras.Input((4, 5), name="x")
    wide = layers.Reshape((4, 3))(layers.Dense(12, name="wide")(layers.Flatten()(x)))
    y = layers.Add()([layers.Dense(3, name="narrow")(x), wide])
    z = layers.EinsumDense("abc,cde->abde", (4, 2, 3), bias_axes="e", name="einsum")(y)
    return keras.Model(x, layers.Dense(2)(layers.Flatten()(layers.Activation("tanh")(z))))


CASES["biases"] = ("train", biases, dict(steps=4, optimizer="sgd"))
