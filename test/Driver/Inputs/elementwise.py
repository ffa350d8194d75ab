# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""elementwise.py MODEL.json DATA.npz: a chain of elementwise layers as Keras writes them, and inputs around every kind of number."""

import json
import sys

import numpy

layers = []


def add(kind, name, operands, joined=False, **config):
    tensors = [{"class_name": "__keras_tensor__", "config": {"shape": [None, 48], "dtype": "float32", "keras_history": [source, 0, 0]}} for source in operands]
    policy = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": None}
    layers.append({"module": "keras.layers", "class_name": kind, "config": {"name": name, "trainable": True, "dtype": policy, **config}, "registered_name": None,
                   "name": name, "inbound_nodes": [{"args": [tensors] if joined else tensors, "kwargs": {}}]})  # fmt: skip
    return name


layers.append({"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": [None, 48], "dtype": "float32", "sparse": False, "name": "x"},
               "registered_name": None, "name": "x", "inbound_nodes": []})  # fmt: skip
norm = add("BatchNormalization", "norm", ["x"], axis=-1, momentum=0.99, epsilon=0.001, center=True, scale=True)
ends = [add("Activation", name, [norm], activation=name) for name in ("silu", "gelu", "tanh", "sigmoid", "relu6", "softplus", "elu", "leaky_relu")]
total = add("Add", "sum", ends, joined=True)
product = add("Multiply", "product", [total, "x"], joined=True)
outputs = [*ends, total, product]
config = {"name": "elementwise", "trainable": True, "layers": layers, "input_layers": [["x", 0, 0]], "output_layers": [[name, 0, 0] for name in outputs]}
with open(sys.argv[1], "w", encoding="utf-8") as target:
    json.dump({"module": "keras.src.models.functional", "class_name": "Functional", "config": config, "registered_name": "Functional"}, target)

# Numbers that bfloat16 has and those half way to the next one, and on either side of these: finite ones, infinities, NaNs, and subnormal ones.
heads = numpy.arange(0, 0x10000, 11, dtype=numpy.uint32) << 16
bits = numpy.concatenate([heads + tail for tail in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF)])
bits = numpy.concatenate([bits, numpy.float32([0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e-45, -1e-39, 3.4e38]).view(numpy.uint32)])
bits = numpy.resize(bits, (bits.size // 48 + 1) * 48)
numpy.savez(sys.argv[2], x0=bits.view(numpy.float32).reshape(-1, 48))
