# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One pass of gradients, and steps of train_on_batch."""

import re

import keras
import numpy as np
import tensorflow as tf
from evaluation import call, input_names


def targets_of(data):
    names = [name for name in data if re.fullmatch(r"y\d+", name)]
    targets = [data[name] for name in sorted(names, key=lambda name: int(name[1:]))]
    return targets if len(targets) > 1 else targets[0]


def snapshot(variables):
    return {variable.path: np.array(keras.ops.convert_to_numpy(variable)) for variable in variables if "seed_generator" not in variable.path}


def record_gradient(case):
    """The loss as the trainer computes it, without a loss scale, and no step of the optimizer."""
    model = case.load()
    names = input_names(model, case.data)
    values = [tf.convert_to_tensor(case.data[name]) for name in names]
    watched = {name: value for name, value in zip(names, values) if value.dtype.is_floating}
    targets, weight = targets_of(case.data), case.data.get("sample_weight")
    before = snapshot(model.non_trainable_variables)
    with tf.GradientTape() as tape:
        tape.watch(list(watched.values()))
        predictions = model(values if len(values) > 1 else values[0], training=True)
        loss = model.compute_loss(x=None, y=targets, y_pred=predictions, sample_weight=weight, training=True)
    sources = [*(variable.value for variable in model.trainable_variables), *watched.values()]
    gradients = tape.gradient(loss, sources)
    found = {"loss": loss}
    found.update({f"out{index}": output for index, output in enumerate(keras.tree.flatten(predictions))})
    labels = [f"grad:{variable.path}" for variable in model.trainable_variables] + [f"gradx:{name}" for name in watched]
    case.description.setdefault("no_gradient", [])
    for label, gradient in zip(labels, gradients):
        if gradient is not None:
            found[label] = tf.convert_to_tensor(gradient)
        elif case.is_new and label.startswith("grad:"):
            case.description["no_gradient"].append(label[len("grad:"):])
    for path, value in snapshot(model.non_trainable_variables).items():
        if not np.array_equal(value, before[path]):
            found[f"after:{path}"] = value
    return found


def is_traced(path):
    """State of float8 layers, which each step renews."""
    return path.endswith(("_scale", "_amax_history"))


def record_training(case):
    """Steps over rows in their order. The loss scaler comes with the global policy, as compile() adds it on loading."""
    description = case.description
    model = case.load(description["policy"])
    in_graphs = description.get("kind") == "quantized"  # TensorFlow cannot differentiate float8 layers eagerly.
    model.run_eagerly, model.jit_compile = not in_graphs, False
    optimizer = model.optimizer
    scaler = optimizer if isinstance(optimizer, keras.optimizers.LossScaleOptimizer) else None
    names = input_names(model, case.data)
    rows = len(case.data[names[0]])
    columns = {"loss": [], "learning_rate": []}
    traced, start = {}, snapshot(model.variables)
    for step in range(description["steps"]):
        chosen = (step * description["batch"] + np.arange(description["batch"])) % rows
        block = {name: array[chosen] for name, array in case.data.items()}
        inputs = [block[name] for name in names]
        before = snapshot(model.trainable_variables)
        columns["learning_rate"].append(np.float32(keras.ops.convert_to_numpy(optimizer.learning_rate)))
        model.reset_metrics()
        logs = model.train_on_batch(inputs if len(inputs) > 1 else inputs[0], targets_of(block),
                                    sample_weight=block.get("sample_weight"), return_dict=True)  # fmt: skip
        for name, value in logs.items():
            columns.setdefault(name if name == "loss" else f"metric:{name}", []).append(np.float32(value))
        if scaler:
            columns.setdefault("dynamic_scale", []).append(np.float32(keras.ops.convert_to_numpy(scaler.dynamic_scale)))
            columns.setdefault("step_counter", []).append(np.int64(keras.ops.convert_to_numpy(scaler.step_counter)))
            columns.setdefault("iterations", []).append(np.int64(keras.ops.convert_to_numpy(scaler.iterations)))
        after = snapshot(model.trainable_variables)
        columns.setdefault("changed", []).append(any(not np.array_equal(after[path], before[path]) for path in after))
        for path, value in snapshot(model.variables if in_graphs else []).items():
            if is_traced(path):
                traced.setdefault(f"trace:{path}", []).append(value)
    found = {name: np.stack(values) for name, values in {**columns, **traced}.items()}
    case.moved = {}
    for path, value in snapshot(model.variables).items():
        found[f"final:{path}"] = value
        case.moved[f"final:{path}"] = float(np.abs(np.subtract(value, start[path], dtype=np.float64)).max(initial=0))
    labels = description.setdefault("optimizer_variables", [variable.path for variable in optimizer.variables])
    if len(labels) != len(optimizer.variables):
        raise ValueError(f"the optimizer has {len(optimizer.variables)} variables, case.json names {len(labels)}")
    found.update({f"opt:{label}": variable for label, variable in zip(labels, optimizer.variables)})
    if not case.is_new:
        found = {name: value for name, value in found.items() if name in description["tolerances"]["arrays"]}
    return found
