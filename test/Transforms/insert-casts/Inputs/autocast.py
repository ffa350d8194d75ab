# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the casts of imported models with what Keras recorded of its own calls (autocast.json):
dtypes of outputs, the compute dtype each layer was called in, and how many of its variables it
read cast. Usage: autocast.py AUTOCAST_JSON FOLDER TRANSLATE, where TRANSLATE is a mpc-translate that
knows the fixture's custom classes. Prints counts; exits 1 on any difference that deviations.json does
not name."""

import json
import os
import re
import subprocess
import sys

DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64", "i1": "bool",
          "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64",
          "ui8": "uint8", "ui16": "uint16", "ui32": "uint32", "ui64": "uint64"}
FLOATS = ("float16", "bfloat16", "float32", "float64")


def run(command):
    return subprocess.run(command, capture_output=True, text=True)


TRANSLATE = "mpc-translate"


def probe_model(model):
    """The model of a record without a config: Parent around a Probe, as its calls describe them."""
    functional, parent, child = model["calls"]
    assert [c["class"] for c in model["calls"]] == ["Functional", "Parent", "Probe"], model["id"]

    def layer(call, **config):
        config = {"name": call["layer"], "dtype": call["policy"], "autocast": call["layer_autocast"], **config}
        return {"module": None, "class_name": call["class"], "registered_name": call["class"],
                "name": call["layer"], "config": config}  # fmt: skip

    probe = layer(child, var_autocast=child["variables"][0]["autocast"])
    shape, dtype = [None, 4], model["inputs"][0]["dtype"]
    node = {"class_name": "__keras_tensor__",
            "config": {"shape": shape, "dtype": dtype, "keras_history": ["x", 0, 0]}}  # fmt: skip
    layers = [{"module": "keras.layers", "class_name": "InputLayer", "name": "x", "registered_name": None,
               "config": {"batch_shape": shape, "dtype": dtype, "name": "x"}, "inbound_nodes": []},
              {**layer(parent, child=probe), "inbound_nodes": [{"args": [node], "kwargs": {}}]}]  # fmt: skip
    return {"module": "keras.src.models.functional", "class_name": "Functional", "registered_name": None,
            "config": {"name": functional["layer"], "layers": layers, "input_layers": [["x", 0, 0]],
                       "output_layers": [[parent["layer"], 0, 0]]}}  # fmt: skip


def compile_model(config, folder, name):
    """The text after the casts and the remarks, or the importer's error."""
    model = os.path.join(folder, name + ".json")
    with open(model, "w") as handle:
        json.dump(config, handle)
    imported = run([TRANSLATE, "--import-keras", model, "-o", model + ".mlir"])
    if imported.returncode:
        return None, imported.stderr
    casts = run(["mpc-opt", model + ".mlir", "--mpc-apply-policy", "--mpc-verify-policy",
                 "--mpc-insert-casts", "--mpc-verify-casts", "--remark-format=emitRemark",
                 "--remarks-filter=mpc-.*"])
    if casts.returncode:
        return None, casts.stderr
    return casts.stdout, casts.stderr


def output_dtypes(ir):
    signature = next(line for line in ir.splitlines() if "func.func @forward" in line)
    results = signature.split("->")[1]
    return [DTYPES[t] for t in re.findall(r"tensor<(?:[?\d]+x)*(\w+)> \{mpc\.output", results)]


def remark_values(remarks, name):
    """Layer name (the path's last part) -> its remark's key and value pairs."""
    found = {}
    for line in remarks.splitlines():
        if f"] {name} |" in line:
            pairs = dict(re.findall(r"(\w+)=([^,\"]+)(?:,|$)", line))
            layer = pairs["layer"].rsplit("/")[-1]
            # A layer of several ops reads its variables in some of them.
            before = found.get(layer, {}).get("variable_casts")
            if before is not None:
                pairs["variable_casts"] = max(before, pairs["variable_casts"], key=int)
            found[layer] = pairs
    return found


def stored_dtypes(ir):
    """Variable path -> the dtype that it is stored in."""
    found = re.findall(r'mpc\.variable @"?([^" ]+)"? : tensor<(?:\d+x)*(\w+)>', ir)
    return {path: DTYPES[element] for path, element in found}


def compare_layers(model, ir, remarks):
    policies, casts = remark_values(remarks, "layer-policy"), remark_values(remarks, "layer-casts")
    differences, compared = [], 0
    for call in model.get("calls_in_predict", model["calls"]):
        if call["class"] in ("Functional", "Sequential"):
            continue
        name = call["layer"]
        if name not in policies:
            differences.append(f"{name}: no layer of that name")
            continue
        compared += 1
        compute = DTYPES[policies[name]["compute"]]
        wrong = [d for d in call["inputs"] if d in FLOATS and d != compute]
        if call["layer_autocast"] and wrong:
            differences.append(f"{name}: computes in {compute}, Keras saw {wrong}")
        expected = sum(v["value_in_call"] != v["stored"] for v in call.get("variables", []))
        if int(casts[name]["variable_casts"]) != expected:
            differences.append(f"{name}: {casts[name]['variable_casts']} variables cast, Keras {expected}")
        for variable in call.get("variables", []):
            stored = DTYPES[policies[name]["variable"]]
            paths = stored_dtypes(ir)
            if f"{name}/{variable['name']}" in paths:
                stored = paths[f"{name}/{variable['name']}"]
            elif call["class"] in ("Probe", "Parent"):
                stored = next(paths[p] for p in paths if p.endswith(f"{name}/{variable['name']}"))
            if variable["stored"] != stored:
                differences.append(f"{name}/{variable['name']}: stored as {stored}, Keras {variable['stored']}")
    return differences, compared


def main():
    global TRANSLATE
    TRANSLATE = sys.argv[3]
    with open(sys.argv[1]) as handle:
        fixture = json.load(handle)
    folder = sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    models = layers = 0
    missing, failures = [], []
    for model in fixture["models"]:
        name = model["id"]
        ir, remarks = compile_model(model["model_config"] or probe_model(model), folder, name)
        if ir is None:
            failures.append(f"{name}: {remarks}")
            missing.append(f"{name}: {remarks.splitlines()[0].split(': ', 2)[-1]}")
            continue
        models += 1
        if output_dtypes(ir) != model["predict_dtypes"]:
            failures.append(f"{name}: outputs {output_dtypes(ir)}, Keras {model['predict_dtypes']}")
        differences, compared = compare_layers(model, ir, remarks)
        layers += compared
        failures += [f"{name}: {difference}" for difference in differences]
    # These differences are known, and why; an entry that no longer differs is an error, too.
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "deviations.json")) as handle:
        known = [text for entry in json.load(handle)["models"] for text in entry["differences"]]
    stale = [text for text in known if not any(line.startswith(text) for line in failures)]
    failures = [line for line in failures if not line.startswith(tuple(known))]
    failures += [f"{text}: listed in deviations.json, but does not differ" for text in stale]
    for line in missing:
        print("not imported:", line)
    for line in failures:
        print("DIFFERENT:", line)
    print(f"compared {models} models, {layers} calls of layers; {len(missing)} not imported; "
          f"{len(failures)} differences")
    assert models + len(missing) == len(fixture["models"])
    # The importer could do as much when this was written; only more is right.
    return 1 if failures or models < 40 else 0


if __name__ == "__main__":
    sys.exit(main())
