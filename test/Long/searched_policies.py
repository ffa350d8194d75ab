# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""searched_policies.py BIN [NAME...]: `mpcc --policy=auto` by speed and by memory (which every CPU has to gain) on
the five examples and three models of keras.applications with random weights. Each map holds its tolerance, and
Keras loads it and gives every layer the policy that mpcc gave it. NAME is one like fashion_cnn or fashion_cnn:speed."""

import json
import os
import subprocess
import sys
import tempfile

import keras
import numpy

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
FASHION = "/usr/share/datasets/fashion-mnist"
TRAINS = ("--loss=sparse_categorical_crossentropy", "--optimizer=adam", "--metrics=accuracy")

# Name of the example: its options.
EXAMPLES = {
    "mnist_mlp": ("--metric=accuracy:0.03",),
    "fashion_cnn": ("--metric=accuracy:0.03",),
    "fashion_lstm": ("--metric=accuracy:0.03",),
    "fashion_transformer": ("--metric=accuracy:0.03",),
    "fashion_autoencoder": ("--metric=loss:0.01",),
}
APPLICATIONS = {
    "MobileNetV2": dict(input_shape=(32, 32, 3), alpha=0.35, weights=None, classes=10),
    "EfficientNetB0": dict(input_shape=(32, 32, 3), weights=None, classes=10),
    "ResNet50": dict(input_shape=(32, 32, 3), weights=None, classes=10),
}


def random_images(path, shape, classes):
    random = numpy.random.default_rng(0)
    labels = random.integers(0, classes, 64).astype("int32")
    # Classes differ in brightness, so that there is something to learn.
    images = random.normal(size=(64, *shape)) * 0.2 + labels.reshape(-1, *[1] * len(shape)) / classes
    numpy.savez(path, x0=images.astype("float32"), y0=labels)


def fashion_subset(path, shape, targets):
    """The first test images of Fashion-MNIST."""
    import gzip  # pylint: disable=import-outside-toplevel

    def read(name, header):
        with gzip.open(os.path.join(FASHION, name)) as handle:
            return numpy.frombuffer(handle.read()[header:], "uint8")

    images = read("t10k-images-idx3-ubyte.gz", 16).reshape(-1, *shape)[:512].astype("float32") / 255
    labels = read("t10k-labels-idx1-ubyte.gz", 8)[:512].astype("int32")
    numpy.savez(path, x0=images, y0=images if targets == "images" else labels)


def search(binaries, model, data, folder, mode, *options):
    command = [os.path.join(binaries, "mpcc"), model, f"--policy=auto:{mode},mixed_bfloat16", "--calibrate", data, "-o", folder,
               "--name=m", "--march=native", "--custom-loop=off", "--seed=1", *options]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    with open(os.path.join(folder, "m.search.json")) as handle:
        return json.load(handle)


def check_map(folder, report, paths):
    """Keras's map gives the policies that mpcc compiled, for each path of Keras's layers."""
    with open(os.path.join(folder, "m.policy.json")) as handle:
        policies = keras.saving.deserialize_keras_object(json.load(handle))
    assert isinstance(policies, keras.dtype_policies.DTypePolicyMap), type(policies)
    for row in report["layers"]:
        assert policies[row["path"]].name == row["policy"], (row, policies[row["path"]])
    with open(os.path.join(folder, "m.json")) as handle:
        computed = {row["path"]: row["compute"] for row in json.load(handle)["layers"]}
    short = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
    for path in paths:
        if path in computed:
            assert short[policies[path].compute_dtype] == computed[path], path
    holding = [trial for trial in report["trials"] if trial["holds"]]
    narrow = sum(row["policy"] != "float32" for row in report["layers"])
    assert holding or not narrow, report["trials"]
    return f"{narrow} of {len(report['layers'])} layers narrow, {len(report['trials'])} maps, cost {report['cost']:.3f}"


def run_example(binaries, work, name, mode):
    model = os.path.join(ROOT, "examples", name, "model.json")
    with open(model) as handle:
        loaded = keras.models.model_from_json(handle.read())
    data, folder = os.path.join(work, name + ".npz"), os.path.join(work, name)
    shape = loaded.inputs[0].shape[1:]
    fashion_subset(data, shape, "images" if name == "fashion_autoencoder" else "labels")
    report = search(binaries, model, data, folder, mode, *EXAMPLES[name])
    return check_map(folder, report, [layer.path for layer in loaded.layers])


def run_application(binaries, work, name, mode):
    keras.utils.set_random_seed(1)
    loaded = getattr(keras.applications, name)(**APPLICATIONS[name])
    model, data = os.path.join(work, name + ".keras"), os.path.join(work, name + ".npz")
    loaded.save(model)
    random_images(data, (32, 32, 3), 10)
    folder = os.path.join(work, name)
    report = search(binaries, model, data, folder, mode, "--search-steps=4", "--metric=loss:0.5", *TRAINS)
    return check_map(folder, report, [layer.path for layer in loaded.layers])


def main():
    binaries, names = sys.argv[1], sys.argv[2:]
    models = {**dict.fromkeys(EXAMPLES, run_example), **dict.fromkeys(APPLICATIONS, run_application)}
    runs = [(name, mode, run) for mode in ("memory", "speed") for name, run in models.items()]
    failed = count = 0
    with tempfile.TemporaryDirectory() as work:
        for name, mode, run in runs:
            title = f"{name}:{mode}"
            if names and name not in names and title not in names:
                continue
            count += 1
            try:
                print(f"ok    {title}: {run(binaries, work, name, mode)}", flush=True)
            except AssertionError as problem:
                failed += 1
                print(f"FAIL  {title}: {problem}", flush=True)
    print(f"ran {count} tests")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
