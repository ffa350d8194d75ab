# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""case.json of a new case: what the model file says of itself, and tolerances by the rules of the
fixtures' README, without the widening that other executions of Keras would ask for."""

import json
import zipfile

import keras
import numpy as np

BASE = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
# The tolerances of how far training moved a variable, and of losses and the optimizer's variables.
MOVED = {"float32": 1e-3, "float16": 3e-2, "bfloat16": 1e-1}
TRAINED = {"float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}
RECURRENT = {"LSTM", "GRU", "SimpleRNN", "RNN", "Bidirectional", "ConvLSTM1D", "ConvLSTM2D", "ConvLSTM3D"}
EXACT = {"dynamic_scale", "step_counter", "iterations", "changed"}


def classes_in(value, found):
    """Classes and policies that a serialised value names."""
    if isinstance(value, list):
        for item in value:
            classes_in(item, found)
    elif isinstance(value, dict):
        if value.get("class_name") == "DTypePolicy":
            found["policies"].append(value["config"]["name"])
        elif value.get("module") == "keras.layers":
            found["layers"].append(value["class_name"])
        for item in value.values():
            classes_in(item, found)
    return found


def in_full(loss):
    """A loss that compile() was given by name, as Keras serialises what that name stands for."""
    if isinstance(loss, (list, tuple)):
        return [in_full(one) for one in loss]
    return keras.losses.serialize(keras.losses.get(loss)) if isinstance(loss, str) else loss


def beginning(kind, name, model):
    with zipfile.ZipFile(model) as archive:
        config = json.loads(archive.read("config.json"))
    found = classes_in(config["config"], {"policies": [], "layers": []})
    compiled = config.get("compile_config") or {}
    suffix = name.rsplit("__", 1)
    policy = suffix[1] if len(suffix) == 2 else next(iter(found["policies"]), "float32")
    return {
        "kind": kind, "policy": policy, "layers": sorted(set(found["layers"])), "description": name,
        "optimizer": compiled.get("optimizer"), "loss": in_full(compiled.get("loss")),
        "steps": {"train": 20, "loss_scale": 20}.get(kind, 0),
        "loss_scaling": "auto" if policy == "mixed_float16" and kind in ("train", "loss_scale") else None,
    }  # fmt: skip


def width_of(policy):
    return "bfloat16" if "bfloat16" in policy else "float16" if "float16" in policy else "float32"


def finish(case, arrays):
    """Adds tolerances for the arrays."""
    description = case.description
    width = width_of(description["policy"])
    layers = description["layers"]
    depth = min(4, 1 + 0.25 * max(0, len([name for name in layers if name != "InputLayer"]) - 1))
    depth *= 2 if RECURRENT & set(layers) else 1
    tolerances = {}
    for name, array in arrays.items():
        floating = array.dtype.kind == "f"
        rms = float(np.sqrt(np.mean(np.square(array.astype(np.float64))))) if floating and array.size else 0.0
        rtol = BASE[width] * depth * (2 if name.startswith("grad") else 1)
        if not floating or name in EXACT:
            tolerances[name] = {"rtol": 0.0, "atol": 0.0}
        elif name.startswith("final:"):
            tolerances[name] = {"rtol": 1e-6, "atol": MOVED[width] * case.moved[name]}
        elif description["steps"]:
            tolerances[name] = {"rtol": TRAINED[width], "atol": TRAINED[width] * rms}
        elif not name.startswith("ref"):
            tolerances[name] = {"rtol": rtol, "atol": rtol * rms}
    limits = {key: max((entry[key] for entry in tolerances.values()), default=0.0) for key in ("rtol", "atol")}
    description["tolerances"] = {**limits, "arrays": tolerances}
