# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workloads of mpc-gpu-check in PyTorch, with torch.autocast and GradScaler as its users have them. Weights are
PyTorch's: only times are compared."""

import statistics
import time

import torch
from torch import nn
from torch.nn import functional as F


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        widths = (3, 32, 64, 128)
        self.convolutions = nn.ModuleList(nn.Conv2d(widths[i], widths[i + 1], 3, stride=2 if i else 1, padding=1, bias=False) for i in range(3))
        self.normalizations = nn.ModuleList(nn.BatchNorm2d(width) for width in widths[1:])
        self.last = nn.Linear(128, 10)

    def forward(self, x):
        x = x.permute(0, 3, 1, 2)
        for convolution, normalization in zip(self.convolutions, self.normalizations):
            x = F.relu(normalization(convolution(x)))
        return self.last(x.mean((2, 3)))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.last = nn.LSTM(32, 128, batch_first=True), nn.Linear(128, 10)

    def forward(self, x):
        return self.last(self.lstm(x)[0][:, -1])


class Transformer(nn.Module):
    def __init__(self, width=256, heads=8):
        super().__init__()
        self.heads, self.inputs, self.outputs = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.wide, self.narrow, self.last = nn.Linear(width, 4 * width), nn.Linear(4 * width, width), nn.Linear(width, 10)

    def forward(self, x):
        parts = self.inputs(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(parts[0], parts[1], parts[2])
        x = self.norms[0](x + self.outputs(attended.transpose(1, 2).flatten(2)))
        x = self.norms[1](x + self.narrow(F.relu(self.wide(x))))
        return self.last(x.mean(1))


def guide():
    return nn.Sequential(nn.Linear(784, 4096), nn.ReLU(), nn.Linear(4096, 4096), nn.ReLU(), nn.Linear(4096, 10))


MODELS = {"guide": (guide, (784,)), "cnn": (Cnn, (32, 32, 3)), "lstm": (Lstm, (128, 32)), "transformer": (Transformer, (128, 256))}


def time_torch(workload, precision, compiled, batch, steps, warmup, device="cuda"):
    """Milliseconds of a training step, {"ms": median}: forward, loss, backward, RMSprop."""
    make, shape = MODELS[workload]
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
    reduced = {"mixed_float16": torch.float16, "mixed_bfloat16": torch.bfloat16}.get(precision)
    model = make().to(device)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, alpha=0.9, eps=1e-7)
    scaler = torch.amp.GradScaler(device, enabled=device == "cuda" and reduced == torch.float16)
    x, y = torch.rand(batch, *shape, device=device), torch.randint(0, 10, (batch,), device=device)

    def loss_of():
        with torch.autocast(device, dtype=reduced or torch.bfloat16, enabled=reduced is not None):
            logits = model(x)
        return F.cross_entropy(logits.float(), y)

    if compiled:
        loss_of = torch.compile(loss_of)
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    times = []
    for _ in range(warmup + steps):
        wait()
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss_of()).backward()
        scaler.step(optimizer)
        scaler.update()
        wait()
        times.append(1e3 * (time.perf_counter() - start))
    return {"ms": statistics.median(times[warmup:])}
