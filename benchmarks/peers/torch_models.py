# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workloads' models in plain PyTorch, with the weights of the Keras file."""

import os

import keras
import numpy
import torch
from torch import nn
from torch.nn import functional as F


def parameter(array):
    return nn.Parameter(torch.tensor(numpy.array(array, "float32")))


def linear(kernel, bias):
    layer = nn.Linear(*kernel.shape)
    layer.weight, layer.bias = parameter(kernel.T), parameter(bias)
    return layer


class Mlp(nn.Sequential):
    def __init__(self, weights):
        first, second, last = (linear(weights[i], weights[i + 1]) for i in (0, 2, 4))
        super().__init__(first, nn.ReLU(), second, nn.ReLU(), last)


class Cnn(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.convolutions, self.normalizations = nn.ModuleList(), nn.ModuleList()
        for block in range(3):
            kernel, gamma, beta = weights[5 * block : 5 * block + 3]
            convolution = nn.Conv2d(kernel.shape[2], kernel.shape[3], 3, stride=2 if block else 1, padding=0 if block else 1, bias=False)
            convolution.weight = parameter(kernel.transpose(3, 2, 0, 1))
            normalization = nn.BatchNorm2d(len(gamma), eps=1e-3, momentum=0.01)
            normalization.weight, normalization.bias = parameter(gamma), parameter(beta)
            self.convolutions.append(convolution)
            self.normalizations.append(normalization)
        self.last = linear(*weights[15:17])

    def forward(self, x):
        x = x.permute(0, 3, 1, 2)
        for block, (convolution, normalization) in enumerate(zip(self.convolutions, self.normalizations)):
            # Keras's "same" of a stride of two pads behind.
            x = F.relu(normalization(convolution(F.pad(x, (0, 1, 0, 1)) if block else x)))
        return self.last(x.mean((2, 3)))


class Lstm(nn.Module):
    def __init__(self, weights):
        super().__init__()
        kernel, recurrent, bias = weights[:3]
        self.lstm = nn.LSTM(kernel.shape[0], recurrent.shape[0], batch_first=True)
        self.lstm.weight_ih_l0, self.lstm.weight_hh_l0 = parameter(kernel.T), parameter(recurrent.T)
        self.lstm.bias_ih_l0 = parameter(bias)
        self.lstm.bias_hh_l0 = nn.Parameter(torch.zeros(len(bias)), requires_grad=False)
        self.last = linear(*weights[3:5])

    def forward(self, x):
        return self.last(self.lstm(x)[0][:, -1])


class Transformer(nn.Module):
    def __init__(self, weights):
        super().__init__()
        query, query_bias, key, key_bias, value, value_bias, output, output_bias = weights[:8]
        width = query.shape[0]
        merge = lambda kernels: numpy.concatenate([kernel.reshape(width, -1) for kernel in kernels], 1)
        self.heads = query.shape[1]
        self.inputs = linear(merge((query, key, value)), numpy.concatenate([query_bias.ravel(), key_bias.ravel(), value_bias.ravel()]))
        self.outputs = linear(output.reshape(-1, width), output_bias)
        self.norms = nn.ModuleList(nn.LayerNorm(width, eps=1e-3) for _ in range(2))
        for norm, first in zip(self.norms, (8, 14)):
            norm.weight, norm.bias = parameter(weights[first]), parameter(weights[first + 1])
        self.wide, self.narrow = linear(*weights[10:12]), linear(*weights[12:14])
        self.last = linear(*weights[16:18])

    def forward(self, x):
        parts = self.inputs(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        x = self.norms[0](x + self.outputs(attended.transpose(1, 2).flatten(2)))
        x = self.norms[1](x + self.narrow(F.relu(self.wide(x))))
        return self.last(x.mean(1))


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


def load(folder, workload):
    """The model of the workload, with the weights of FOLDER/model.keras; KERAS_BACKEND must be torch."""
    source = keras.saving.load_model(os.path.join(folder, "model.keras"), compile=False)
    models = {"mlp": Mlp, "cnn": Cnn, "lstm": Lstm, "transformer": Transformer, "elementwise": Elementwise, "reductions": Reductions}
    return models[workload["model"]]([numpy.array(weight) for weight in source.get_weights()])
