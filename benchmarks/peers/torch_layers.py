# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of Keras as the modules and functions that PyTorch's users write for them, with Keras's weights. Images and volumes have
their channels first, as PyTorch has them; series have Keras's order. A layer or an option that is not here raises KeyError."""

import functools
import math

import numpy
import torch
from torch import nn
from torch.nn import functional as F

ACTIVATIONS = {"linear": None, "relu": F.relu, "relu6": F.relu6, "silu": F.silu, "sigmoid": torch.sigmoid, "tanh": torch.tanh, "gelu": F.gelu,
               "softmax": functools.partial(F.softmax, dim=-1)}  # fmt: skip
CONVOLUTIONS = {1: nn.Conv1d, 2: nn.Conv2d, 3: nn.Conv3d}
LARGEST = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}
MEANS = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}
NORMALIZATIONS = {0: nn.BatchNorm1d, 1: nn.BatchNorm1d, 2: nn.BatchNorm2d, 3: nn.BatchNorm3d}


def parameter(array):
    value = torch.tensor(numpy.array(array, "float32"))
    formats = {4: torch.channels_last, 5: torch.channels_last_3d}
    return nn.Parameter(value.contiguous(memory_format=formats[value.ndim]) if value.ndim in formats else value)


def channels_first(x):
    return x.movedim(-1, 1) if x.ndim >= 4 else x


def channels_last(x):
    return x.movedim(1, -1) if x.ndim >= 4 else x


class Function(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *operands):
        return self.function(*operands)


class OfChannelsLast(nn.Module):
    """A module whose channels are last, among others."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return channels_first(self.module(channels_last(x)))


class OfSeries(nn.Module):
    """A module of series whose channels are first, among others."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x.transpose(1, 2)).transpose(1, 2) if x.ndim == 3 else self.module(x)


def activated(module, layer):
    function = ACTIVATIONS[layer.activation.__name__]
    return nn.Sequential(module, Function(function)) if function else module


