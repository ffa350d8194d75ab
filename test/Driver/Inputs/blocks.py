# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""blocks.py resnet|efficientnet OUTPUT.json: two blocks of ResNet50 or EfficientNetB0 as Keras writes them, on small images, with a classifier."""

import json
import sys

layers = []


def add(kind, name, operands, joined=False, **config):
    tensors = [{"class_name": "__keras_tensor__", "config": {"shape": shapes, "dtype": "float32", "keras_history": [source, 0, 0]}} for source, shapes in operands]
    policy = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": "float32"}, "registered_name": None}
    layers.append({"module": "keras.layers", "class_name": kind, "config": {"name": name, "trainable": True, "dtype": policy, **config}, "registered_name": None,
                   "name": name, "inbound_nodes": [{"args": [tensors] if joined else tensors, "kwargs": {}}]})  # fmt: skip


def convolution(name, x, filters, taps, strides=1, use_bias=False, activation="linear"):
    source, (_, height, width, _) = x
    add("Conv2D", name, [x], filters=filters, kernel_size=[taps, taps], strides=[strides, strides], padding="same", use_bias=use_bias, activation=activation)
    return name, [None, -(-height // strides), -(-width // strides), filters]


def depthwise(name, x, taps):
    add("DepthwiseConv2D", name, [x], kernel_size=[taps, taps], strides=[1, 1], padding="same", depth_multiplier=1, use_bias=False, activation="linear")
    return name, x[1]


def alike(kind, name, x, **config):
    add(kind, name, [x], **config)
    return name, x[1]


def normalized(name, x, activation=None):
    x = alike("BatchNormalization", name + "_norm", x, axis=-1, momentum=0.99, epsilon=0.001, center=True, scale=True)
    return alike("Activation", name + "_act", x, activation=activation) if activation else x


def joined(kind, name, first, second):
    add(kind, name, [first, second], joined=True)
    return name, first[1]


def bottleneck(name, x, width):
    y = normalized(name + "_1", convolution(name + "_1", x, width, 1), "relu")
    y = normalized(name + "_2", convolution(name + "_2", y, width, 3), "relu")
    y = normalized(name + "_3", convolution(name + "_3", y, 4 * width, 1))
    if x[1][-1] != 4 * width:
        x = normalized(name + "_0", convolution(name + "_0", x, 4 * width, 1))
    return alike("Activation", name + "_out", joined("Add", name + "_add", x, y), activation="relu")


def inverted(name, x, width):
    wide = 6 * x[1][-1]
    y = normalized(name + "_expand", convolution(name + "_expand", x, wide, 1), "silu")
    y = normalized(name + "_depthwise", depthwise(name + "_depthwise", y, 3), "silu")
    add("GlobalAveragePooling2D", name + "_squeeze", [y], data_format="channels_last", keepdims=True)
    gate = convolution(name + "_reduce", (name + "_squeeze", [None, 1, 1, wide]), x[1][-1] // 4, 1, use_bias=True, activation="silu")
    gate = convolution(name + "_gate", gate, wide, 1, use_bias=True, activation="sigmoid")
    y = normalized(name + "_project", convolution(name + "_project", joined("Multiply", name + "_excite", y, gate), width, 1))
    return joined("Add", name + "_add", y, x) if width == x[1][-1] else y


x = ("x", [None, 16, 16, 16])
layers.append({"module": "keras.layers", "class_name": "InputLayer", "config": {"batch_shape": x[1], "dtype": "float32", "sparse": False, "name": "x"},
               "registered_name": None, "name": "x", "inbound_nodes": []})  # fmt: skip
block, widths = {"resnet": (bottleneck, (16, 16)), "efficientnet": (inverted, (24, 24))}[sys.argv[1]]
for index, width in enumerate(widths):
    x = block(f"block{index}", x, width)
add("GlobalAveragePooling2D", "pool", [x], data_format="channels_last", keepdims=False)
add("Dense", "classes", [("pool", [None, x[1][-1]])], units=10, activation="softmax", use_bias=True)
config = {"name": sys.argv[1], "trainable": True, "layers": layers, "input_layers": [["x", 0, 0]], "output_layers": [["classes", 0, 0]]}
with open(sys.argv[2], "w", encoding="utf-8") as target:
    json.dump({"module": "keras.src.models.functional", "class_name": "Functional", "config": config, "registered_name": "Functional"}, target)
