# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workloads' models in plain PyTorch, from the weights of the Keras file, speaking the protocol of
`mpc-run bench --serve` (READY, go N, TIMES, quit, DONE). Lower precision by torch.autocast, as PyTorch's users do.

  torch_peer.py FOLDER MODE WARMUP THREADS COMPILE WORKLOAD-JSON POLICY      COMPILE is on or off
"""

import contextlib
import json
import os
import sys

folder, mode, warmup, threads, compiled = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5] == "on"
workload, policy = json.loads(sys.argv[6]), sys.argv[7]
os.environ["OMP_NUM_THREADS"] = str(threads)
os.environ["KERAS_BACKEND"] = "torch"

import keras
import numpy
import torch
from serve import serve, take_stdout
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(threads)
channel = take_stdout()


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


# PyTorch's own optimizers put epsilon elsewhere; these are Keras's formulas.
@torch.no_grad()
def rmsprop(parameters, gradients, slots, count):
    velocities = slots[0]
    torch._foreach_mul_(velocities, 0.9)
    torch._foreach_addcmul_(velocities, gradients, gradients, 0.1)
    divisors = torch._foreach_sqrt(torch._foreach_add(velocities, 1e-7))
    torch._foreach_addcdiv_(parameters, gradients, divisors, -1e-3)


@torch.no_grad()
def adam(parameters, gradients, slots, count):
    momentums, velocities = slots
    torch._foreach_lerp_(momentums, gradients, 0.1)
    torch._foreach_mul_(velocities, 0.999)
    torch._foreach_addcmul_(velocities, gradients, gradients, 0.001)
    rate = 1e-3 * torch.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    steps = torch._foreach_div(momentums, torch._foreach_add(torch._foreach_sqrt(velocities), 1e-7))
    torch._foreach_sub_(parameters, torch._foreach_mul(steps, rate))


source = keras.saving.load_model(os.path.join(folder, "model.keras"), compile=False)
model = {"mlp": Mlp, "cnn": Cnn, "lstm": Lstm, "transformer": Transformer}[workload["model"]]([numpy.array(weight) for weight in source.get_weights()])
del source
update, slots = {"rmsprop": (rmsprop, 1), "adam": (adam, 2)}[workload.get("optimizer", "rmsprop")]
parameters = [value for value in model.parameters() if value.requires_grad]
state = [[torch.zeros_like(value) for value in parameters] for _ in range(slots)]
count = torch.zeros(())
lower = (lambda: torch.autocast("cpu", torch.bfloat16)) if "bfloat16" in policy else contextlib.nullcontext
data = numpy.load(os.path.join(folder, "data.npz"))
x, y = torch.from_numpy(data["x"]), torch.from_numpy(data["y0"]).long()


def loss_of(x, y):
    with lower():
        logits = model(x)
    return F.cross_entropy(logits.float(), y)


def probabilities(x):
    with lower():
        logits = model(x)
    return torch.softmax(logits.float(), -1)


if compiled:
    loss_of, probabilities, update = torch.compile(loss_of), torch.compile(probabilities), torch.compile(update)
model.train(mode == "train")


def step():
    if mode == "train":
        result = loss_of(x, y)
        result.backward()
        count.add_(1)
        update(parameters, [value.grad for value in parameters], state, count)
        for value in parameters:
            value.grad = None
        return float(result)
    with torch.inference_mode():
        probabilities(x).numpy()


serve(channel, step, warmup, {"program": "torch", "compile": compiled})
