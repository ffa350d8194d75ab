# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the losses/ and metrics/ fixtures, which have no model.

Each becomes an identity model (y_pred in, y_pred out) that holds only that loss or metric, as a
Keras architecture. mpcc turns it into IR, compiles that IR, and mpc-run computes: `gradients` gives
a loss and its gradient with respect to y_pred, `evaluate` gives a metric after 1, 2 and 3 batches.
"""

import json
import os

import numpy

REDUCTIONS = ["sum_over_batch_size", "sum", "mean", "mean_with_sample_weight", "none"]


class NotWired(Exception):
    """The compiler does not offer yet what this kind of case needs."""


def policy(name):
    return {
        "module": "keras",
        "class_name": "DTypePolicy",
        "config": {"name": name},
        "registered_name": None,
    }


def identity_model(shape, dtype, loss, metrics):
    """Architecture JSON of Input -> linear Activation in `dtype`, compiled with loss and metrics."""
    tensor = {"shape": [None, *shape], "dtype": dtype, "keras_history": ["y_pred", 0, 0]}
    node = {"args": [{"class_name": "__keras_tensor__", "config": tensor}], "kwargs": {}}
    layers = [
        {
            "module": "keras.layers",
            "class_name": "InputLayer",
            "config": {"batch_shape": [None, *shape], "dtype": dtype, "sparse": False,
                       "ragged": False, "name": "y_pred", "optional": False},
            "registered_name": None,
            "name": "y_pred",
            "inbound_nodes": [],
        },
        {
            "module": "keras.layers",
            "class_name": "Activation",
            "config": {"name": "identity", "trainable": True, "dtype": policy(dtype),
                       "activation": "linear"},
            "registered_name": None,
            "name": "identity",
            "inbound_nodes": [node],
        },
    ]  # fmt: skip
    optimizer = {
        "module": "keras.optimizers",
        "class_name": "SGD",
        "config": {"name": "sgd", "learning_rate": 0.0, "momentum": 0.0, "nesterov": False},
        "registered_name": None,
    }
    return {
        "module": "keras.src.models.functional",
        "class_name": "Functional",
        "config": {
            "name": "identity_model",
            "trainable": True,
            "layers": layers,
            "input_layers": ["y_pred", 0, 0],
            "output_layers": ["identity", 0, 0],
        },
        "registered_name": "Functional",
        "build_config": {"input_shape": None},
        "compile_config": {
            "optimizer": optimizer,
            "loss": loss,
            "loss_weights": None,
            "metrics": metrics,
            "weighted_metrics": None,
            "run_eagerly": False,
            "steps_per_execution": 1,
            "jit_compile": False,
        },
    }


def load(path):
    with numpy.load(path, allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def loss_config(case, reduction):
    """The loss with its constructor arguments: Keras's own config forgets some of them."""
    loss = json.loads(json.dumps(case.description["loss"]))
    loss["config"].update(case.description["arguments"])
    loss["config"]["reduction"] = reduction
    return loss


class LossRunner:
    """Compiles the identity model of one loss per reduction and dtype, and evaluates it."""

    def __init__(self, case, tools, folder):
        self.case = case
        self.tools = tools
        self.folder = folder
        self.data = load(case.path("data.npz"))
        # A loss of the whole batch has no samples to weigh; the fixtures give it one weight.
        self.whole_batch = case.description["loss"]["class_name"] in ("Dice", "Tversky") and (
            case.description["arguments"].get("axis") is None
        )
        if self.whole_batch:
            self.data["sample_weight"][:] = self.data["sample_weight"][0]

    def compiled(self, reduction, dtype):
        model = identity_model(
            self.data["y_pred"].shape[1:], dtype, loss_config(self.case, reduction), None
        )
        path = os.path.join(self.folder, f"{reduction}-{dtype}.json")
        with open(path, "w") as handle:
            json.dump(model, handle, indent=1)
        return self.tools.compile(path, "--loss-scale=none")

    def evaluate(self, reduction, dtype, weighted, rows=slice(None)):
        compiled = self.compiled(reduction, dtype)
        data = {"y_pred": self.data["y_pred"][rows], "y0": self.data["y_true"][rows]}
        if weighted:
            data["sample_weight"] = self.data["sample_weight"][rows]
        source = os.path.join(self.folder, "data.npz")
        result = os.path.join(self.folder, "gradients.npz")
        numpy.savez(source, **data)
        self.tools.run("mpc-run", "gradients", compiled, "--data", source, "--outputs", result)
        arrays = load(result)
        return arrays["loss"], arrays["gradx:y_pred"]

    def evaluate_rows(self, dtype, weighted):
        """Reduction none: the loss of each row alone. Its recorded gradient is that of the sum."""
        rows = len(self.data["y_pred"])
        values = [self.evaluate("sum", dtype, weighted, slice(r, r + 1))[0] for r in range(rows)]
        _, gradient = self.evaluate("sum", dtype, weighted)
        return numpy.array(values), gradient


