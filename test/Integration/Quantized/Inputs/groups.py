# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A model of gptq and awq layers with groups in order and out of it, and what it has to predict.

groups.py make FOLDER    writes model.json and weights.npz
groups.py check FOLDER   runs FOLDER/model.mpc on some rows
"""

import json
import pathlib
import subprocess
import sys

import numpy

WIDTH, GROUP = 200, 32
# (mode, bits, units, whether the groups of the inputs are in order)
LAYERS = [("gptq", 4, 131, True), ("awq", 4, 70, True), ("gptq", 4, 33, False), ("gptq", 2, 24, True), ("gptq", 3, 21, False), ("gptq", 8, 11, False), ("awq", 4, 9, False)]
ROWS = (1, 7, 20, 50)


def describe():
    def layer(class_name, **config):
        return {"module": "keras.layers", "class_name": class_name, "config": config, "registered_name": None}

    layers = [layer("InputLayer", batch_shape=[None, WIDTH], dtype="float32", name="x")]
    for i, (mode, bits, units, _) in enumerate(LAYERS):
        policy = {"module": "keras.dtype_policies", "class_name": f"{mode.upper()}DTypePolicy", "registered_name": None,
                  "config": {"mode": f"{mode}/{bits}/{GROUP}", "source_name": "float32"}}  # fmt: skip
        layers.append(layer("Dense", name=f"dense_{i}", units=units, activation="linear", use_bias=True, dtype=policy))
    return {"module": "keras", "class_name": "Sequential", "registered_name": None,
            "config": {"name": "model", "layers": layers, "build_input_shape": [None, WIDTH]}}  # fmt: skip


def draw():
    random, parts, inputs = numpy.random.RandomState(5), {}, WIDTH
    for i, (mode, bits, units, in_order) in enumerate(LAYERS):
        groups = numpy.arange(inputs) // GROUP
        count = groups[-1] + 1
        stored = random.randint(0, 256, ((units + 1) // 2, inputs)) if bits == 4 else random.randint(0, 2**bits, (units, inputs))
        own = {"kernel": stored.astype("uint8"),
               "bias": random.uniform(-1, 1, units).astype("float32"),
               "kernel_scale": random.uniform(0.16, 0.48, (units, count)).astype("float32") / 2**bits,
               "kernel_zero": random.randint(0, 2**bits, (units, count)).astype("uint8"),
               "g_idx": (groups if in_order else random.permutation(groups)).astype("float32")}  # fmt: skip
        if mode == "awq":
            own["awq_scales"] = random.uniform(0.5, 2, inputs).astype("float32")
        parts.update({f"dense_{i}/{name}": value for name, value in own.items()})
        inputs = units
    return parts


def expected(parts, x):
    """keras/src/layers/core/dense.py, _gptq_call and _awq_call; sums in float64."""
    for i, (mode, bits, units, _) in enumerate(LAYERS):
        own = {name.split("/")[1]: value for name, value in parts.items() if name.startswith(f"dense_{i}/")}
        numbers = own["kernel"]
        if bits == 4:
            numbers = numpy.stack([numbers & 15, numbers >> 4], 1).reshape(-1, x.shape[1])[:units]
        groups = own["g_idx"].astype("int32")
        kernel = (numbers - own["kernel_zero"][:, groups].astype("float32")) * own["kernel_scale"][:, groups]
        if mode == "awq":
            kernel = kernel / own["awq_scales"]
        x = (x.astype("float64") @ kernel.T.astype("float64") + own["bias"]).astype("float32")
    return x


def main():
    action, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    if action == "make":
        (folder / "model.json").write_text(json.dumps(describe()))
        numpy.savez(folder / "weights.npz", **draw())
        return
    parts = draw()
    for rows in ROWS:
        x = numpy.random.RandomState(rows).uniform(-1, 1, (rows, WIDTH)).astype("float32")
        numpy.savez(folder / "x.npz", x=x)
        subprocess.run(["mpc-run", "predict", folder / "model.mpc", "--inputs", folder / "x.npz", "--outputs", folder / "y.npz",
                        "--batch-size", str(rows)], check=True)  # fmt: skip
        found, wanted = numpy.load(folder / "y.npz")["out0"], expected(parts, x)
        error = numpy.abs(found - wanted).max() / numpy.sqrt(numpy.mean(wanted**2))
        assert error < 1e-5, f"{rows} rows: {error}"


main()
