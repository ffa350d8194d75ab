# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""tf_keras computes what a case of keras2/ expects: keras2.py OUT CASE_FOLDER... writes OUT/keras2/CASE/y.npz,
and train.npz for a case of kind train.

record.py starts it. What the process that wrote the file computed cannot come from the file: `losses`
and the final weights are kept, and `losses_reloaded` is computed anew. So a file that tf_keras itself
cannot load, or loads without its state, fails here by its own word (`reload` of meta.json).
"""

import glob
import json
import os
import shutil
import sys

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import tensorflow as tf
import tf_keras


def load(folder):
    """The model of a case, compiled where its file says how."""
    for name in ("model.keras", "model.h5"):
        if os.path.exists(os.path.join(folder, name)):
            return tf_keras.models.load_model(os.path.join(folder, name))
    with open(os.path.join(folder, "model.json")) as handle:
        model = tf_keras.models.model_from_json(handle.read())
    model.load_weights(glob.glob(os.path.join(folder, "weights*h5"))[0])
    return model


def read(folder, name):
    with np.load(os.path.join(folder, name)) as arrays:
        return {key: arrays[key] for key in arrays.files}


def outputs_in_order(predicted):
    if isinstance(predicted, dict):
        return [predicted[key] for key in sorted(predicted)]
    return predicted if isinstance(predicted, (list, tuple)) else [predicted]


def widened(array):
    array = np.asarray(array)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array


def inputs_of(model, data):
    """By the model's names; a model of one input takes the only array."""
    values = [data[name] for name in model.input_names if name in data]
    if not values:
        values = [value for name, value in data.items() if not name.startswith("y")]
    return values if len(values) > 1 else values[0]


def record(folder, out):
    name = os.path.basename(folder)
    with open(os.path.join(folder, "meta.json")) as handle:
        description = json.load(handle)
    model = load(folder)
    data = read(folder, "x.npz")
    rows = len(next(iter(data.values())))
    predicted = outputs_in_order(model.predict(inputs_of(model, data), batch_size=rows, verbose=0))
    target = os.path.join(out, "keras2", name)
    shutil.rmtree(target, ignore_errors=True)
    os.makedirs(target)
    np.savez_compressed(os.path.join(target, "y.npz"), **{f"out{i}": widened(y) for i, y in enumerate(predicted)})
    if description["kind"] == "train":
        data, recorded = read(folder, "data.npz"), read(folder, "train.npz")
        keys = [key for key in data if key[0] == "y" and key[1:].isdigit()]
        targets = [data[key] for key in sorted(keys, key=lambda key: int(key[1:]))]
        losses = [model.train_on_batch(inputs_of(model, data), targets if len(targets) > 1 else targets[0], return_dict=True)["loss"]
                  for _ in range(description["steps"])]  # fmt: skip
        recorded["losses_reloaded"] = np.array(losses, np.asarray(recorded["losses"]).dtype)
        np.savez_compressed(os.path.join(target, "train.npz"), **recorded)
    description.update(keras=tf_keras.__version__, tensorflow=tf.__version__)
    with open(os.path.join(target, "meta.json"), "w") as handle:
        json.dump(description, handle, indent=1)


def main():
    failed = 0
    for folder in sys.argv[2:]:
        tf_keras.backend.clear_session()
        tf_keras.utils.set_random_seed(1)
        try:
            record(folder, sys.argv[1])
        except Exception as error:  # The others are recorded still.
            print(f"error: keras2/{os.path.basename(folder)}: {type(error).__name__}: {error}", file=sys.stderr)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
