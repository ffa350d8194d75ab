# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tries model files of others and writes what became of them to docs/generated/public-models.md.

  test/Long/public_models.py BIN FOLDER

FOLDER holds a folder for each kind of project with its files, which stay where they are. A Python with
tf_keras and Keras 3 runs this. Files that hold Python code are not given to Keras, which would run it.
"""

import collections
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
import h5py
import keras
import numpy
import tf_keras

REPOSITORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PAGE = os.path.join(REPOSITORY, "docs", "generated", "public-models.md")
OPEN_EXTENT = 32
TOLERANCE = {True: 1e-2, False: 1e-4}  # whether layers compute in 16 bits
HEADER = """<!-- Written by test/Long/public_models.py; do not edit. -->
# Model files of others

Files from public repositories, compiled as they are and compared with tf_keras 2.16 (files of Keras 2) or Keras 3.15 on random inputs. "Equal":
every output within 1e-4 of its largest number (1e-2 where layers compute in 16 bits). The files are not kept here.

| kind of file | Keras | project | result |
|---|---|---|---|
"""


def read_config(path):
    """The architecture as text, "" without one, and the version that the file states."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            metadata = json.loads(archive.read("metadata.json"))
            return archive.read("config.json").decode(), metadata.get("keras_version", "")
    if h5py.is_hdf5(path):
        with h5py.File(path, "r") as file:
            config, version = file.attrs.get("model_config", ""), file.attrs.get("keras_version", "")
        return [text.decode() if isinstance(text, bytes) else str(text) for text in (config, version)]
    with open(path) as handle:
        text = handle.read()
    return text, str(json.loads(text).get("keras_version", ""))


def find(node, name):
    """Every configuration of the class."""
    if isinstance(node, dict):
        if node.get("class_name") == name:
            yield node.get("config", {})
        for value in node.values():
            yield from find(value, name)
    elif isinstance(node, list):
        for value in node:
            yield from find(value, name)


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=600)
    lines = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    return result.returncode, lines


class Failure(Exception):
    pass


def compile_model(tools, path, folder, shapes=()):
    """The manifest; or why there is none, without the file's name."""
    out = os.path.join(folder, "model.mpc")
    options = [f"--input-shape={name}:{','.join(map(str, dims))}" for name, dims in shapes]
    code, errors = run(os.path.join(tools, "mpcc"), path, "--name=model", "--mode=infer", "--march=native",
                       "--output-guard=off", "-o", out, *options)  # fmt: skip
    if code:
        line = errors[0] if errors else f"exit {code}"
        raise Failure(line.replace(path, "").removeprefix("error: ").lstrip(": "))
    with open(os.path.join(out, "model.json")) as handle:
        return json.load(handle)


def load_reference(path, version, config):
    library = keras if version.startswith("3") else tf_keras
    if path.endswith(".json"):
        return library.models.model_from_json(config)
    return library.models.load_model(path, compile=False)


def draw(reference, config, dtypes):
    limits = [layer["input_dim"] for layer in find(json.loads(config), "Embedding") if "input_dim" in layer]
    random = numpy.random.default_rng(1)
    arrays = []
    for tensor, dtype in zip(reference.inputs, dtypes):
        dims = [3] + [extent or OPEN_EXTENT for extent in tensor.shape[1:]]
        values = random.integers(0, min(limits), dims) if limits else random.random(dims)
        arrays.append(values.astype(dtype))
    return arrays


def predict(tools, folder, arrays):
    inputs, outputs = os.path.join(folder, "x.npz"), os.path.join(folder, "y.npz")
    numpy.savez(inputs, **{f"x{i}": array for i, array in enumerate(arrays)})
    code, errors = run(os.path.join(tools, "mpc-run"), "predict", os.path.join(folder, "model.mpc"), "--inputs", inputs, "--outputs", outputs)
    if code:
        raise Failure("; ".join(errors))
    with numpy.load(outputs) as file:
        return [file[f"out{i}"] for i in range(sum(name.startswith("out") and name[3:].isdigit() for name in file))]


def compare(tools, path, folder):
    try:
        config, version = read_config(path)
    except UnicodeDecodeError:
        return "", "no model, neither archive nor HDF5 nor JSON"
    if not config:
        return "", "weights alone, no model"
    has_code = any(isinstance(layer.get("function"), (list, dict)) for layer in find(json.loads(config), "Lambda"))
    if has_code:
        try:
            compile_model(tools, path, folder)
        except Failure as failure:
            return version, f"refused: {failure}"
        return version, "compiled; holds Python code, which was not run to compare"
    try:
        reference = load_reference(path, version, config)
    except Exception as error:  # of any kind: others' files
        reference = None
        why = type(error).__name__
    open_inputs = [tensor for tensor in reference.inputs if None in tensor.shape[1:]] if reference else []
    shapes = [(tensor.name.split(":")[0], [extent or OPEN_EXTENT for extent in tensor.shape[1:]]) for tensor in open_inputs]
    source = path
    if path.endswith(".json") and reference:
        # The random weights of the reference, beside the architecture.
        weights, source = os.path.join(folder, "w.weights.h5" if version.startswith("3") else "w.h5"), os.path.join(folder, "m.h5")
        reference.save_weights(weights)
        code, errors = run(os.path.join(tools, "mpc-convert"), weights, "--model", path, "-o", source)
        if code:
            return version, f"refused: {errors[0].split(': ', 2)[-1]}"
    try:
        manifest = compile_model(tools, source, folder, shapes)
        if not reference:
            return version, f"compiled; Keras itself cannot load it ({why})"
        arrays = draw(reference, config, [entry["dtype"] for entry in manifest["inputs"]])
        ours = predict(tools, folder, arrays)
    except Failure as failure:
        return version, f"refused: {failure}"
    theirs = reference.predict(arrays if len(arrays) > 1 else arrays[0], verbose=0)
    theirs = theirs if isinstance(theirs, (list, tuple)) else [theirs]
    worst = max(abs(a - b).max() / max(abs(b).max(), 1e-30) for a, b in zip(ours, theirs))
    return version, "equal" if worst <= TOLERANCE["float16" in config] else f"DIFFERS by {worst:.2g}"


def main(tools, folder):
    rows = []
    for path in sorted(glob.glob(os.path.join(folder, "*", "*"))):
        kind = {"h5": "HDF5", "hdf5": "HDF5", "keras": "archive", "json": "to_json()"}[path.rsplit(".", 1)[1]]
        with tempfile.TemporaryDirectory() as temporary:
            try:
                version, result = compare(tools, path, temporary)
            except Exception as error:  # the row says so, and the others go on
                version, result = "", f"not compared: {type(error).__name__}: {str(error).splitlines()[0][:120]}"
        rows.append((kind, version or "-", os.path.basename(os.path.dirname(path)), result.replace("|", "\\|")))
        print(path, *rows[-1], sep=" | ", flush=True)
    counts = collections.Counter(re.split("[:;,]| by ", row[3])[0] for row in rows)
    with open(PAGE, "w") as handle:
        handle.write(HEADER)
        handle.writelines("| " + " | ".join(row) + " |\n" for row in rows)
        handle.write(f"\nOf {len(rows)} files: " + ", ".join(f"{what} {count}" for what, count in counts.most_common()) + ".\n")


main(*sys.argv[1:])
