# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what `mpcc --explain=json` says of the example: check_explain.py FILE."""

import json
import sys

with open(sys.argv[1]) as handle:
    explanation = json.load(handle)

layers = {layer["path"]: layer for layer in explanation["layers"]}
assert list(layers) == ["dense_1", "dense_2", "dense_logits", "predictions"], list(layers)
assert layers["dense_1"] == {
    "path": "dense_1",
    "class": "Dense",
    "policy": "mixed_bfloat16",
    "compute": "bf16",
    "variable": "f32",
    "accumulate": "f32",
    "output": "bf16",
    "casts": "1 input, 2 variables",
    "rule": "file",
}, layers["dense_1"]
assert layers["predictions"]["output"] == "f32", layers["predictions"]

entries = {op["entry"] for op in explanation["ops"]}
assert entries == {"predict", "evaluate", "gradients", "train_step"}, entries
steps = [op for op in explanation["ops"] if op["op"] == "optimizer_step"]
assert len(steps) == 6, len(steps)
assert steps[0]["inputs"] == ["f32[784x4096]"] * 3 + ["f32[]"] * 2, steps[0]
contractions = [op for op in explanation["ops"] if op["op"] == "contract"]
assert all(op["accumulate"] == "f32" for op in contractions)
assert explanation["memory"]["variables"]["trainable"] == 80150568, explanation["memory"]
assert explanation["memory"]["arenas"]["train_step"]["bytes"] < 1 << 17, explanation["memory"]
assert {"place", "name", "text"} == set(explanation["decisions"][0]), explanation["decisions"][0]
