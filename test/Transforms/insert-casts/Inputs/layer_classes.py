# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Each layer class under each global policy: the dtypes in which it computes and stores, whether it
autocasts, and what the "dtype" that Keras writes into its config means when it is read again
(configs.json, "layer_classes"). Usage: layer_classes.py CONFIGS_JSON FOLDER. Exits 1 on any
difference, and on a class that is neither compared nor left out with a reason."""

import json
import os
import re
import sys

import autocast
import autocast_layers

NO_LAYER = "no layer of mpc"
LEFT_OUT = {
    "Input": "a function; what it makes is compared as InputLayer",
    "Sequential": "a container has no op of its own and decides no dtype",
    "Discretization": NO_LAYER,
    "Discretization one_hot": NO_LAYER,
    "CategoryEncoding": NO_LAYER,
    "StringLookup": NO_LAYER,
    "StringLookup multi_hot": NO_LAYER,
    "IntegerLookup": "gives integers, or counts that no policy rounds",
    "TextVectorization": NO_LAYER,
    "Hashing": NO_LAYER,
    "HashedCrossing": NO_LAYER,
    "RandomFlip": NO_LAYER,
    "RandomRotation": NO_LAYER,
    "Lambda": "Python code, which no model file makes mpc run",
}


def layer_model(layer, dtype):
    """A model of one layer called "it", whose config says `dtype`."""
    if layer == "InputLayer":
        return autocast_layers.model_of(
            [autocast_layers.input_layer("it", [None, 4], dtype),
             autocast_layers.layer_call("Identity", "out", "float32", {},
                                        {"args": [autocast_layers.tensor("it", [None, 4], dtype)], "kwargs": {}})],
            ["it"], ["out"])  # fmt: skip
    arguments = 1
    if layer == "MultiHeadAttention":
        shape, config, arguments = autocast_layers.SEQUENCE, {"num_heads": 2, "key_dim": 2}, 2
    elif layer == "Bidirectional":
        shape = autocast_layers.SEQUENCE
        inner = [{"module": "keras.layers", "class_name": "LSTM", "registered_name": None,
                  "config": {"name": name, "units": 2, "dtype": dtype, "go_backwards": name != "forward_lstm"}}
                 for name in ("forward_lstm", "backward_lstm")]  # fmt: skip
        config = {"layer": inner[0], "backward_layer": inner[1], "merge_mode": "concat"}
    else:
        shape, config = autocast_layers.LAYERS[layer]
    node = {"args": [autocast_layers.tensor("x", shape, "float32")] * arguments, "kwargs": {}}
    return autocast_layers.model_of(
        [autocast_layers.input_layer("x", shape, "float32"),
         autocast_layers.layer_call(layer, "it", dtype, config, node)], ["x"], ["it"])  # fmt: skip


def compare(record, folder):
    layer, expected = record["layer"], record["result"]
    name = f"{layer}_{record['global_policy']}"
    ir, remarks = autocast.compile_model(layer_model(layer, expected["config_dtype"]), folder, name)
    if ir is None:
        return [f"{name}: {remarks}"]
    if layer == "InputLayer":
        # Its policy decides nothing; its dtype is that of the tensor.
        argument = re.search(r"func\.func @forward\(%arg0: tensor<[?x\d]*x(\w+)>", ir).group(1)
        same = autocast.DTYPES[argument] == expected["config_dtype"]
        return [] if same else [f"{name}: {argument}, Keras {expected['config_dtype']}"]
    policies = autocast.remark_values(remarks, "layer-policy")
    # A wrapper has no op of its own: its layers have its policy.
    called = "forward_lstm" if layer == "Bidirectional" else "it"
    if called not in policies:
        return [f"{name}: no layer of that name among {sorted(policies)}"]
    got = {kind: autocast.DTYPES[policies[called][kind]] for kind in ("compute", "variable")}
    with open(os.path.join(folder, name + ".json.mlir")) as handle:
        call = re.search(rf'mpc\.layer "(?:\w+/)?{called}".*', handle.read()).group(0)
    got["autocast"] = "autocast = false" not in call
    wanted = {"compute": expected["compute_dtype"], "variable": expected["variable_dtype"],
              "autocast": expected["autocast"]}  # fmt: skip
    return [] if got == wanted else [f"{name}: {got}, Keras {wanted}"]


def main():
    with open(sys.argv[1]) as handle:
        records = json.load(handle)["layer_classes"]
    folder = sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    compared, failures = 0, []
    for record in records:
        if record["layer"] in LEFT_OUT:
            continue
        failures += compare(record, folder)
        compared += 1
    failures += [f"left out, but not in the fixture: {name}"
                 for name in LEFT_OUT if name not in {record["layer"] for record in records}]  # fmt: skip
    for name in sorted(LEFT_OUT):
        print(f"left out: {name}: {LEFT_OUT[name]}")
    for line in failures:
        print("DIFFERENT:", line)
    print(f"compared {compared} layers; {len(failures)} differences")
    return 1 if failures or compared < 42 else 0


if __name__ == "__main__":
    sys.exit(main())
