# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of other people, compiled for some shapes, beside onnxruntime: models.py BIN"""

import os
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

import execution

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import places

# Extents for what the file of a model leaves open, by name and input.
SHAPES = {
    "dnsmos_v8.onnx": [{"input_1": [1, 900, 120]}, {"input_1": [3, 900, 120]}],
    "fw_silero_v6.onnx": [{"input": [1, 576]}, {"input": [20, 576]}],
}
TOLERANCE = 1e-4
TYPES = {"tensor(float)": np.float32, "tensor(int64)": np.int64, "tensor(double)": np.float64}


def closed(shape, given):
    return given or [extent if isinstance(extent, int) and extent > 0 else 1 for extent in shape]


def check(binaries, path, shapes, work):
    """Text of what is wrong, or ""."""
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    draw = np.random.default_rng(1)
    inputs, options = {}, []
    for each in session.get_inputs():
        shape = closed(each.shape, shapes.get(each.name))
        inputs[each.name] = draw.normal(size=shape).astype(np.float32).astype(TYPES[each.type])
        options.append(f"--input-shape={each.name}:{','.join(map(str, shape))}")
    compiled = os.path.join(work, "m.mpc")
    done = subprocess.run([os.path.join(binaries, "mpcc"), path, "-o", compiled, "--name=m", "--march=native", "-q", *options],
                          capture_output=True, text=True, check=False)  # fmt: skip
    if done.returncode != 0:
        return f"mpcc ended with {done.returncode}: {done.stderr.strip()}"
    try:
        got = execution.run_apart(binaries, compiled, inputs, 600)
    except execution.Unfit as unfit:
        return str(unfit)
    for name, array, expected in zip((each.name for each in session.get_outputs()), got, session.run(None, inputs)):
        if array.shape != expected.shape:
            return f"output {name}: has the shape {array.shape}; expected {expected.shape}"
        error = float(np.max(np.abs(array.astype(np.float64) - expected) / np.maximum(1, np.abs(expected))))
        print(f"{os.path.basename(path)}: {name}: largest difference {error:.2e}")
        if not error <= TOLERANCE:
            return f"output {name}: differs by {error:.2e}; expected {TOLERANCE} at most"
    return ""


def main():
    folder = places.models()
    if folder is None:
        print(f"SKIPPED: {places.WITHOUT_MODELS}")
        return places.SKIPPED
    count, faults = 0, 0
    for name, variants in SHAPES.items():
        for shapes in variants:
            with tempfile.TemporaryDirectory() as work:
                fault = check(sys.argv[1], os.path.join(folder, name), shapes, work)
            count += 1
            if fault:
                faults += 1
                print(f"wrong: {name}: {fault}")
    print(f"ran {count} tests")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
