# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Model files that attack their reader: hostile.py KIND SOURCE TARGET. SOURCE is a model that Keras
wrote; the edits keep every length, so that the HDF5 structure stays whole."""

import json
import sys
import zipfile

kind, source, target = sys.argv[1:]


def replace(old, new, count=-1):
    old, new = old.encode(), new.encode()
    assert len(old) == len(new), (len(old), len(new))
    data = open(source, "rb").read()
    assert old in data, old
    with open(target, "wb") as handle:
        handle.write(data.replace(old, new, count))


def edit_config(change):
    with zipfile.ZipFile(source) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    config = json.loads(members["config.json"])
    change(config)
    members["config.json"] = json.dumps(config).encode()
    with zipfile.ZipFile(target, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def first_dense(config):
    return next(layer for layer in config["config"]["layers"] if layer["class_name"] == "Dense")


def lookup(config):
    layer = first_dense(config)
    layer["class_name"] = "StringLookup"
    layer["config"] = {"name": "words", "vocabulary": "/etc/passwd"}


def module(config):
    layer = first_dense(config)
    layer["module"] = "os"
    layer["class_name"] = "system"


def activation(config):
    first_dense(config)["config"]["activation"] = {
        "module": "builtins", "class_name": "function", "config": "exec", "registered_name": "function",
    }  # fmt: skip


def marshalled(config):
    first_dense(config)["config"]["activation"] = {"class_name": "__lambda__", "config": {"value": ["4wAAAA==", None, None]}}


def names(config):
    text = json.dumps(config)
    name = first_dense(config)["config"]["name"]
    text = text.replace(json.dumps(name), json.dumps('x"); system("touch /tmp/owned"); */ #error "\n`$(id)`'))
    config.clear()
    config.update(json.loads(text))


def traversal(config):
    text = json.dumps(config)
    name = first_dense(config)["config"]["name"]
    text = text.replace(json.dumps(name), json.dumps("../../../../tmp/escaped"))
    config.clear()
    config.update(json.loads(text))


def units(config):
    first_dense(config)["config"]["units"] = 2**62


def truncate(part):
    data = open(source, "rb").read()
    with open(target, "wb") as handle:
        handle.write(data[: len(data) * part // 8])


HDF5 = {
    "h5-lambda": lambda: replace('"class_name": "Dense"', '"class_name":"Lambda"'),
    "h5-shape": lambda: replace('"units": 4', '"units": 9'),
    "h5-names": lambda: replace("hidden/kernel", "../../etc/pwd"),
    "h5-config": lambda: replace('{"class_name"', '["class_name"', 1),
    **{f"h5-cut{part}": lambda part=part: truncate(part) for part in range(1, 8)},
}
ARCHIVE = {function.__name__: function
           for function in (lookup, module, activation, marshalled, names, traversal, units)}  # fmt: skip
HDF5[kind]() if kind in HDF5 else edit_config(ARCHIVE[kind])
