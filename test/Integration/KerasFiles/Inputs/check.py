# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles a model file, and compares predictions and the next losses with what the Keras that wrote
the file computed: check.py MODEL EXPECTED.npz FOLDER. Prints the largest differences."""

import os
import subprocess
import sys
import zlib

import numpy

# One model of this many is compiled as users get it; the others for this machine's level of the ISA, which takes half
# the time.
PORTABLE = 10
TOLERANCE = {"keras3": 3e-3, "tf_keras_mixed": 3e-3, "scaled": 3e-3}


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: exit {result.returncode}\n{result.stderr}")


def main():
    model, expected_path, folder = sys.argv[1:]
    expected = dict(numpy.load(expected_path))
    compiled = os.path.join(folder, "compiled")
    name = os.path.basename(expected_path)
    tolerance = max((t for prefix, t in TOLERANCE.items() if name.startswith(prefix)), default=2e-6)
    level = ["--march=native", "--custom-loop=off"] if zlib.crc32(name.encode()) % PORTABLE else []
    run("mpcc", model, "--output-guard=off", "--name=model", *level, "-o", compiled)
    data = os.path.join(folder, "data.npz")
    inputs = {k: v for k, v in expected.items() if not k.startswith(("out", "loss"))}
    numpy.savez(data, **inputs)
    out = os.path.join(folder, "out.npz")
    run("mpc-run", "predict", compiled, "--inputs", data, "--outputs", out)
    got = dict(numpy.load(out))
    errors = {key: float(numpy.abs(got[key] - expected[key]).max()) for key in expected if key.startswith("out")}
    if "loss" in expected:
        trace = os.path.join(folder, "trace.npz")
        run("mpc-run", "train", compiled, "--data", data, "--shuffle=off", "--batch-size", "8",
            "--epochs", "1", "--steps", str(len(expected["loss"])), "--trace", trace)  # fmt: skip
        errors["loss"] = float(numpy.abs(numpy.load(trace)["loss"] - expected["loss"]).max())
    bad = {key: error for key, error in errors.items() if not error <= tolerance}
    print("differs" if bad else "agrees", {key: f"{error:.1e}" for key, error in errors.items()})


main()