def pads_of(layer, extents, windows):
    """What is put in front of and behind each axis."""
    if layer.padding == "valid":
        return [(0, 0)] * len(extents)
    if layer.padding == "causal":
        return [(windows[0] - 1, 0)]
    pads = []
    for extent, window, stride in zip(extents, windows, layer.strides):
        total = max((math.ceil(extent / stride) - 1) * stride + window - extent, 0)
        pads.append((total // 2, total - total // 2))
    return pads


def flat(pads):
    """As F.pad takes them."""
    return [amount for sides in reversed(pads) for amount in sides]


def convolution(layer, extents, kernel, bias, groups, pads, strides=None):
    """`kernel` has its windows, inputs and filters in this order."""
    rank = kernel.ndim - 2
    dilations = layer.dilation_rate if strides is None else (1,) * rank
    if pads is None:
        pads = pads_of(layer, extents, [dilation * (window - 1) + 1 for dilation, window in zip(dilations, kernel.shape)])
    even = all(low == high for low, high in pads)
    module = CONVOLUTIONS[rank](kernel.shape[-2] * groups, kernel.shape[-1], kernel.shape[:rank], strides or layer.strides,
                                [low for low, _ in pads] if even else 0, dilations, groups, bias is not None)  # fmt: skip
    module.weight = parameter(kernel.transpose(rank + 1, rank, *range(rank)))
    if bias is not None:
        module.bias = parameter(bias)
    return module if even else nn.Sequential(Function(functools.partial(F.pad, pad=flat(pads))), module)


def extents_of(node):
    return node.input_tensors[0].shape[1:-1]


def plain_convolution(layer, node, pads):
    kernel, *bias = layer.get_weights()
    return activated(OfSeries(convolution(layer, extents_of(node), kernel, bias[0] if bias else None, layer.groups, pads)), layer)


def of_each_channel(kernel):
    """A depthwise kernel as one of groups."""
    *windows, channels, multiplier = kernel.shape
    return kernel.reshape(*windows, 1, channels * multiplier)


def depthwise_convolution(layer, node, pads):
    kernel, *bias = layer.get_weights()
    return activated(convolution(layer, extents_of(node), of_each_channel(kernel), bias[0] if bias else None, kernel.shape[-2], pads), layer)


def separable_convolution(layer, node, pads):
    depthwise, pointwise, *bias = layer.get_weights()
    rank = depthwise.ndim - 2
    parts = [convolution(layer, extents_of(node), of_each_channel(depthwise), None, depthwise.shape[-2], None),
             convolution(layer, None, pointwise, bias[0] if bias else None, 1, [(0, 0)] * rank, (1,) * rank)]  # fmt: skip
    return activated(nn.Sequential(*parts), layer)


class TransposedConvolution(nn.Module):
    """Of the size of its images times the strides."""

    def __init__(self, layer, extents):
        super().__init__()
        if layer.padding != "same" or any(layer.dilation_rate[i] != 1 for i in range(2)):
            raise KeyError("a transposed convolution that is padded otherwise")
        kernel, *bias = layer.get_weights()
        totals = [max(window - stride, 0) for window, stride in zip(kernel.shape, layer.strides)]
        self.extents = [extent * stride for extent, stride in zip(extents, layer.strides)]
        self.module = nn.ConvTranspose2d(kernel.shape[3], kernel.shape[2], kernel.shape[:2], layer.strides, [total // 2 for total in totals], bias=bool(bias))
        self.module.weight = parameter(kernel.transpose(3, 2, 0, 1))
        if bias:
            self.module.bias = parameter(bias[0])

    def forward(self, x):
        x = self.module(x)
        return x[:, :, : self.extents[0], : self.extents[1]]


def batch_normalization(layer, node, pads):
    weights = layer.get_weights()
    rank = len(node.input_tensors[0].shape) - 2
    module = NORMALIZATIONS[rank](len(weights[-1]), layer.epsilon, 1 - layer.momentum)
    module.weight = parameter(weights.pop(0)) if layer.scale else nn.Parameter(module.weight.data, requires_grad=False)
    module.bias = parameter(weights.pop(0)) if layer.center else nn.Parameter(module.bias.data, requires_grad=False)
    module.running_mean, module.running_var = torch.tensor(weights[0]), torch.tensor(weights[1])
    return OfSeries(module)


def layer_normalization(layer, node, pads):
    gamma, beta = layer.get_weights()
    module = nn.LayerNorm(len(gamma), layer.epsilon)
    module.weight, module.bias = parameter(gamma), parameter(beta)
    return OfChannelsLast(module)


def group_normalization(layer, node, pads):
    gamma, beta = layer.get_weights()
    module = nn.GroupNorm(layer.groups, len(gamma), layer.epsilon)
    module.weight, module.bias = parameter(gamma), parameter(beta)
    return module


def dense(layer, node, pads):
    kernel, *bias = layer.get_weights()
    module = nn.Linear(*kernel.shape, bias=bool(bias))
    module.weight = parameter(kernel.T)
    if bias:
        module.bias = parameter(bias[0])
    return activated(OfChannelsLast(module), layer)


def embedding(layer, node, pads):
    if layer.mask_zero:
        raise KeyError("a mask")
    (rows,) = layer.get_weights()
    module = nn.Embedding(*rows.shape)
    module.weight = parameter(rows)
    return module


class Attention(nn.Module):
    """Of a series to itself."""

    def __init__(self, layer, causal):
        super().__init__()
        query, query_bias, key, key_bias, value, value_bias, outputs, outputs_bias = layer.get_weights()
        width = query.shape[0]
        self.heads, self.dropout, self.causal = query.shape[1], layer._dropout, causal
        self.inputs = nn.Linear(width, 3 * query[0].size)
        self.inputs.weight = parameter(numpy.concatenate([kernel.reshape(width, -1) for kernel in (query, key, value)], 1).T)
        self.inputs.bias = parameter(numpy.concatenate([bias.ravel() for bias in (query_bias, key_bias, value_bias)]))
        self.outputs = nn.Linear(query[0].size, outputs.shape[-1])
        self.outputs.weight, self.outputs.bias = parameter(outputs.reshape(-1, outputs.shape[-1]).T), parameter(outputs_bias)

    def forward(self, x, *_):
        parts = self.inputs(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        dropped = self.dropout if self.training else 0.0
        attended = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], dropout_p=dropped, is_causal=self.causal)
        return self.outputs(attended.transpose(1, 2).flatten(2))


def attention(layer, node, pads):
    if len(set(map(id, node.input_tensors))) != 1:
        raise KeyError("attention to another series")
    return Attention(layer, bool(node.arguments.kwargs.get("use_causal_mask")))


class Recurrence(nn.Module):
    """LSTMs, GRUs, and two of one of them in both directions."""

    def __init__(self, layer):
        super().__init__()
        both = type(layer).__name__ == "Bidirectional"
        one = layer.forward_layer if both else layer
        parts = layer.get_weights()
        inputs, units, kind = parts[0].shape[0], one.units, type(one).__name__
        self.whole, self.both = one.return_sequences, both
        self.module = {"LSTM": nn.LSTM, "GRU": nn.GRU}[kind](inputs, units, batch_first=True, bidirectional=both)
        for index, suffix in enumerate(("", "_reverse") if both else ("",)):
            kernel, recurrent, bias = parts[3 * index : 3 * index + 3]
            if kind == "GRU":  # Keras has the gate of the update first, PyTorch that of the reset
                kernel, recurrent, bias = [numpy.concatenate([values[..., units : 2 * units], values[..., :units], values[..., 2 * units :]], -1)
                                           for values in (kernel, recurrent, bias)]  # fmt: skip
            second = bias[1] if bias.ndim == 2 else numpy.zeros_like(bias)
            for name, value in (("weight_ih", kernel.T), ("weight_hh", recurrent.T), ("bias_ih", bias[0] if bias.ndim == 2 else bias), ("bias_hh", second)):
                setattr(self.module, f"{name}_l0{suffix}", parameter(value))
            if bias.ndim == 1:
                getattr(self.module, "bias_hh_l0" + suffix).requires_grad = False

    def forward(self, x):
        values, state = self.module(x)
        if self.whole:
            return values
        state = state[0] if isinstance(state, tuple) else state
        return torch.cat([state[0], state[1]], -1) if self.both else values[:, -1]


class DroppedRows(nn.Module):
    """Stochastic depth: rows that are zero in a step."""

    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        if not self.training or not self.rate:
            return x
        kept = 1.0 - self.rate
        return x * torch.empty((x.shape[0],) + (1,) * (x.ndim - 1), dtype=x.dtype).bernoulli_(kept).div_(kept)


def dropout(layer, node, pads):
    shape = getattr(layer, "noise_shape", None)
    return DroppedRows(layer.rate) if shape and set(shape[1:]) == {1} else nn.Dropout(layer.rate)


class Scale(nn.Module):
    def __init__(self, gamma):
        super().__init__()
        self.gamma = parameter(gamma)

    def forward(self, x):
        return x * self.gamma


def largest(layer, node, pads):
    rank = len(layer.pool_size)
    sides = pads or pads_of(layer, extents_of(node), layer.pool_size)
    even = all(low == high for low, high in sides)
    pool = functools.partial(LARGEST[rank], kernel_size=layer.pool_size, stride=layer.strides, padding=[low for low, _ in sides] if even else 0)
    return Function(pool if even else lambda x: pool(F.pad(x, flat(sides), value=-math.inf)))


def means(layer, node, pads):
    sides = pads_of(layer, extents_of(node), layer.pool_size)
    if any(sum(side) for side in sides):
        raise KeyError("means of padded windows")
    return Function(functools.partial(MEANS[len(layer.pool_size)], kernel_size=layer.pool_size, stride=layer.strides))


def reshape(layer, node, pads):
    shape = node.outputs[0].shape[1:]
    return Function(lambda x: channels_first(channels_last(x).reshape(x.shape[0], *shape)))


def concatenation(layer, node, pads):
    if layer.axis not in (-1, len(node.outputs[0].shape) - 1):
        raise KeyError("a concatenation of other axes")
    return Function(lambda *operands: torch.cat(operands, 1 if operands[0].ndim >= 4 else -1))


def normalization(layer, node, pads):
    # A layer on torch has them in the type that it computes in, which NumPy may lack.
    mean, variance = (torch.as_tensor(value).detach().reshape(-1) for value in (layer.mean, layer.variance))
    deviation = variance.sqrt()
    return OfChannelsLast(Function(lambda x: (x - mean) / deviation))


def upsampling(layer, node, pads):
    return Function(functools.partial(F.interpolate, scale_factor=tuple(map(float, layer.size)), mode=layer.interpolation))


def padding(layer, node, pads):
    return Function(functools.partial(F.pad, pad=flat(layer.padding)))


def spatial_mean(layer, node, pads):
    return Function(lambda x: x.mean(list(range(2, x.ndim)) if x.ndim >= 4 else 1, keepdim=layer.keepdims))


def activation(layer, node, pads):
    function = ACTIVATIONS[layer.activation.__name__]
    return Function(function) if function else None


def relu(layer, node, pads):
    if layer.negative_slope or layer.threshold:
        raise KeyError("a relu with a slope")
    return Function({None: F.relu, 6: F.relu6}[layer.max_value])


def added(*operands):
    return functools.reduce(torch.add, operands)


def multiplied(*operands):
    return functools.reduce(torch.mul, operands)


def permuted(layer, node, pads):
    if len(layer.dims) != 2:
        raise KeyError("a permutation of images")
    return Function(lambda x: x.permute(0, *layer.dims))


LAYERS = {
    **dict.fromkeys(("Conv1D", "Conv2D", "Conv3D"), plain_convolution), "DepthwiseConv2D": depthwise_convolution, "SeparableConv2D": separable_convolution,
    "Conv2DTranspose": lambda layer, node, pads: activated(TransposedConvolution(layer, extents_of(node)), layer),
    "BatchNormalization": batch_normalization, "LayerNormalization": layer_normalization, "GroupNormalization": group_normalization,
    "Dense": dense, "Embedding": embedding, "MultiHeadAttention": attention,
    **dict.fromkeys(("LSTM", "GRU", "Bidirectional"), lambda layer, node, pads: Recurrence(layer)),
    "Dropout": dropout, "StochasticDepth": lambda layer, node, pads: DroppedRows(layer.drop_path_rate),
    "LayerScale": lambda layer, node, pads: OfChannelsLast(Scale(layer.get_weights()[0])),
    **dict.fromkeys(("MaxPooling1D", "MaxPooling2D", "MaxPooling3D"), largest), **dict.fromkeys(("AveragePooling1D", "AveragePooling2D", "AveragePooling3D"), means),
    **dict.fromkeys(("GlobalAveragePooling1D", "GlobalAveragePooling2D", "GlobalAveragePooling3D"), spatial_mean),
    "Flatten": reshape, "Reshape": reshape, "Permute": permuted, "Concatenate": concatenation, "ZeroPadding2D": padding, "UpSampling2D": upsampling,
    "Add": lambda layer, node, pads: Function(added), "Multiply": lambda layer, node, pads: Function(multiplied),
    "Normalization": normalization, "Rescaling": lambda layer, node, pads: Function(lambda x: x * layer.scale + layer.offset),
    "Activation": activation, "ReLU": relu, "LeakyReLU": lambda layer, node, pads: Function(functools.partial(F.leaky_relu, negative_slope=layer.negative_slope)),
}  # fmt: skip


def module_of(layer, node, pads):
    """The module for one call of the layer; None where it gives what it takes. `pads` are zeros that a layer before would put around."""
    return LAYERS[type(layer).__name__](layer, node, pads)
