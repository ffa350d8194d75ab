# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What needs no training: outputs, stored variables, losses and metrics."""

import json
import re
import zipfile

import keras
import numpy as np
import tensorflow as tf


def input_names(model, data):
    """Names of the arrays of data.npz in the order of the model's inputs."""
    names = [tensor.name for tensor in model.inputs]
    if all(name in data for name in names):
        return names
    return [name for name in data if not re.fullmatch(r"y\d+|sample_weight", name)]


def call(model, values, **options):
    return keras.tree.flatten(model(values if len(values) > 1 else values[0], **options))


def outputs_of(model, case, prefix):
    values = [case.data[name] for name in input_names(model, case.data)]
    outputs = call(model, values, training=False)
    case.description.setdefault("output_dtypes", [keras.backend.standardize_dtype(o.dtype) for o in outputs])
    return {f"{prefix}{index}": output for index, output in enumerate(outputs)}


def as_float32(path):
    """The model of a file as if each policy in it were float32, with the same weights."""

    def widened(value):
        if isinstance(value, list):
            return [widened(item) for item in value]
        if not isinstance(value, dict):
            return value
        if value.get("class_name") == "DTypePolicy":
            return {**value, "config": {"name": "float32"}}
        return {key: widened(item) for key, item in value.items() if key != "compile_config"}

    with zipfile.ZipFile(path) as archive:
        config = widened(json.loads(archive.read("config.json")))
    return keras.saving.deserialize_keras_object(config)


def record_forward(case):
    model = case.load()
    found = outputs_of(model, case, "out")
    if re.search(r"float16", case.description["policy"]) and case.kind == "forward":
        wide = as_float32(case.path("model.keras"))
        wide.set_weights([keras.ops.convert_to_numpy(variable).astype("float32") for variable in model.weights])
        found.update(outputs_of(wide, case, "ref"))
    return found


def record_quantized(case):
    """The variables are those of the file. float_out, from before the quantization, cannot come from it."""
    model = case.load()
    found = outputs_of(model, case, "out")
    int4 = {}
    for layer in model._flatten_layers():
        if getattr(layer, "quantization_mode", None) == "int4":
            for variable in layer.weights:
                int4[variable.path] = layer
    for variable in model.variables:
        value = keras.ops.convert_to_numpy(variable)
        if "seed_generator" in variable.path:
            continue
        found[f"var:{variable.path}"] = value
        name = variable.path.rsplit("/", 1)[-1]
        if variable.path in int4 and name in ("kernel", "embeddings") and value.dtype == np.int8:
            columns = original_columns(int4[variable.path], name)
            found[f"unpacked:{variable.path}"] = unpacked(value, columns)
    return found


def unpacked(packed, columns):
    low, high = (packed << 4) >> 4, packed >> 4
    return np.stack([low, high], axis=-1).reshape(*packed.shape[:-1], -1)[..., :columns]


def original_columns(layer, name):
    """Of a packed array: two elements share a byte along the last axis."""
    if name == "embeddings":
        return layer.output_dim
    return layer._orig_output_dim if hasattr(layer, "_orig_output_dim") else layer.original_kernel_shape[-1]


def record_loss(case):
    """Values and gradients of each reduction, weighted and not, and of two narrow kinds of predictions."""
    wanted = case.description["tolerances"]["arrays"]
    make = getattr(keras.losses, case.description["loss"]["class_name"])
    found = {}
    for name in wanted:
        kind, reduction, *rest = name.split(":")
        if kind != "value":
            continue
        loss = make(reduction=None if reduction == "none" else reduction, **case.description.get("arguments", {}))
        dtype = next((part for part in rest if part != "weighted"), None)
        y_pred = tf.convert_to_tensor(case.data["y_pred"])
        y_pred = tf.cast(y_pred, dtype) if dtype else y_pred
        weight = None
        if "weighted" in rest:
            weight = case.data["sample_weight"]
            # These give one value for a batch.
            if case.name.startswith(("tversky", "dice")) and case.description.get("arguments", {}).get("axis") is None:
                weight = weight[0]
        with tf.GradientTape() as tape:
            tape.watch(y_pred)
            value = loss(case.data["y_true"], y_pred, sample_weight=weight)
            summed = tf.reduce_sum(value)
        found[name] = value
        found["grad" + name[len("value"):]] = tape.gradient(summed, y_pred)
    return found


def record_metric(case):
    description = case.description["metric"]
    found = {}
    for weighted in ("", ":weighted"):
        if f"result{weighted}" not in case.description["tolerances"]["arrays"]:
            continue
        metric = getattr(keras.metrics, description["class_name"]).from_config(dict(description["config"]))
        results = []
        for batch in range(3):
            weight = case.data[f"sample_weight{batch}"] if weighted else None
            values = [case.data[f"{name}{batch}"] for name in ("y_true", "y_pred") if f"{name}{batch}" in case.data]
            if len(values) == 1 and weighted:
                weight = weight.reshape(-1, 1)
            metric.update_state(*values, sample_weight=weight)
            results.append(np.asarray(keras.ops.convert_to_numpy(metric.result()), np.float32))
        found[f"result{weighted}"] = np.stack(results)
        for index, variable in enumerate(metric.variables):
            found[f"state{weighted}:{index}:{variable.name}"] = variable
    return found
