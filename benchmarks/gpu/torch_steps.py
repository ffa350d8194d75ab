# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workloads of mpc-gpu-check in PyTorch, with torch.autocast and GradScaler as its users have them. Weights are
PyTorch's: only times are compared."""

import statistics
import time

import torch
import torch_modules
from torch.nn import functional as F


MODELS = {"guide": (torch_modules.mlp, (784,)), "cnn": (torch_modules.Cnn, (32, 32, 3)), "lstm": (torch_modules.Lstm, (128, 32)),
          "transformer": (torch_modules.Transformer, (128, 256)), "gelu_transformer": (torch_modules.gelu_transformer, (128, 256))}  # fmt: skip


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
