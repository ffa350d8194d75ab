# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers at places where they have no derivative, and sums that no 16 bits hold.

  singular.py make FOLDER           architectures (JSON) and data
  singular.py check FOLDER NAME     the gradients of NAME in float32 are finite and those of the other
                                    policies are near them
  singular.py sums FOLDER           masked means of 16 bits are the exact ones, rounded once
"""

import json
import os
import sys

import numpy as np

POLICIES = ["float32", "mixed_bfloat16", "mixed_float16"]


def layer(kind, name, inbound, **config):
    tensors = [{"class_name": "__keras_tensor__",
                "config": {"shape": shape, "dtype": "float32", "keras_history": [before, 0, 0]}} for before, shape in inbound]  # fmt: skip
    nodes = [{"args": [tensors[0] if len(tensors) == 1 else tensors], "kwargs": {}}] if inbound else []
    return {"module": "keras.layers", "class_name": kind, "config": {"name": name, "trainable": True, **config},
            "registered_name": None, "name": name, "inbound_nodes": nodes}  # fmt: skip


def model(layers, inputs, output):
    config = {"name": "m", "trainable": True, "layers": layers, "input_layers": [[name, 0, 0] for name in inputs],
              "output_layers": [output, 0, 0]}  # fmt: skip
    return {"module": "keras.src.models.functional", "class_name": "Functional", "registered_name": "Functional", "config": config}


def dense(name, before, width, units):
    return layer("Dense", name, [(before, [None, width])], units=units, activation="linear", use_bias=False,
                 kernel_initializer={"module": "keras.initializers", "class_name": "GlorotUniform", "config": {"seed": 3}})  # fmt: skip


def start(name, *shape):
    return layer("InputLayer", name, [], batch_shape=[None, *shape], dtype="float32")


def models():
    yield "unit", model([start("x", 3), dense("d", "x", 3, 4), layer("UnitNormalization", "u", [("d", [None, 4])], axis=-1),
                         dense("o", "u", 4, 1)], ["x"], "o")  # fmt: skip
    yield "cosine", model([start("x", 3), dense("a", "x", 3, 4), dense("b", "x", 3, 4),
                           layer("Dot", "u", [("a", [None, 4]), ("b", [None, 4])], axes=1, normalize=True)], ["x"], "u")  # fmt: skip


def make(folder):
    draw = np.random.default_rng(0)
    x = draw.standard_normal((4, 3)).astype(np.float32)
    x[3] = 0  # a row without a direction
    np.savez(os.path.join(folder, "data.npz"), x0=x, y0=np.ones((4, 1), np.float32))
    for name, architecture in models():
        with open(os.path.join(folder, name + ".json"), "w") as handle:
            json.dump(architecture, handle)
    # 150 steps of 600 are 90000, and 300 of 1 lose bits in bfloat16.
    steps = np.zeros((2, 300, 1), np.float32)
    steps[0, :150], steps[1] = 600, 1.0078125
    np.savez(os.path.join(folder, "steps.npz"), x0=steps)
    masked = model([start("x", 300, 1), layer("Masking", "m", [("x", [None, 300, 1])], mask_value=0.0),
                    layer("GlobalAveragePooling1D", "g", [("m", [None, 300, 1])], data_format="channels_last")], ["x"], "g")  # fmt: skip
    with open(os.path.join(folder, "masked.json"), "w") as handle:
        json.dump(masked, handle)


def check(folder, name):
    results = {policy: np.load(os.path.join(folder, f"{name}-{policy}.npz")) for policy in POLICIES}
    for key in results["float32"].files:
        if not key.startswith("grad:"):
            continue
        wanted = results["float32"][key]
        assert np.isfinite(wanted).all(), f"{name}: {key} in float32: {wanted}"
        for policy in POLICIES[1:]:
            found = results[policy][key]
            assert np.isfinite(found).all(), f"{name}: {key} in {policy}: {found}"
            assert np.abs(found - wanted).max() <= 0.04 * np.abs(wanted).max(), f"{name}: {key} in {policy}: {found}, in float32 {wanted}"
    print(name, "agrees")


def sums(folder):
    for policy in POLICIES:
        found = np.load(os.path.join(folder, f"masked-{policy}.npz"))["out0"].ravel()
        assert (found == [600, 1.0078125]).all(), f"{policy}: {found}"
    print("means agree")


{"make": make, "check": check, "sums": sums}[sys.argv[1]](*sys.argv[2:])
