# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Functional Keras models as plain PyTorch, layer by layer (torch_layers.py), as far as their logits."""

import keras
import torch
import torch_layers
from torch import nn


class Wide(nn.Module):
    """A layer that computes in float32 among those of autocast."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, *operands):
        with torch.autocast("cpu", enabled=False):
            return self.module(*[operand.float() for operand in operands])


def kind_of(node):
    return type(node.operation).__name__


def is_relu(node):
    return kind_of(node) == "ReLU" or getattr(getattr(node.operation, "activation", None), "__name__", "") == "relu"


def is_foldable(node, producers, users):
    """Equal zeros on both sides are an argument of PyTorch's convolutions, and of its pools behind a relu."""
    if kind_of(node) != "ZeroPadding2D" or any(low != high for low, high in node.operation.padding):
        return False
    producer = producers.get(id(node.input_tensors[0]))
    pools = producer is not None and is_relu(producer)
    takes = ("Conv2D", "DepthwiseConv2D", *(["MaxPooling2D"] if pools else []))
    return all(kind_of(user) in takes and user.operation.padding == "valid" for user in users)


def is_wide(layer, mixed):
    return mixed and getattr(layer, "dtype_policy", None) is not None and layer.dtype_policy.compute_dtype == "float32"


class Graph(nn.Module):
    """The layers in order, each with the places of its operands among what was computed before."""

    def __init__(self, model, mixed, is_inner=False):
        super().__init__()
        self.steps, self.layers, self.mixed, self.is_inner = [], nn.ModuleList(), mixed, is_inner
        nodes = [node for depth in sorted(model._nodes_by_depth, reverse=True) for node in model._nodes_by_depth[depth] if not node.is_input]
        producers = {id(output): node for node in nodes for output in node.outputs}
        places, pads = {id(model.inputs[0]): 0}, {}
        for node in nodes:
            sources, output = [places[id(tensor)] for tensor in node.input_tensors], id(node.outputs[0])
            if is_foldable(node, producers, [user for user in nodes if output in map(id, user.input_tensors)]):
                places[output], pads[output] = sources[0], node.operation.padding
                continue
            module = self.module_of(node, pads.get(id(node.input_tensors[0])), node.outputs[0] is model.outputs[0])
            if module is None:
                places[output] = sources[0]
                continue
            self.layers.append(Wide(module) if is_wide(node.operation, mixed) else module)
            self.steps.append(sources)
            places[output] = len(self.steps)
        self.last = places[id(model.outputs[0])]

    def module_of(self, node, pads, is_last):
        layer = node.operation
        if kind_of(node) == "Sequential":
            return Graph(layer._functional, self.mixed, is_inner=True)
        if is_last and not self.is_inner and layer.activation.__name__ == "softmax":  # what follows takes logits
            if kind_of(node) == "Activation":
                return None
            layer.activation = keras.activations.linear
        return torch_layers.module_of(layer, node, pads)

    def forward(self, x):
        values = [x if self.is_inner else torch_layers.channels_first(x)]
        for layer, sources in zip(self.layers, self.steps):
            values.append(layer(*[values[source] for source in sources]))
        return values[self.last] if self.is_inner else torch_layers.channels_last(values[self.last])
