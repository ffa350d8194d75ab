# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes keras2_files/CASE: small models of Keras 2 and what tf_keras computes with them, laid out as the
public fixtures of Keras 2 (keras2/README.md among them), for test/Conformance/keras2.py.

usage: python record_keras2.py [--folder FOLDER] [CASE…]

Needs tf_keras 2.16 on TensorFlow 2.16.
"""
import argparse
import json
import os
import shutil
import zipfile

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import numpy
import tensorflow as tf
import tf_keras as keras

from keras2_cases import cudnn, functions, layers, losses, masks, metrics, modes, nesting, numbers  # they register cases
from keras2_cases.registry import CASES, normal, random, restart_random

HERE = os.path.dirname(os.path.abspath(__file__))


def give_weights(model):
    values = []
    for weight in model.weights:
        shape = weight.shape.as_list()
        if "variance" in weight.name or "stddev" in weight.name:
            values.append(random().uniform(0.5, 2, shape))
        else:
            values.append(weight.numpy() if weight.dtype.is_integer else random().normal(0, 0.4, shape))
    model.set_weights(values)


def only(values):
    return values if len(values) > 1 else next(iter(values.values() if isinstance(values, dict) else values))


def save(model, folder, form, weights_of):
    if form == "json":
        with open(os.path.join(folder, "model.json"), "w") as handle:
            handle.write(model.to_json())
        return (weights_of(model) if weights_of else model).save_weights(os.path.join(folder, "weights.h5"))
    path = os.path.join(folder, f"model.{form}")
    model.save(path)
    if form == "keras":  # deflated, which Keras does not do
        with zipfile.ZipFile(path) as archive:
            entries = {name: archive.read(name) for name in archive.namelist()}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in entries.items():
                archive.writestr(name, content)


def train(model, inputs, outputs, targets, steps, folder, meta, evaluates=0):
    """`evaluates` is the batch size in which losses and metrics are recorded before the training."""
    targets = [normal(*output.shape) for output in outputs] if targets is None else targets
    numpy.savez_compressed(os.path.join(folder, "data.npz"), **inputs, **{f"y{i}": y for i, y in enumerate(targets)})
    losses, given = [], only(targets) if targets else None
    if evaluates and isinstance(model.output, dict):  # metrics want the outputs' structure
        given = dict(zip(sorted(model.output), targets))
    if evaluates:
        values = model.evaluate(only(inputs), given, batch_size=evaluates, verbose=0, return_dict=True)
        meta.update(evaluated={name: float(value) for name, value in values.items()}, evaluated_batch=evaluates)
    for _ in range(steps):
        loss = model.train_on_batch(only(inputs), given)
        losses.append(loss[0] if isinstance(loss, list) else loss)
    finals = {f"final{i}": tf.cast(weight, "float32").numpy() for i, weight in enumerate(model.weights)}
    numpy.savez_compressed(os.path.join(folder, "train.npz"), losses=numpy.asarray(losses, "float64"), **finals)
    meta.update(kind="train", steps=steps, batch=len(next(iter(inputs.values()))), final_names=[weight.name for weight in model.weights])


def reload(folder, name, inputs, targets, steps):
    """Adds to train.npz how the training of the loaded file goes on."""
    model, path = keras.models.load_model(os.path.join(folder, name)), os.path.join(folder, "train.npz")
    losses = [model.train_on_batch(only(inputs), only(targets)) for _ in range(steps)]
    numpy.savez_compressed(path, **numpy.load(path), losses_reloaded=numpy.asarray(losses, "float64"))


def write(folder, build, form="keras", tolerance=2e-5, loss_tolerance=2e-4, steps=4, keeps_weights=False, weights_of=None, evaluates=0, trains=True, reloads=False):
    """`weights_of` gives the other model whose weights stand beside the architecture; without `trains` Keras fails to;
    `reloads` records the losses of the model that it loads, too."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    model, inputs, *targets = build()
    if not keeps_weights:
        give_weights(model)
    inputs = dict(zip(model.input_names, inputs))
    outputs = model.predict(only(inputs), batch_size=len(next(iter(inputs.values()))), verbose=0)
    if isinstance(outputs, dict):
        outputs = [outputs[key] for key in sorted(outputs)]
    outputs = [tf.cast(y, "float32").numpy() for y in (outputs if isinstance(outputs, (list, tuple)) else [outputs])]
    save(model, folder, form, weights_of)
    numpy.savez_compressed(os.path.join(folder, "x.npz"), **inputs)
    numpy.savez_compressed(os.path.join(folder, "y.npz"), **{f"out{i}": y for i, y in enumerate(outputs)})
    meta = {"keras": keras.__version__, "tensorflow": tf.__version__, "kind": "predict", "outputs": len(outputs),
            "tolerance": tolerance, "loss_tolerance": loss_tolerance}  # fmt: skip
    if getattr(model, "optimizer", None) and trains:
        train(model, inputs, outputs, targets[0] if targets else None, steps, folder, meta, evaluates)
        if reloads:
            reload(folder, f"model.{form}", inputs, targets[0], steps)
    with open(os.path.join(folder, "meta.json"), "w") as handle:
        json.dump(meta, handle, indent=1)
        handle.write("\n")
    print(os.path.basename(folder), meta["kind"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=os.path.join(HERE, "keras2_files"))
    parser.add_argument("case", nargs="*")
    arguments = parser.parse_args()
    for name in arguments.case or CASES:
        keras.backend.clear_session()
        keras.utils.set_random_seed(3)
        keras.mixed_precision.set_global_policy("float32")
        restart_random()
        build, options = CASES[name]
        write(os.path.join(arguments.folder, name), build, **options)


if __name__ == "__main__":
    main()
