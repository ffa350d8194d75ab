# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Losses and metrics that model.add_loss and model.add_metric put into the graph."""

import tensorflow as tf
import tf_keras as keras

from .registry import case, ids, normal

L, K = keras.layers, keras.backend


@case(form="h5")
def added_losses():
    x = L.Input((4,), name="x")
    h = L.Dense(3, activation="relu")(x)
    y = L.Dense(2, kernel_regularizer="l2")(h)
    model = keras.Model(x, y)
    model.add_loss(0.1 * tf.reduce_mean(tf.square(h)))
    model.add_loss(0.01 * tf.reduce_sum(y))
    model.add_metric(tf.reduce_sum(h), name="sum_of_features", aggregation="mean")
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return model, [normal(5, 4)]


@case(tolerance=1e-2, loss_tolerance=5e-3)
def added_loss_of_bfloat16():
    keras.mixed_precision.set_global_policy("mixed_bfloat16")
    x = L.Input((4,), name="x")
    h = L.Dense(3, activation="relu")(x)
    model = keras.Model(x, L.Dense(2, dtype="float32")(h))
    model.add_loss(0.1 * tf.reduce_mean(tf.square(h)))
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return model, [normal(5, 4)]


@case()
def added_loss_of_a_nested_model():
    """Once for each call."""
    a = L.Input((4,))
    h = L.Dense(3, activation="tanh")(a)
    inner = keras.Model(a, h, name="inner")
    inner.add_loss(tf.reduce_mean(tf.abs(h)))
    x, z = L.Input((4,), name="x"), L.Input((4,), name="z")
    model = keras.Model([x, z], L.Dense(2)(L.Add()([inner(x), inner(z)])))
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return model, [normal(5, 4), normal(5, 4)]


@case(form="h5")
def added_losses_of_an_autoencoder():
    x = L.Input((4,), name="x")
    h = L.Dense(3)(x)
    y = L.Dense(4)(h)
    model = keras.Model(x, y)
    model.add_loss(K.mean(keras.losses.binary_crossentropy(K.sigmoid(x), K.sigmoid(y)) * 4))
    model.add_loss(-0.05 * K.sum(1 + h - K.square(h) - K.exp(h)))
    model.compile(keras.optimizers.Adam(0.01), "mae")
    return model, [normal(5, 4)]


@case()
def added_loss_of_samples():
    """Predictions alone: TensorFlow refuses to add it to the mean of a loss."""
    x = L.Input((4,), name="x")
    h = L.Dense(3)(x)
    model = keras.Model(x, L.Dense(2)(h))
    model.add_loss(tf.reduce_sum(h, axis=1))
    return model, [normal(5, 4)]


@case(form="h5")
def metrics_of_named_outputs():
    """Accuracies are written by the function that Keras chose without having seen a target, under the output's name."""
    x = L.Input((4,), name="x")
    model = keras.Model(x, {"cls": L.Dense(3, activation="softmax", name="cls")(x), "reg": L.Dense(1, name="reg")(x)})
    model.compile(keras.optimizers.SGD(0.05), {"cls": "sparse_categorical_crossentropy", "reg": "huber"},
                  metrics={"cls": ["accuracy"], "reg": ["mae"]}, loss_weights={"cls": 0.5, "reg": 2.0})  # fmt: skip
    return model, [normal(6, 4)], [ids(3, 6).astype("int32"), normal(6, 1)]


def autoencoder():
    """A model whose losses are all of its own."""
    x = L.Input((4,), name="x")
    h = L.Dense(3, activation="tanh", kernel_regularizer="l2")(x)
    y = L.Dense(4)(h)
    model = keras.Model(x, y)
    model.add_loss(tf.reduce_mean(tf.square(x - y)))
    model.add_loss(0.01 * tf.reduce_sum(tf.abs(h)))
    model.add_metric(tf.reduce_sum(h, axis=1), name="of_rows", aggregation="mean")
    model.add_metric(tf.reduce_mean(tf.abs(y)), name="of_batches", aggregation="mean")
    return model


@case(form="h5", evaluates=4)
def losses_of_its_own():
    """Keras counts batches, not rows, where no output is compared."""
    model = autoencoder()
    model.compile(keras.optimizers.Adam(0.01))
    return model, [normal(6, 4)], []


@case(evaluates=4)
def added_metrics():
    """Of all elements, beside what compile was given; a layer that is called twice has one."""
    a = L.Input((4,))
    h = L.Dense(4, activation="relu")(a)
    inner = keras.Model(a, h, name="inner")
    inner.add_metric(tf.reduce_mean(h), name="height", aggregation="mean")
    x, z = L.Input((4,), name="x"), L.Input((4,), name="z")
    y = L.Dense(2)(L.Add()([inner(x), inner(z)]))
    model = keras.Model([x, z], y)
    model.add_metric(tf.reduce_sum(y, axis=-1), name="sums", aggregation="mean")
    model.compile(keras.optimizers.SGD(0.1), "mse", metrics=["mae"])
    return model, [normal(6, 4), normal(6, 4)]
