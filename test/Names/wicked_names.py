#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Names that mean something to whoever reads them carelessly, and models that bear them."""

import itertools
import json

PAYLOADS = [
    # Terminals: colours, titles, clipboards, cursors, bells, hyperlinks, C1, DEL.
    "\x1b[31mred", "\x1b]0;title\x07", "\x1b]52;c;ZXZpbA==\x07", "\x1b[2J\x1b[H", "\x1b[1A\x1b[2K", "\x07", "\x08\x08\x08",
    "\x9b31m", "\x90q\x9c", "\x7f", "\x0e", "\x1b]8;;http://x\x1b\\link", "\x00", "a\x00b", "\x1bc", "\x05",
    # Lines: forged messages, carriage returns, vertical tabs, separators.
    "\nerror: forged", "\r\nepoch,loss", "\rerror: over it", "\x0b", "\x0c", "\x85", "\u2028", "\u2029", "\t", "a\n\nb",
    # Directions, width, tags, marks, noncharacters, lone surrogates.
    "\u202egpj.exe", "\u2066a\u2069", "\u200b", "\u200d", "\u200f", "\ufeff", "\u00ad", "\U000e0041", "\u061c", "\ufff9",
    "\ufffe", "\U0001ffff", "\ud800", "\udfff\ud800", "\U0001d173",
    # Archives and file systems.
    "../../../outside/evil", "/etc/passwd", "C:\\evil", "c:/evil", "..\\evil", "a/../../b", "..", ".", "a/./b", "a//b",
    "a/", "/", ".. /b", "\\\\host\\share", "nul.npy", "~root", "x.npy", "out1", "OUT0",
    # C: comments, trigraphs, continued lines, macros.
    "*/ int evil; /*", "*??/\n/ int evil; /*", "??/", "a\\", "a\\\nb", "/*", "//", "\"); evil(\"", "#error x", "\n#error x\n",
    "??)", "%:define", "'", "\"", "loss\"", "int",
    # CMake, shells, spreadsheets, formats.
    "${ENV}", "$ENV{HOME}", "a;b", "]]", "]==]", "$(touch x)", "`touch x`", "=1+1", "@SUM(A1)", "+1", "-1", "a,b", "%s%n",
    "{0}", "%1$s", "--help", "-o",
    # DOT, JSON, HTML, MLIR.
    "\\N\\G\\l", "<b>x</b>", "a\" -> \"b", "{\"a\":1}", "\\u0000", "</script>", "%0 = mpc", "@main", "#loc",
    # Nothing wrong, but not ASCII or equal to others without capitals.
    "größe", "中文", "\U0001f600", "Dense", "dense", "DENSE", " ", "  a  ", "A_2", "A", "a_2",
]  # fmt: skip


def names(count):
    """The payloads alone, in front of, behind and within other text, twice; and long ones."""
    shapes = ["{0}", "layer{0}", "{0}layer", "a{0}b{0}", "net/{0}", "{0}\n{0}"]
    made = ["l" * 65530, "l" * 65531, "l" * 65532, "l" * 70000, "\x1b" * 5000, "é" * 40000]
    made += [shape.replace("{0}", text) for shape, text in itertools.product(shapes, PAYLOADS)]
    return list(dict.fromkeys(made))[:count]


def layer(kind, name, **config):
    return {"module": "keras.layers", "class_name": kind, "name": name, "config": {"name": name, **config}}


def tensor(name):
    return {"class_name": "__keras_tensor__", "config": {"keras_history": [name, 0, 0]}}


def dense(name, source):
    node = {"args": [tensor(source)], "kwargs": {}}
    return layer("Dense", name, units=1) | {"inbound_nodes": [node]}


def functional(layers, outputs, **training):
    config = {
        "name": "net",
        "layers": [layer("InputLayer", "x", batch_shape=[None, 3], dtype="float32") | {"inbound_nodes": []}, *layers],
        "input_layers": [["x", 0, 0]],
        "output_layers": [[name, 0, 0] for name in outputs],
    }
    return {"module": "keras.src.models.functional", "class_name": "Functional", "config": config, **training}


def predicting(bearers):
    """An output layer of each name."""
    return functional([dense(name, "x") for name in bearers], bearers)


def training(bearers):
    """A hidden layer and a metric of each name."""
    node = {"args": [[tensor(name) for name in bearers]], "kwargs": {}}
    inner = [dense(name, "x") for name in bearers]
    joined = layer("Add" if len(bearers) > 1 else "Flatten", "joined") | {"inbound_nodes": [node]}
    if len(bearers) == 1:
        node["args"] = node["args"][0]
    metric = {"module": "keras.metrics", "class_name": "MeanSquaredError", "registered_name": None}
    config = {
        "optimizer": {"module": "keras.optimizers", "class_name": "SGD", "config": {"learning_rate": 0.01}},
        "loss": "mse",
        "metrics": [[metric | {"config": {"name": name, "dtype": "float32"}} for name in bearers]],
    }
    return functional([*inner, joined, dense("end", "joined")], ["end"], compile_config=config)


def faulty(name, place):
    """A model that is refused with a message about `name`, which stands at the numbered place."""
    whole = training(["d"])
    dense = whole["config"]["layers"][1]
    places = [
        lambda: dense.update({"class_name": name}),
        lambda: dense["config"].update({"activation": name}),
        lambda: dense["config"].update({"dtype": {"class_name": "DTypePolicy", "config": {"name": name}}}),
        lambda: dense["config"].update({"kernel_initializer": {"class_name": name, "config": {}}}),
        lambda: whole["compile_config"].update({"loss": name}),
        lambda: whole["compile_config"].update({"optimizer": {"class_name": name, "config": {}}}),
        lambda: whole["compile_config"].update({"metrics": [[name]]}),
        lambda: whole["config"].update({"output_layers": [[name, 0, 0]]}),
        lambda: dense["config"].update({name: 1, "units": 0}),
        lambda: dense["inbound_nodes"][0].update({"args": [tensor(name)]}),
    ]
    places[place % len(places)]()
    return whole


def write(path, value):
    with open(path, "w") as handle:
        json.dump(value, handle)
    return path
