# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small models as Keras's JSON, one for each family of layers, and data that they learn."""

import json

import numpy

CLASSES = 4


def layer(kind, name, **config):
    return {"module": "keras.layers", "class_name": kind, "config": {"name": name, **config}}


def rescaling(name, factor):
    return layer("Rescaling", name, scale=factor, offset=0.0)


def head():
    return layer("Dense", "head", units=CLASSES, activation="softmax", use_bias=True)


# Per family: the shape of an input, the layer `probe` that faults go into, and what brings its
# result to a matrix.
FAMILIES = {
    "dense": ((12,), [layer("Dense", "probe", units=16, activation="linear", use_bias=True)], []),
    "conv": (
        (6, 6, 2),
        [layer("Conv2D", "probe", filters=8, kernel_size=[3, 3], padding="same", activation="linear")],
        [layer("GlobalAveragePooling2D", "pool")],
    ),
    "depthwise": (
        (6, 6, 4),
        [layer("DepthwiseConv2D", "probe", kernel_size=[3, 3], padding="same", activation="linear")],
        [layer("GlobalMaxPooling2D", "pool")],
    ),
    "lstm": ((5, 6), [layer("LSTM", "probe", units=8)], []),
    "gru": ((5, 6), [layer("GRU", "probe", units=8)], []),
    "embedding": (
        (5,),
        [layer("Embedding", "probe", input_dim=16, output_dim=8)],
        [layer("GlobalAveragePooling1D", "pool")],
    ),
    "batch_norm": ((12,), [layer("BatchNormalization", "probe")], []),
    "layer_norm": ((12,), [layer("LayerNormalization", "probe")], []),
}


def sequential(name, shape, layers, dtype="float32"):
    first = layer("InputLayer", "x", batch_shape=[None, *shape], dtype=dtype)
    return {
        "module": "keras",
        "class_name": "Sequential",
        "config": {"name": name, "trainable": True, "dtype": "float32", "layers": [first, *layers]},
    }


# Layers that take a list of tensors.
MERGES = ("Add", "Multiply", "Maximum", "Minimum", "Average", "Dot", "Subtract", "Concatenate", "Attention", "AdditiveAttention")


def functional(name, shape, nodes, dtype="float32"):
    """A graph of pairs: a layer, and the names of those that it reads; `x` is the input, the last one the output."""
    first = layer("InputLayer", "x", batch_shape=[None, *shape], dtype=dtype)
    layers = [{**first, "name": "x", "inbound_nodes": []}]
    for node, sources in nodes:
        tensors = [{"class_name": "__keras_tensor__", "config": {"shape": [None], "dtype": dtype, "keras_history": [source, 0, 0]}}
                   for source in sources]  # fmt: skip
        arguments = [tensors] if node["class_name"] in MERGES else tensors
        layers.append({**node, "name": node["config"]["name"], "inbound_nodes": [{"args": arguments, "kwargs": {}}]})
    config = {"name": name, "trainable": True, "layers": layers, "input_layers": [["x", 0, 0]], "output_layers": [[layers[-1]["name"], 0, 0]]}
    return {"module": "keras", "class_name": "Functional", "config": config}


def family(name, before=(), after=()):
    """The model of a family, with layers in front of `probe` and behind it."""
    shape, probe, behind = FAMILIES[name]
    dtype = "int32" if name == "embedding" else "float32"
    return sequential(name, shape, [*before, *probe, *after, *behind, head()], dtype)


def data_of(name, rows, seed):
    """Inputs and classes that depend on them."""
    random = numpy.random.default_rng(seed)
    shape = FAMILIES[name][0]
    if name == "embedding":
        x = random.integers(0, 16, (rows, *shape)).astype("int32")
        y = (x.sum(1) % CLASSES).astype("int32")
    else:
        x = random.normal(size=(rows, *shape)).astype("float32")
        y = numpy.digitize(x.reshape(rows, -1).mean(1), [-0.1, 0, 0.1]).astype("int32")
    return x, y


def write(path, model):
    with open(path, "w") as handle:
        json.dump(model, handle)
