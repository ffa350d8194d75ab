# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The workloads' models in plain PyTorch, speaking the protocol of `mpc-run bench --serve` (READY, go N,
TIMES, quit, DONE). Lower precision by torch.autocast, as PyTorch's users do.

  torch_peer.py FOLDER MODE WARMUP THREADS COMPILE WORKLOAD-JSON POLICY      COMPILE is on, off, or frozen: predictions whose
                                                                             weights are constants, which inductor packs and folds
"""

import contextlib
import json
import os
import sys

folder, mode, warmup, threads, compiled = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
workload, policy = json.loads(sys.argv[6]), sys.argv[7]
os.environ["OMP_NUM_THREADS"] = str(threads)
os.environ["KERAS_BACKEND"] = "torch"

import numpy
import torch
import torch._inductor.config
import torch_models
from serve import serve, take_stdout
from torch.nn import functional as F

torch.set_num_threads(threads)
channel = take_stdout()


RATE = 1e-4  # as in benchmarks/models.py


# PyTorch's own optimizers put epsilon elsewhere; these are Keras's formulas.
@torch.no_grad()
def rmsprop(parameters, gradients, slots, count):
    velocities = slots[0]
    torch._foreach_mul_(velocities, 0.9)
    torch._foreach_addcmul_(velocities, gradients, gradients, 0.1)
    divisors = torch._foreach_sqrt(torch._foreach_add(velocities, 1e-7))
    torch._foreach_addcdiv_(parameters, gradients, divisors, -RATE)


@torch.no_grad()
def adam(parameters, gradients, slots, count):
    momentums, velocities = slots
    torch._foreach_lerp_(momentums, gradients, 0.1)
    torch._foreach_mul_(velocities, 0.999)
    torch._foreach_addcmul_(velocities, gradients, gradients, 0.001)
    rate = RATE * torch.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    steps = torch._foreach_div(momentums, torch._foreach_add(torch._foreach_sqrt(velocities), 1e-7))
    torch._foreach_sub_(parameters, torch._foreach_mul(steps, rate))


@torch.no_grad()
def sgd(parameters, gradients, slots, count):
    torch._foreach_add_(parameters, gradients, alpha=-RATE)


model = torch_models.load(folder, workload, plain=True, mixed="bfloat16" in policy)
update, slots = {"rmsprop": (rmsprop, 1), "adam": (adam, 2), "sgd": (sgd, 0)}[workload.get("optimizer", "rmsprop")]
parameters = [value for value in model.parameters() if value.requires_grad]
state = [[torch.zeros_like(value) for value in parameters] for _ in range(slots)]
count = torch.zeros(())
lower = (lambda: torch.autocast("cpu", torch.bfloat16)) if "bfloat16" in policy else contextlib.nullcontext
data = numpy.load(os.path.join(folder, "data.npz"))
x, y = torch.from_numpy(data["x"]), torch.from_numpy(data["y0"])
has_classes = not y.is_floating_point()
y = y.long() if has_classes else y


def loss_of(x, y):
    with lower():
        outputs = model(x).float()
    return F.cross_entropy(outputs.movedim(-1, 1), y) if has_classes else F.mse_loss(outputs, y)


def prediction(x):
    with lower():
        outputs = model(x).float()
    return torch_models.finish(workload, outputs) if has_classes else outputs


if compiled == "frozen":
    torch._inductor.config.freezing = True
if os.environ.get("ATEN_CPU_CAPABILITY") == "avx2":
    torch._inductor.config.cpp.simdlen = 256
if compiled != "off":
    loss_of, prediction, update = torch.compile(loss_of), torch.compile(prediction), torch.compile(update)
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
    with torch.no_grad() if compiled == "frozen" else torch.inference_mode():
        return prediction(x).numpy()


serve(channel, step, warmup, {"program": "torch", "compile": compiled}, folder)
