# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models of Keras 2 with an Embedding of 5 rows, and ids.

  ids.py make FOLDER     given.json (ids are a floating Input), computed.json (they come through a Reshape), data
  ids.py check FILE      which rows of the predictions are finite
"""

import json
import os
import sys

import numpy as np


def model(through):
    layers = [{"class_name": "InputLayer", "config": {"batch_input_shape": [None, 3], "dtype": "float32", "name": "x"}, "name": "x", "inbound_nodes": []}]
    before = "x"
    if through:
        layers.append({"class_name": "Reshape", "config": {"name": "r", "target_shape": [3]}, "name": "r", "inbound_nodes": [[["x", 0, 0, {}]]]})
        before = "r"
    layers.append({"class_name": "Embedding", "config": {"name": "e", "input_dim": 5, "output_dim": 2}, "name": "e", "inbound_nodes": [[[before, 0, 0, {}]]]})
    return {"class_name": "Functional", "keras_version": "2.9.0", "backend": "tensorflow",
            "config": {"name": "m", "layers": layers, "input_layers": [["x", 0, 0]], "output_layers": [["e", 0, 0]]}}  # fmt: skip


def make(folder):
    for name, through in (("given", False), ("computed", True)):
        with open(os.path.join(folder, name + ".json"), "w") as handle:
            json.dump(model(through), handle)
    ids = np.array([[0, 4, 1.5], [1, 2, 3], [4.75, 0, -0.5]], np.float32)
    for name, place, value in (("right", (0, 0), 0), ("negative", (1, 2), -1), ("beyond", (2, 0), 5), ("nan", (0, 1), np.nan)):
        changed = ids.copy()
        changed[place] = value
        np.savez(os.path.join(folder, name + ".npz"), x=changed)


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2])
    else:
        rows = np.isfinite(next(iter(np.load(sys.argv[2]).values()))).all(axis=(1, 2))
        print("finite:", rows.tolist())
