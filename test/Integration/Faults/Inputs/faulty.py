# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes faulty inputs from sound fixtures: faulty.py KIND SOURCE OUTPUT [ARGUMENT]."""

import json
import sys
import zipfile

import numpy


def members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write(path, content):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, data in content.items():
            archive.writestr(name, data)


def with_config(change):
    def make(source, output, argument):
        content = members(source)
        config = json.loads(content["config.json"])
        change(config, argument)
        content["config.json"] = json.dumps(config)
        write(output, content)

    return make


def layers(config, class_name):
    return [l for l in config["config"]["layers"] if l["class_name"] == class_name]


def truncated(source, output, argument):
    with open(source, "rb") as handle:
        data = handle.read()
    with open(output, "wb") as handle:
        handle.write(data[: len(data) * 2 // 3])


def without_member(source, output, argument):
    write(output, {name: data for name, data in members(source).items() if name != argument})


def weights_of(source, output, argument):
    """The config of one model with the weights of another."""
    content = members(source)
    content["model.weights.h5"] = members(argument)["model.weights.h5"]
    write(output, content)


def unknown_layers(config, argument):
    for number, layer in enumerate(layers(config, "Dense")):
        layer["class_name"] = f"FancyDense{number}"


def more_units(config, argument):
    layers(config, "Dense")[0]["config"]["units"] += 1


def policy_name(config, argument):
    for layer in layers(config, "Dense"):
        layer["config"]["dtype"] = argument


def damaged_weights(source, output, argument):
    content = members(source)
    data = bytearray(content["model.weights.h5"])
    data[96:400] = b"\xff" * 304
    content["model.weights.h5"] = bytes(data)
    write(output, content)


def arrays(change):
    def make(source, output, argument):
        with numpy.load(source) as loaded:
            content = {name: loaded[name] for name in loaded.files}
        change(content, argument)
        numpy.savez(output, **content)

    return make


def first_input(content):
    return next(name for name in content if not name.startswith(("y", "sample_weight")))


def rename_input(content, argument):
    content[argument] = content.pop(first_input(content))


def drop_target(content, argument):
    del content["y0"]


def drop_column(content, argument):
    name = first_input(content)
    content[name] = content[name][..., :-1]


def fewer_targets(content, argument):
    content["y0"] = content["y0"][:-1]


def float_labels(content, argument):
    content["y0"] = content["y0"].astype(numpy.float32) + 0.5


def label_value(content, argument):
    content["y0"] = content["y0"].copy()
    content["y0"].reshape(-1)[1] = int(argument)


def many_rows(content, argument):
    """The rows repeated, so that an epoch lasts long enough to be interrupted."""
    for name in content:
        repeats = [int(argument)] + [1] * (content[name].ndim - 1)
        content[name] = numpy.tile(content[name], repeats)


KINDS = {
    "truncated": truncated,
    "without-member": without_member,
    "weights-of": weights_of,
    "damaged-weights": damaged_weights,
    "unknown-layers": with_config(unknown_layers),
    "more-units": with_config(more_units),
    "policy-name": with_config(policy_name),
    "rename-input": arrays(rename_input),
    "drop-target": arrays(drop_target),
    "drop-column": arrays(drop_column),
    "fewer-targets": arrays(fewer_targets),
    "float-labels": arrays(float_labels),
    "label-value": arrays(label_value),
    "many-rows": arrays(many_rows),
}

if __name__ == "__main__":
    kind, source, output, *rest = sys.argv[1:]
    KINDS[kind](source, output, rest[0] if rest else None)
