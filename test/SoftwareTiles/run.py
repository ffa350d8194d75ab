#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whole models on the runtime with software tiles (docs/decisions/0055): the example models train in
mixed_bfloat16 with products that are large enough for tiles. Usage: run.py BUILD"""

import os
import subprocess
import sys
import tempfile

import numpy

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.dirname(HERE))
# pylint: disable=wrong-import-position
import named_tests  # noqa: E402

BUILD = os.path.abspath(sys.argv[1])
BATCH, STEPS, CLASSES = 256, 6, 10
# Model, one sample, products of a step that tiles multiply, at least.
MODELS = {
    "mnist_mlp": ("model_256.keras", (784,), 5),
    "fashion_transformer": ("model.json", (28, 28), 14),
    "fashion_lstm": ("model.json", (28, 28), 4),
}


class Failed(Exception):
    pass


def run(*command, tiles=True):
    environment = dict(os.environ)
    if tiles:
        environment["LD_LIBRARY_PATH"] = os.path.join(BUILD, "lib", "software-tiles")
    result = subprocess.run([os.path.join(BUILD, "bin", command[0]), *map(str, command[1:])], env=environment, text=True,
                            capture_output=True)  # fmt: skip
    if result.returncode:
        raise Failed(f"{' '.join(map(str, command))}: {result.stderr}")
    return result.stdout + result.stderr


def train(folder, name, threads, tiles=True):
    """The file of trained variables as bytes, and each step's loss."""
    saved, trace = (os.path.join(folder, f"{name}-{threads}{tiles}{ending}") for ending in (".safetensors", ".npz"))
    run("mpc-run", "train", os.path.join(folder, name), "--data", os.path.join(folder, name + ".npz"), "--batch-size", BATCH,
        "--shuffle=off", "--initialize=3", "--epochs", STEPS, "--steps", STEPS, "--threads", threads, "--save", saved,
        "--trace", trace, tiles=tiles)  # fmt: skip
    with open(saved, "rb") as handle:
        return handle.read(), numpy.load(trace)["loss"]


def check(folder, name):
    model, shape, least = MODELS[name]
    library = os.path.join(folder, name)
    run("mpcc", "-q", os.path.join(ROOT, "examples", name, model), "--policy=mixed_bfloat16", "--mode=train", "--name=model", "-o", library,
        tiles=False)  # fmt: skip
    random = numpy.random.default_rng(1)
    numpy.savez(library + ".npz", x0=random.uniform(0, 1, (2 * BATCH, *shape)).astype("float32"),
                y0=random.integers(0, CLASSES, (2 * BATCH,)).astype("int32"))  # fmt: skip
    kernels = run("mpc-run", "bench", library, "--train", "--batch-size", BATCH, "--steps", 1, "--kernels")
    used = kernels.count("amx_bfloat16")
    if used < least:
        raise Failed(f"{used} products by tiles, expected {least}:\n{kernels}")
    one, two, without = train(folder, name, 1), train(folder, name, 2), train(folder, name, 1, tiles=False)
    if one[0] != two[0]:
        raise Failed("two threads give other bytes than one")
    # Sums in another order, in float32; what they are rounded to differs by a unit of bfloat16 here and there.
    error = numpy.max(numpy.abs(one[1] / without[1] - 1))
    if one[1].shape != (STEPS,) or not error < 2.0**-8:
        raise Failed(f"losses {one[1]} with tiles, {without[1]} without")
    return f"({used} products, losses within {error:.1e})"


def main():
    if "amx-bf16" not in run("mpc-run", "devices"):
        print("skipped: software tiles need a CPU with AVX-512")
        return 77
    with tempfile.TemporaryDirectory(prefix="mpc-tiles-") as folder:
        return named_tests.run({name: lambda name=name: check(folder, name) for name in MODELS})


if __name__ == "__main__":
    sys.exit(main())