def run_loss(case, tools, folder):
    expected = load(case.path("expected.npz"))
    runner = LossRunner(case, tools, folder)
    got = {}
    for name in expected:
        if not name.startswith("value:"):
            continue
        variant = name[len("value:") :]
        reduction, *flags = variant.split(":")
        if reduction not in REDUCTIONS:
            raise NotWired(f"{name}: unknown reduction")
        weighted = "weighted" in flags
        dtype = next((flag for flag in flags if flag.endswith("float16")), "float32")
        if reduction == "none" and runner.whole_batch:
            value, gradient = runner.evaluate("sum", dtype, weighted)
        elif reduction == "none":
            value, gradient = runner.evaluate_rows(dtype, weighted)
        else:
            value, gradient = runner.evaluate(reduction, dtype, weighted)
        got[name] = value
        got["grad:" + variant] = gradient
    return got, expected


def run_metric(case, tools, folder):
    """Results after 1, 2 and 3 batches, without weights and with. The states are internal to the
    library; a wrong state shows in the next result, so they are not compared."""
    expected = load(case.path("expected.npz"))
    data = load(case.path("data.npz"))
    metric = dict(case.description["metric"], module="keras.metrics", registered_name=None)
    # The loss is not compared; it decides whether targets are classes or values.
    sparse = metric["class_name"].startswith("Sparse")
    loss = "sparse_categorical_crossentropy" if sparse else "mean_squared_error"
    got = {}
    for weighted in (False, True):
        name = "result:weighted" if weighted else "result"
        if name not in expected:
            continue
        key = "weighted_metrics" if weighted else "metrics"
        model = identity_model(data["y_pred0"].shape[1:], "float32", loss, None)
        model["compile_config"][key] = [metric]
        path = os.path.join(folder, f"{key}.json")
        with open(path, "w") as handle:
            json.dump(model, handle, indent=1)
        compiled = tools.compile(path, "--loss-scale=none")
        got[name] = numpy.array(
            [evaluate_metric(metric, compiled, data, batches, weighted, tools, folder)
             for batches in (1, 2, 3)]
        )  # fmt: skip
    for name in list(expected):
        if name.startswith("state:"):
            del expected[name]
    return got, expected


def evaluate_metric(metric, compiled, data, batches, weighted, tools, folder):
    def joined(name):
        return numpy.concatenate([data[f"{name}{batch}"] for batch in range(batches)])

    predictions = joined("y_pred").astype(numpy.float32)
    # Mean and Sum look at predictions alone; the entry wants a target all the same.
    targets = joined("y_true") if "y_true0" in data else numpy.zeros_like(predictions)
    arrays = {"y_pred": predictions, "y0": targets}
    if weighted:
        arrays["sample_weight"] = joined("sample_weight")
    source = os.path.join(folder, "data.npz")
    numpy.savez(source, **arrays)
    output = tools.run("mpc-run", "evaluate", compiled, "--data", source, "--json",
                       "--batch-size", str(len(data["y_pred0"])))  # fmt: skip
    return json.loads(output)[metric["config"]["name"]]
