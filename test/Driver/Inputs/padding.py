# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models over sequences of an open length, and what padding does to them.

  padding.py make FOLDER           architectures, and sequences of 5 steps and the same padded to 8
  padding.py compare A B           whether two files of predictions agree
"""

import json
import os
import sys

import numpy


def layer(kind, name, inputs=(), keywords=None, **config):
    """In Keras 2's form; `inputs` are names of layers."""
    calls = [[[before, 0, 0, keywords or {}] for before in inputs]] if inputs else []
    return {"class_name": kind, "name": name, "config": {"name": name, **config}, "inbound_nodes": calls}


def model(layers, *inputs, output="y"):
    config = {"name": "m", "layers": layers, "input_layers": [[name, 0, 0] for name in inputs],
              "output_layers": [[output, 0, 0]]}  # fmt: skip
    return {"class_name": "Functional", "config": config, "keras_version": "2.15.0", "backend": "tensorflow"}


def ids(name="x"):
    return layer("InputLayer", name, batch_input_shape=[None, None], dtype="float32")


def features(name="x"):
    return layer("InputLayer", name, batch_input_shape=[None, None, 3], dtype="float32")


def table(name="e", before="x", mask_zero=True):
    return layer("Embedding", name, [before], input_dim=9, output_dim=3, mask_zero=mask_zero)


def chain(start, *layers):
    """One behind the other; the last one is `y`."""
    before, result = "x", [start]
    for i, (kind, config) in enumerate(layers):
        name = "y" if i == len(layers) - 1 else f"l{i}"
        result.append(layer(kind, name, [before], **config))
        before = name
    return model(result, "x")


MASKED, MASKING = ("Embedding", {"input_dim": 9, "output_dim": 3, "mask_zero": True}), ("Masking", {"mask_value": 0.0})
LSTM, MEAN = ("LSTM", {"units": 2}), ("GlobalAveragePooling1D", {})
ALL = ("LSTM", {"units": 3, "return_sequences": True})
BOTH = ("Bidirectional", {"layer": {"class_name": "GRU", "config": {"name": "g", "units": 2, "return_sequences": True}}, "merge_mode": "sum"})
HARMLESS = {
    "recurrence": chain(ids(), MASKED, ("Dropout", {"rate": 0.1}), LSTM),
    "masking": chain(features(), MASKING, ("Dense", {"units": 2}), ("LayerNormalization", {"axis": [2]}), MEAN),
    "both_directions": chain(ids(), MASKED, BOTH, ("Activation", {"activation": "tanh"}), MEAN),
    "merged": model([features(), layer("Masking", "k", ["x"]), layer("Dense", "d", ["k"], units=2), layer("LSTM", "r", ["k"], units=2, return_sequences=True),
                     layer("Concatenate", "c", ["d", "r"], axis=-1), layer("GRU", "y", ["c"], units=2)], "x"),  # fmt: skip
    "nested": model([ids(), {**chain(ids(), MASKED, ALL), "name": "inner", "inbound_nodes": [[["x", 0, 0, {}]]]}, layer("GlobalAveragePooling1D", "y", ["inner"])], "x"),
}
HARMFUL = {
    "no_mask": chain(features(), ("Conv1D", {"filters": 2, "kernel_size": 3, "padding": "same", "activation": "relu"}), MEAN),
    "plain_table": chain(ids(), ("Embedding", {"input_dim": 9, "output_dim": 3}), LSTM),
    "masked_late": chain(features(), ("Dense", {"units": 3, "bias_initializer": "ones"}), MASKING, LSTM),
    "convolution_behind": chain(ids(), MASKED, ("Conv1D", {"filters": 2, "kernel_size": 2, "padding": "same"}), LSTM),
    "largest": chain(ids(), MASKED, ("Dense", {"units": 2, "bias_initializer": "ones"}), ("GlobalMaxPooling1D", {})),
    "softmax_over_steps": chain(features(), MASKING, ("GroupNormalization", {"groups": 1, "axis": -1}), MEAN),
    "backwards": chain(ids(), MASKED, ("LSTM", {"units": 3, "return_sequences": True, "go_backwards": True}), LSTM),
    "other_input": model([ids(), features("z"), table(), layer("LSTM", "a", ["e"], units=2), layer("LSTM", "b", ["z"], units=2),
                          layer("Add", "y", ["a", "b"])], "x", "z"),  # fmt: skip
    "masked_beside": model([features(), layer("Masking", "k", ["x"]), layer("Dense", "d", ["x"], units=3, bias_initializer="ones"),
                            layer("GlobalAveragePooling1D", "a", ["d"]), layer("LSTM", "b", ["k"], units=3), layer("Add", "y", ["a", "b"])], "x"),  # fmt: skip
}


def make(folder):
    for kind, models in (("harmless", HARMLESS), ("harmful", HARMFUL)):
        for name, architecture in models.items():
            with open(os.path.join(folder, f"{kind}-{name}.json"), "w") as handle:
                json.dump(architecture, handle)
    draw = numpy.random.default_rng(0)
    for kind, steps in (("ids", draw.integers(1, 9, (2, 5))), ("features", draw.uniform(1, 2, (2, 5, 3)))):
        padded = numpy.pad(steps, [(0, 0), (0, 3), (0, 0)][: steps.ndim])
        numpy.savez(os.path.join(folder, f"{kind}-5.npz"), x=steps.astype("float32"), z=draw.uniform(1, 2, (2, 5, 3)).astype("float32"))
        numpy.savez(os.path.join(folder, f"{kind}-8.npz"), x=padded.astype("float32"), z=numpy.zeros((2, 8, 3), "float32"))


def compare(first, second):
    a, b = (next(iter(numpy.load(path).values())) for path in (first, second))
    print("equal" if numpy.allclose(a, b, atol=1e-5) else "different")


{"make": make, "compare": compare}[sys.argv[1]](*sys.argv[2:])
