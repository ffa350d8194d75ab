# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records what real Keras computes with the models of other people, for run.py.

usage: TF_ENABLE_ONEDNN_OPTS=0 python record.py MODELS_FOLDER

Needs Keras 3.15 and tf_keras on TensorFlow. Writes sleepecg.npz and dgaintel.npz beside itself: inputs,
targets, what predict returns, and the loss, the variables and the optimizer's variables after one
training step. Of large arrays every k-th element is kept (sample() in samples.py).
"""
import os
import sys
import tempfile

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np

from samples import prepare_dgaintel, sample


def record(model, inputs, target, path):
    arrays = {"x0": inputs, "y0": target, "out0": model.predict(inputs, verbose=0)}
    arrays["loss"] = np.float32(model.train_on_batch(inputs, target, return_dict=True)["loss"])
    for variable in model.variables:
        if "seed_generator" not in variable.path:
            arrays["final:" + variable.path] = sample(np.asarray(variable))
    for variable in model.optimizer.variables:
        arrays["opt:" + variable.path] = sample(np.asarray(variable))
    np.savez_compressed(path, **arrays)
    print(path, {name: array.shape for name, array in arrays.items()})


def record_sleepecg(folder, here):
    model = keras.saving.load_model(os.path.join(folder, "sleepecg.keras"))
    random = np.random.default_rng(7)
    steps = 24
    inputs = random.normal(size=(4, steps, 36)).astype(np.float32)
    for row, length in enumerate((24, 17, 9, 1)):  # -1 is what the model's Masking leaves out
        inputs[row, length:] = -1
    stages = random.integers(0, 4, size=(4, steps))
    record(model, inputs, np.eye(4, dtype=np.float32)[stages], os.path.join(here, "sleepecg.npz"))


def record_dgaintel(folder, here):
    """Of TensorFlow 2.1, so that tf_keras says what it means; its optimizer is that of then."""
    import tf_keras

    with tempfile.TemporaryDirectory() as scratch:
        path = os.path.join(scratch, "dgaintel.h5")
        prepare_dgaintel(os.path.join(folder, "dgaintel.h5"), path)
        model = tf_keras.models.load_model(path)
    random = np.random.default_rng(8)
    inputs = random.integers(0, 39, size=(6, 82)).astype(np.int32)
    target = random.integers(0, 2, size=(6, 1)).astype(np.float32)
    arrays = {"x0": inputs, "y0": target, "out0": model.predict(inputs, verbose=0)}
    arrays["loss"] = np.float32(model.train_on_batch(inputs, target, return_dict=True)["loss"])
    optimizer = model.optimizer
    arrays["opt:Adam/iteration"] = sample(optimizer.iterations.numpy())
    arrays["opt:Adam/learning_rate"] = sample(np.float32(optimizer.learning_rate.numpy()))
    for variable in model.trainable_variables:
        path = variable.name.split(":")[0]
        arrays["final:" + path] = sample(variable.numpy())
        for old, today in (("m", "momentum"), ("v", "velocity")):
            name = "opt:Adam/" + path.replace("/", "_") + "_" + today
            arrays[name] = sample(optimizer.get_slot(variable, old).numpy())
    path = os.path.join(here, "dgaintel.npz")
    np.savez_compressed(path, **arrays)
    print(path, {name: array.shape for name, array in arrays.items()})


if __name__ == "__main__":
    place = os.path.dirname(os.path.abspath(__file__))
    record_sleepecg(sys.argv[1], place)
    record_dgaintel(sys.argv[1], place)
