# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workloads' models in PyTorch, layer for layer what benchmarks/models.py builds in Keras, with PyTorch's initial weights."""

import functools

from torch import nn
from torch.nn import functional as F


def mlp():
    """The mixed precision guide's model."""
    return nn.Sequential(nn.Linear(784, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 10))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        widths = (3, 32, 64, 128)
        self.convolutions = nn.ModuleList(
            nn.Conv2d(widths[i], widths[i + 1], 3, stride=2 if i else 1, padding=0 if i else 1, bias=False) for i in range(3)
        )
        self.normalizations = nn.ModuleList(nn.BatchNorm2d(width, eps=1e-3, momentum=0.01) for width in widths[1:])
        self.last = nn.Linear(128, 10)

    def forward(self, x):
        x = x.permute(0, 3, 1, 2)
        for block, (convolution, normalization) in enumerate(zip(self.convolutions, self.normalizations)):
            # Keras's "same" of a stride of two pads behind.
            x = F.relu(normalization(convolution(F.pad(x, (0, 1, 0, 1)) if block else x)))
        return self.last(x.mean((2, 3)))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.last = nn.LSTM(32, 128, batch_first=True), nn.Linear(128, 10)

    def forward(self, x):
        return self.last(self.lstm(x)[0][:, -1])


class Transformer(nn.Module):
    def __init__(self, width=256, heads=8, activate=F.relu):
        super().__init__()
        self.activate = activate
        self.heads, self.inputs, self.outputs = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width, eps=1e-3) for _ in range(2))
        self.wide, self.narrow, self.last = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.Linear(width, 10)

    def forward(self, x):
        parts = self.inputs(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        x = self.norms[0](x + self.outputs(attended.transpose(1, 2).flatten(2)))
        x = self.norms[1](x + self.narrow(self.activate(self.wide(x))))
        return self.last(x.mean(1))


def gelu_transformer():
    return Transformer(activate=functools.partial(F.gelu, approximate="tanh"))
