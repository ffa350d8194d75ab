# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workloads' models in plain PyTorch, with the weights of the Keras file."""

import os
import pathlib
import sys

import keras
import numpy
import torch
from torch import nn
from torch.nn import functional as F

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "gpu"))
import torch_graph
import torch_modules


def parameter(array):
    return nn.Parameter(torch.tensor(numpy.array(array, "float32")))


def fill(layer, kernel, bias):
    layer.weight, layer.bias = parameter(kernel.T), parameter(bias)


def mlp(weights):
    model = torch_modules.mlp()
    for i in (0, 2, 4):
        fill(model[i], *weights[i : i + 2])
    return model


def cnn(weights):
    model = torch_modules.Cnn()
    for block, (convolution, normalization) in enumerate(zip(model.convolutions, model.normalizations)):
        kernel, gamma, beta = weights[5 * block : 5 * block + 3]
        convolution.weight = parameter(kernel.transpose(3, 2, 0, 1))
        normalization.weight, normalization.bias = parameter(gamma), parameter(beta)
    fill(model.last, *weights[15:17])
    return model


def lstm(weights):
    model = torch_modules.Lstm()
    kernel, recurrent, bias = weights[:3]
    model.lstm.weight_ih_l0, model.lstm.weight_hh_l0 = parameter(kernel.T), parameter(recurrent.T)
    model.lstm.bias_ih_l0 = parameter(bias)
    model.lstm.bias_hh_l0 = nn.Parameter(torch.zeros(len(bias)), requires_grad=False)
    fill(model.last, *weights[3:5])
    return model


def transformer(weights):
    model = torch_modules.Transformer()
    query, query_bias, key, key_bias, value, value_bias, output, output_bias = weights[:8]
    width = query.shape[0]
    kernels = numpy.concatenate([kernel.reshape(width, -1) for kernel in (query, key, value)], 1)
    fill(model.inputs, kernels, numpy.concatenate([query_bias.ravel(), key_bias.ravel(), value_bias.ravel()]))
    fill(model.outputs, output.reshape(-1, width), output_bias)
    for norm, first in zip(model.norms, (8, 14)):
        norm.weight, norm.bias = parameter(weights[first]), parameter(weights[first + 1])
    for layer, first in ((model.wide, 10), (model.narrow, 12), (model.last, 16)):
        fill(layer, *weights[first : first + 2])
    return model


def rounded(x):
    """Autocast leaves inputs as they are; Keras's layers round them to the compute dtype."""
    return x.to(torch.get_autocast_dtype("cpu")) if torch.is_autocast_enabled("cpu") else x


class Elementwise(nn.Module):
    def __init__(self, weights):
        super().__init__()

    def forward(self, x):
        x = rounded(x)
        return F.gelu(x) * x + torch.tanh(x)


class Reductions(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.norm = nn.LayerNorm(len(weights[0]), eps=1e-3)
        self.norm.weight, self.norm.bias = parameter(weights[0]), parameter(weights[1])

    def forward(self, x):
        shares = torch.softmax(self.norm(rounded(x)), -1)
        return shares.mean(1) + shares.amax(1)


def finish(workload, outputs):
    """Probabilities of a classifier's logits; what the sweeps compute is no logit."""
    return outputs if workload["model"] in ("elementwise", "reductions") else torch.softmax(outputs, -1)


def load(folder, workload, plain=False, mixed=False):
    """The model of the workload, with the weights of FOLDER/model.keras, as far as its logits; KERAS_BACKEND must be torch. Those of
    keras.applications are Keras's own, or plain PyTorch, where they and the examples are written layer by layer."""
    source = keras.saving.load_model(os.path.join(folder, "model.keras"), compile=False)
    models = {"mlp": mlp, "cnn": cnn, "lstm": lstm, "transformer": transformer, "elementwise": Elementwise, "reductions": Reductions}
    if workload["model"] in models:
        return models[workload["model"]]([numpy.array(weight) for weight in source.get_weights()])
    return torch_graph.Graph(source, mixed) if plain else keras.Model(source.inputs, source.layers[-1].input)
