# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A dense network without a loss, and the same whose layers bring one: own_loss.py BLOBS FOLDER"""

import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    model = json.load(file)
model["compile_config"].update(loss=None, metrics=None)
with open(sys.argv[2] + "/none.json", "w", encoding="utf-8") as file:
    json.dump(model, file)
layer = next(layer for layer in model["config"]["layers"] if layer["class_name"] == "Dense")
layer["config"]["activity_regularizer"] = {"module": "keras.regularizers", "class_name": "L2", "config": {"l2": 0.1}, "registered_name": None}
with open(sys.argv[2] + "/own.json", "w", encoding="utf-8") as file:
    json.dump(model, file)
