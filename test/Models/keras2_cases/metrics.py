# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What losses and metrics of outputs are called. HDF5 files hold the names as they were built, with the output's in
front; archives hold what compile was given. Outputs are called as the layers that compute them."""

import tf_keras as keras

from .registry import case, ids, normal

L, M = keras.layers, keras.metrics


def two_outputs(names=("a", "b")):
    x = L.Input((4,), name="x")
    return x, [L.Dense(3, name=names[0])(x), L.Dense(1, name=names[1])(x)]


@case(form="h5", evaluates=6)
def metrics_of_one_output():
    x = L.Input((4,), name="x")
    model = keras.Model(x, L.Dense(3, name="a")(x))
    model.compile("sgd", "mse", metrics=["mse", M.MeanAbsoluteError(name="a_q"), M.mean_squared_error, "MeanAbsoluteError"],
                  weighted_metrics=["mse", "mae"])  # fmt: skip
    return model, [normal(6, 4)]


def compiled_with_lists():
    model = keras.Model(*two_outputs())
    model.compile("sgd", ["mse", "mae"], metrics=[["mse", M.MeanAbsoluteError(name="q")], [M.mean_squared_error, M.MeanAbsoluteError(name="b_q")]],
                  weighted_metrics=[["mse"], ["mae", M.MeanSquaredError(name="q")]])  # fmt: skip
    return model, [normal(6, 4)]


@case(form="h5", evaluates=6)
def metrics_in_lists():
    return compiled_with_lists()


@case(form="h5", evaluates=6)
def metrics_for_all_outputs():
    model = keras.Model(*two_outputs())
    model.compile("sgd", "mse", metrics=["mse", "mae"], weighted_metrics="mae")
    return model, [normal(6, 4)]


@case(form="h5", evaluates=6)
def metrics_for_one_of_the_outputs():
    model = keras.Model(*two_outputs(("b_b", "b")))
    model.compile("sgd", "mse", metrics={"b": "mse"})
    return model, [normal(6, 4)]


def compiled_by_keys():
    x, (a, b) = two_outputs()
    model = keras.Model(x, {"second": a, "first": b})
    model.compile("sgd", {"second": "mse", "first": "mae"}, metrics={"first": ["mse", "mae"], "second": "mse"})
    return model, [normal(6, 4)], [normal(6, 1), normal(6, 3)]


@case(form="h5", evaluates=6)
def metrics_by_keys():
    return compiled_by_keys()


@case(evaluates=6)
def metrics_by_keys_in_an_archive():
    return compiled_by_keys()


def compiled_with_one_layer_twice():
    x, dense = L.Input((4,), name="x"), L.Dense(2, name="d")
    model = keras.Model(x, [dense(x), dense(2 * x)])
    model.compile("sgd", "mse", metrics=[["mse"], ["mse"]], weighted_metrics=[["mse"], ["mae"]])
    return model, [normal(6, 4)]


@case(form="h5", evaluates=6)
def metrics_of_one_layer_twice():
    return compiled_with_one_layer_twice()


@case(evaluates=6)
def metrics_of_one_layer_twice_in_an_archive():
    return compiled_with_one_layer_twice()


@case(form="h5", evaluates=6)
def metrics_of_classes():
    """Numbers of classes are compared with the value of each class."""
    x = L.Input((4,), name="x")
    model = keras.Model(x, L.Dense(3, activation="softmax")(x))
    model.compile("sgd", "sparse_categorical_crossentropy", metrics=["mse", "mae", "accuracy"])
    return model, [normal(6, 4)], [ids(3, 6, 1).astype("int32")]
