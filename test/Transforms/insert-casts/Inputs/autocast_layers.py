# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Single layers over every kind of input, and arguments that are lists or keywords: what mpc's layers
return against what Keras recorded (autocast.json, "layers" and "arguments").
Usage: autocast_layers.py AUTOCAST_JSON DEVIATIONS_JSON FOLDER. Exits 1 on any difference that
deviations.json does not name with its reason, and on deviations that are none."""

import json
import os
import re
import sys

import autocast

SEQUENCE, IMAGE = [None, 4, 3], [None, 4, 4, 3]
# Layer of the fixture: shape of its input and the config of a layer that takes it.
LAYERS = {
    "Dense": ([None, 4], {"units": 3}),
    "Conv2D": (IMAGE, {"filters": 2, "kernel_size": [3, 3]}),
    "Embedding": ([None, 3], {"input_dim": 8, "output_dim": 4}),
    "BatchNormalization": ([None, 4], {"axis": -1}),
    "LayerNormalization": ([None, 4], {"axis": -1}),
    "GroupNormalization": ([None, 4], {"groups": 2, "axis": -1}),
    "RMSNormalization": ([None, 4], {"axis": -1}),
    "UnitNormalization": ([None, 4], {"axis": -1}),
    "Rescaling": ([None, 4], {"scale": 0.5, "offset": 0.0}),
    "Normalization": ([None, 4], {"axis": [-1], "mean": 0.0, "variance": 1.0}),
    "Activation relu": ([None, 4], {"activation": "relu"}),
    "Softmax": ([None, 4], {"axis": -1}),
    "ReLU": ([None, 4], {}),
    "PReLU": ([None, 4], {"shared_axes": None}),
    "Flatten": ([None, 4], {}),
    "Identity": ([None, 4], {}),
    "Dropout": ([None, 4], {"rate": 0.5}),
    "GlobalAveragePooling1D": (SEQUENCE, {}),
    "MaxPooling1D": (SEQUENCE, {"pool_size": [2], "strides": [2], "padding": "valid"}),
    "AveragePooling1D": (SEQUENCE, {"pool_size": [2], "strides": [2], "padding": "valid"}),
    "LSTM": (SEQUENCE, {"units": 2}),
    "GRU": (SEQUENCE, {"units": 2}),
    "Resizing": (IMAGE, {"height": 2, "width": 2}),
    "CenterCrop": (IMAGE, {"height": 2, "width": 2}),
    "UpSampling2D": (IMAGE, {"size": [2, 2]}),
    "ZeroPadding2D": (IMAGE, {"padding": [[1, 1], [1, 1]]}),
    "Masking": (SEQUENCE, {"mask_value": 0.0}),
}
LEFT_OUT = {
    "Discretization": "no layer of mpc",
    "CategoryEncoding": "no layer of mpc",
    "Lambda": "Python code, which no model file makes mpc run",
}


def tensor(name, shape, dtype):
    config = {"shape": shape, "dtype": dtype, "keras_history": [name, 0, 0]}
    return {"class_name": "__keras_tensor__", "config": config}


def input_layer(name, shape, dtype):
    return {"module": "keras.layers", "class_name": "InputLayer", "name": name, "registered_name": None,
            "inbound_nodes": [], "config": {"batch_shape": shape, "dtype": dtype, "name": name}}  # fmt: skip


def layer_call(class_name, name, policy, config, node):
    config = {"name": name, "trainable": True, "dtype": policy, **config}
    return {"module": "keras.layers", "class_name": class_name, "name": name, "registered_name": None,
            "inbound_nodes": [node], "config": config}  # fmt: skip


def model_of(layers, inputs, outputs):
    config = {"name": "m", "trainable": True, "layers": layers,
              "input_layers": [[name, 0, 0] for name in inputs],
              "output_layers": [[name, 0, 0] for name in outputs]}  # fmt: skip
    return {"module": "keras.src.models.functional", "class_name": "Functional",
            "registered_name": None, "config": config}  # fmt: skip


def kinds_model(layer, policy, kinds):
    """One call of the layer for each kind of input: "np_float64", "tensor_int32", …"""
    shape, config = LAYERS[layer]
    layers = []
    for kind in kinds:
        dtype = kind.split("_", 1)[1]
        layers.append(input_layer("in_" + kind, shape, dtype))
        node = {"args": [tensor("in_" + kind, shape, dtype)], "kwargs": {}}
        layers.append(layer_call(layer.split()[0], kind, policy, config, node))
    return model_of(layers, ["in_" + kind for kind in kinds], kinds)


class Comparison:
    def __init__(self, listed, folder):
        self.deviations = listed["deviations"]
        self.used = set()
        self.folder = folder
        self.compared = 0
        self.failures = []

    def deviates(self, layer, policy, kind):
        for number, entry in enumerate(self.deviations):
            if (layer in entry["layers"] and kind in entry["kinds"]
                    and policy in entry.get("policies", [policy])):  # fmt: skip
                self.used.add(number)
                return True
        return False

    def layer(self, record):
        layer, policy = record["layer"], record["policy"]
        # mpc may refuse the inputs that Keras refuses, or not.
        kinds = [k for k, seen in record["by_input"].items() if isinstance(seen, list)]
        name = f"{layer} {policy}".replace(" ", "_")
        # All in one model; one by one only where mpc refuses something.
        ir, remarks = autocast.compile_model(kinds_model(layer, policy, kinds), self.folder, name)
        got = dict(zip(kinds, autocast.output_dtypes(ir))) if ir else {}
        for kind in kinds:
            if not ir:
                one, remarks = autocast.compile_model(
                    kinds_model(layer, policy, [kind]), self.folder, f"{name}_{kind}")  # fmt: skip
                got[kind] = autocast.output_dtypes(one)[0] if one else "refused"
            expected = record["by_input"][kind][1]
            self.compared += 1
            if got[kind] != expected and not self.deviates(layer, policy, kind):
                self.failures.append(f"{layer} {policy} of {kind}: {got[kind]}, Keras {expected} {remarks[-200:]}")

    def arguments(self, record):
        """Lists and keyword tensors. The other cases are Python values, which no file holds."""
        policy, case = record["policy"], record["case"]
        shape = [None, 4]
        given = [tensor("a", shape, "float64"), tensor("b", shape, "float64")]
        inputs = [input_layer("a", shape, "float64"), input_layer("b", shape, "float64")]
        if case == "list_of_float64":
            call = layer_call("Add", "out", policy, {}, {"args": [given], "kwargs": {}})
            expected = record["a"][0]
        elif case == "keyword_tensor":
            inputs, given = inputs[:1], given[:1]
            call = layer_call("Dense", "out", policy, {"units": 2}, {"args": [], "kwargs": {"inputs": given[0]}})
            expected = record["b"]
        else:
            return
        names = [layer["name"] for layer in inputs]
        ir, remarks = autocast.compile_model(model_of(inputs + [call], names, ["out"]), self.folder, case)
        self.compared += 1
        if ir is None or autocast.output_dtypes(ir) != [expected]:
            self.failures.append(f"{case} {policy}: {ir and autocast.output_dtypes(ir)}, Keras {expected} {remarks}")


def main():
    fixture_path, deviations_path, folder = sys.argv[1:]
    with open(fixture_path) as handle:
        fixture = json.load(handle)
    with open(deviations_path) as handle:
        deviations = json.load(handle)
    os.makedirs(folder, exist_ok=True)
    comparison = Comparison(deviations, folder)
    for record in fixture["layers"]:
        if record["layer"] not in LEFT_OUT:
            comparison.layer(record)
    for record in fixture["arguments"]:
        comparison.arguments(record)
    for number, entry in enumerate(comparison.deviations):
        if number not in comparison.used:
            comparison.failures.append(f"no deviation any more: {entry}")
    for name in sorted(LEFT_OUT):
        print(f"left out: {name}: {LEFT_OUT[name]}")
    for line in comparison.failures:
        print("DIFFERENT:", line)
    print(f"compared {comparison.compared} inputs of layers; {len(comparison.failures)} differences")
    return 1 if comparison.failures or comparison.compared < 964 else 0


if __name__ == "__main__":
    sys.exit(main())
