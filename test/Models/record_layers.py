# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes layers/CASE.keras and layers/CASE.npz: small models and what real Keras computes with
them, for run.py, in the way of the public fixtures (keras/README.md among them): forward,
gradient (eager, training=True) or train (train_on_batch, eager).

usage: TF_ENABLE_ONEDNN_OPTS=0 python record_layers.py [CASE…]

Needs Keras 3.15 on TensorFlow and KerasHub 0.32.
"""
import os
import sys

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import tensorflow as tf
from layer_cases import applications, attention, audio, augmentation, frozen, hub, legacy, masks, operations, operations_of_images, operations_of_numbers, operations_of_signals, recurrence, shared_layers  # they register cases
from layer_cases.registry import CASES
from layer_cases.training import OPTIMIZERS

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import schedule_free  # noqa: E402

schedule_free.read_momentum_before_update()

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "layers")


def write(name, kind, build, options):
    keras.utils.set_random_seed(len(name))
    random = np.random.default_rng(len(name))
    model = build()
    if kind == "file":
        return model.save(os.path.join(FOLDER, name + ".keras"))
    if kind == "masks":
        model.compile(optimizer="sgd", loss=["mse", "mse"])
        return model.save(os.path.join(FOLDER, name + ".keras"))
    for variable in model.weights:
        value = random.normal(scale=0.5, size=variable.shape)
        if "variance" in variable.path:
            value = 0.5 + np.abs(value)
        variable.assign(value)
    fixed = model.inputs[0].shape[0]
    rows = options.get("rows", fixed or 6)
    shape = (rows, *model.inputs[0].shape[1:])
    if model.inputs[0].dtype == "int32":
        inputs = random.integers(0, 9, size=shape).astype(np.int32)
    elif "values" in options:
        inputs = random.choice(np.array(options["values"], np.int64), size=shape)
    else:
        inputs = random.normal(size=shape).astype(np.float32)
    if "masked" in name:
        inputs[1, 2:] = 0
        inputs[2, 0] = 0
    arrays = {"x": inputs}
    targets, weights = [], None
    if kind != "forward":
        makers = options.get("target")
        for output, make in zip(model.outputs, makers if isinstance(makers, list) else [makers] * len(model.outputs)):
            target = random.normal(size=(rows, *output.shape[1:])).astype(np.float32)
            targets.append(make(random, rows, output.shape) if make else target)
            arrays[f"y{len(targets) - 1}"] = targets[-1]
        target = targets[0]
        if "weights" in options:
            weights = options["weights"](random, rows)
            names = ["sample_weight_" + name for name in model.output_names] if len(weights) > 1 else ["sample_weight"]
            arrays.update(zip(names, weights))
        optimizer = OPTIMIZERS[options["optimizer"]]() if kind == "train" else "sgd"
        if name.startswith("stateful"):
            optimizer = keras.optimizers.SGD(0.1)
        model.compile(optimizer=optimizer, loss=options.get("loss", "mse"), loss_weights=options.get("loss_weights"), run_eagerly=True,
                      metrics=options.get("metrics"), weighted_metrics=options.get("weighted_metrics"))
        if kind == "train":
            model.optimizer.build(model.trainable_variables)
        for _ in range(options.get("before", 0)):
            model.train_on_batch(inputs, target)
    path = os.path.join(FOLDER, name + options.get("suffix", ".keras"))
    model.save(path)
    keras.backend.clear_session()  # what has no name is numbered as in a process that only loads
    if options.get("reads", True):  # Keras does not read all that it writes
        model = keras.saving.load_model(path)
    if "reference" in options:
        weights = model.get_weights()
        model = build(options["reference"])
        model.set_weights(weights)
        model.compile(loss="mse")
    if kind == "forward":
        # Batch by batch, so that states go on. Layers that augment images train unless they are told not to.
        size = fixed or rows
        parts = [model(inputs[i:i + size], training=False) for i in range(0, rows, size)]
        parts = [part if isinstance(part, (list, tuple)) else [part] for part in parts]
        for index in range(len(model.outputs)):
            whole = np.concatenate([np.asarray(part[index] if part[index].dtype.is_integer else tf.cast(part[index], "float32")) for part in parts])
            arrays[f"out{index}"] = whole
    elif kind == "gradient":
        before = {v.path: np.asarray(v) for v in model.non_trainable_variables}
        with tf.GradientTape() as tape:
            output = model(inputs, training=True)
            loss = model.compute_loss(y=target, y_pred=output)
        gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
        arrays["loss"] = np.float32(loss)
        arrays["out0"] = np.asarray(tf.cast(output, "float32"))
        for variable, gradient in zip(model.trainable_variables, gradients):
            arrays["grad:" + variable.path] = np.asarray(tf.cast(tf.convert_to_tensor(gradient), "float32"))
        for variable in model.non_trainable_variables:
            if "seed_generator" not in variable.path and not np.array_equal(before[variable.path], np.asarray(variable)):
                arrays["after:" + variable.path] = np.asarray(variable)
    else:
        model.run_eagerly = True
        logged = {}
        batch = fixed or 3
        arrays["batch"] = np.int64(batch)
        for step in range(options["steps"]):
            index = (step * batch + np.arange(batch)) % rows
            chosen = [[array[index] for array in part] if part else None for part in (targets, weights)]
            if "nested" in name:  # metrics want the outputs' structure
                chosen[0] = [keras.tree.pack_sequence_as(model._outputs_struct, chosen[0])]
            logs = model.train_on_batch(inputs[index], *(part if part is None or len(part) > 1 else part[0] for part in chosen), return_dict=True)
            for key, value in logs.items():
                logged.setdefault(key if key == "loss" else "metric:" + key, []).append(value)
        arrays.update({key: np.asarray(values, np.float32) for key, values in logged.items()})
        for variable in model.variables:
            if "seed_generator" not in variable.path:
                arrays["final:" + variable.path] = np.asarray(variable)
        for variable in model.optimizer.variables:
            # Adafactor's r and c of a variable have one name, which is not their variable's path.
            if "/" in variable.path and variable.path.rsplit("/")[-1] not in (
                    "embeddings", "kernel", "bias"):
                arrays["opt:" + variable.path] = np.asarray(variable)
    # The softmax does not see the bias of keys: its gradient is rounding noise, of which Adam makes whole steps.
    arrays = {key: array for key, array in arrays.items() if not (name.startswith("hub") and "key" in key and "bias" in key)}
    np.savez_compressed(os.path.join(FOLDER, name + ".npz"), **arrays)
    print(name, kind, {key: value.shape for key, value in arrays.items()})


if __name__ == "__main__":
    for wanted in sys.argv[1:] or CASES:
        keras.backend.clear_session()
        write(wanted, *CASES[wanted])
