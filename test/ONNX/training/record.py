# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records how PyTorch trains the modules of modules.py: record.py [CASE...] --out FOLDER

Writes for each case the graph that torch.onnx.export makes, without the values of its parameters, and NAME.json: losses
of twenty steps by each optimizer, and elements of the gradients. Needs torch, onnx, onnxscript and onnxruntime of
PyPI (README.md). `run.py` reads what pack.sh makes of the folder.
"""

import os

import draws
import modules
import numpy as np
import onnx
import onnxruntime
import recording
import torch
import torch.nn.functional as F

STEPS = 20
# Keras adds epsilon to another root than PyTorch; with one as small as this that makes no difference.
EPSILON = 1e-12
OPTIMIZERS = {
    "sgd": (lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9), {"class_name": "SGD", "config": {"learning_rate": 0.02, "momentum": 0.9}}),
    "adam": (lambda p: torch.optim.Adam(p, lr=0.002, eps=EPSILON), {"class_name": "Adam", "config": {"learning_rate": 0.002, "epsilon": EPSILON}}),
    "adamw": (lambda p: torch.optim.AdamW(p, lr=0.002, eps=EPSILON, weight_decay=0.05),
              {"class_name": "AdamW", "config": {"learning_rate": 0.002, "epsilon": EPSILON, "weight_decay": 0.05}}),
}  # fmt: skip


def make(case):
    """The module with its first parameters."""
    torch.manual_seed(0)
    module = modules.CASES[case][0]()
    with torch.no_grad():
        for name, value in module.named_parameters():
            value.copy_(torch.from_numpy(draws.parameter(case, name, list(value.shape))))
    return module


def loss_of(kind, outputs, target):
    if kind == "classes":
        return F.cross_entropy(outputs.reshape(-1, outputs.shape[-1]), target.reshape(-1))
    return F.binary_cross_entropy_with_logits(outputs, target) if kind == "bits" else F.mse_loss(outputs, target)


def place_of(case):
    """The dimension in which the module has the batch."""
    return modules.CASES[case][3] if len(modules.CASES[case]) > 3 else 0


def rows(case, arrays, step):
    places = [(step * draws.BATCH + i) % draws.ROWS for i in range(draws.BATCH)]
    return [torch.from_numpy(array[places]).movedim(0, place_of(case)).contiguous() for array in arrays]


def train(case, optimizer, arrays, target, narrow):
    module = make(case).train()
    update = OPTIMIZERS[optimizer][0](module.parameters())
    losses = []
    for step in range(STEPS):
        update.zero_grad()
        *inputs, wanted = rows(case, [*arrays, target], step)
        # oneDNN trains no LSTM in bfloat16.
        with torch.autocast("cpu", torch.bfloat16, enabled=narrow), torch.backends.mkldnn.flags(enabled=not narrow):
            outputs = module(*inputs)
        loss = loss_of(modules.CASES[case][2][0], outputs.float(), wanted)
        loss.backward()
        update.step()
        losses.append(loss.item())
    return losses


def watch_biases(module):
    """A table that the backward pass fills: for each bias the largest sum of the magnitudes that its gradient is a sum of."""
    magnitudes = {}

    def watch(name):
        def see(_, __, gradients):
            places = [axis for axis in range(gradients[0].dim()) if axis != 1]
            magnitudes[name] = gradients[0].abs().sum(dim=places).max().item()

        return see

    for name, inner in module.named_modules():
        if isinstance(inner, torch.nn.Conv2d) and inner.bias is not None:
            inner.register_full_backward_hook(watch(name + ".bias"))
    return magnitudes


def differentiate(case, arrays, target):
    """The loss of the first batch, in float64, and of each parameter its gradient's largest element and some others."""
    module = make(case).double().train()
    magnitudes = watch_biases(module)
    *inputs, wanted = rows(case, [*arrays, target], 0)
    wide = [each.double() if each.is_floating_point() else each for each in [*inputs, wanted]]
    loss = loss_of(modules.CASES[case][2][0], module(*wide[:-1]), wide[-1])
    loss.backward()
    gradients = {}
    for name, value in module.named_parameters():
        flat = value.grad.numpy().reshape(-1)
        gradients[name] = {"largest": float(np.abs(flat).max()), "elements": [float(f"{each:.9g}") for each in flat[draws.sample(name, flat.size)]]}
        if name in magnitudes:
            gradients[name]["magnitude"] = magnitudes[name]
    return {"loss": loss.item(), "gradients": gradients}


def export(case, arrays, path):
    """The graph in inference form, as people export it. Parameters keep the module's names."""
    module = make(case).eval()
    example, place = tuple(rows(case, arrays, 0)), place_of(case)
    shapes = tuple({place: torch.export.Dim("batch", min=1)} for _ in example) if place else None
    program = torch.onnx.export(module, example, dynamo=True, optimize=False, input_names=list(modules.CASES[case][1]), output_names=["y"],
                                dynamic_shapes=shapes, verbose=False)  # fmt: skip
    model = program.model_proto
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    got = session.run(None, dict(zip(modules.CASES[case][1], (each.numpy() for each in example))))[0]
    with torch.no_grad():
        np.testing.assert_allclose(got, module(*example).numpy(), rtol=1e-4, atol=1e-5)
    parameters = {name for name, _ in module.named_parameters()}
    missing = parameters - {tensor.name for tensor in model.graph.initializer}
    if missing:
        raise SystemExit(f"error: {case}: the exported graph has no initializers {sorted(missing)}")
    for tensor in model.graph.initializer:
        if tensor.name in parameters:
            tensor.ClearField("raw_data")
    for node in model.graph.node:
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
    for value in [*model.graph.input, *model.graph.output, *model.graph.value_info, *model.graph.initializer]:
        value.ClearField("metadata_props")
    with open(path, "wb") as file:
        file.write(model.SerializeToString())
    return sorted(parameters)


def record(case, folder):
    _, described, (kind, shape, count) = modules.CASES[case][:3]
    arrays = list(draws.inputs(case, described).values())
    target = draws.target(case, kind, shape, count)
    parameters = export(case, arrays, os.path.join(folder, case + ".onnx"))
    return {
        "inputs": described,
        "target": {"kind": kind, "shape": shape, "count": count},
        "parameters": parameters,
        "place": place_of(case),
        "first": differentiate(case, arrays, target),
        "optimizers": {name: {"object": config, "losses": train(case, name, arrays, target, False),
                              "bfloat16": train(case, name, arrays, target, True)} for name, (_, config) in OPTIMIZERS.items()},
    }  # fmt: skip


if __name__ == "__main__":
    torch.set_num_threads(1)
    recording.run(modules.CASES, record)
