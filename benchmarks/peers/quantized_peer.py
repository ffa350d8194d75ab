# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Dense layers with given weights in programs that quantize, too.

  quantized_peer.py make WEIGHTS.npz IMAGES LABELS FOLDER   writes them; prints {name: {"bytes", "accuracy"}}
  quantized_peer.py gptq|awq WEIGHTS.npz SIZE GROUPS.npz    the weights as Keras's gptq/4/SIZE or awq/4/SIZE keeps them
  quantized_peer.py serve FOLDER NAME BATCH WARMUP THREADS  the protocol of `mpc-run bench --serve`

WEIGHTS holds dense_0/kernel, dense_0/bias, dense_1/kernel and so on; IMAGES and LABELS are IDX files.
"""

import gzip
import json
import os
import pathlib
import sys

import numpy
from serve import serve, take_stdout

WIDTH = 784  # of an image


def read_idx(path):
    content = gzip.open(path).read()
    rank = content[3]
    extents = [int.from_bytes(content[4 + 4 * i : 8 + 4 * i], "big") for i in range(rank)]
    return numpy.frombuffer(content, numpy.uint8, offset=4 + 4 * rank).reshape(extents)


def file_of(folder, name):
    return folder / name.replace("/", "_")


def make_torch(values, folder):
    import torch

    layers = []
    for kernel, bias in zip(values[::2], values[1::2]):
        linear = torch.nn.Linear(*kernel.shape)
        linear.weight.data, linear.bias.data = torch.from_numpy(kernel.T.copy()), torch.from_numpy(bias)
        layers += [linear, torch.nn.ReLU()]
    plain = torch.nn.Sequential(*layers[:-1])
    dynamic = torch.ao.quantization.quantize_dynamic(plain, {torch.nn.Linear}, dtype=torch.qint8)
    for name, model in (("float32", plain), ("dynamic int8", dynamic)):
        torch.jit.trace(model, torch.zeros(1, WIDTH)).save(file_of(folder, f"torch, {name}"))
    return ["torch, float32", "torch, dynamic int8"]


def make_onnx(values, folder):
    import onnx
    from onnx import helper, numpy_helper
    from onnxruntime.quantization import quantize_dynamic
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    nodes, before, last = [], "x", len(values) // 2 - 1
    for i in range(last + 1):
        nodes.append(helper.make_node("MatMul", [before, f"w{2 * i}"], [f"product{i}"], name=f"matmul{i}"))
        nodes.append(helper.make_node("Add", [f"product{i}", f"w{2 * i + 1}"], ["y" if i == last else f"sum{i}"]))
        if i < last:
            nodes.append(helper.make_node("Relu", [f"sum{i}"], [f"layer{i}"]))
        before = f"layer{i}"
    tensor = lambda name, width: helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, ["batch", width])
    graph = helper.make_graph(nodes, "dense", [tensor("x", WIDTH)], [tensor("y", len(values[-1]))],
                              [numpy_helper.from_array(value, f"w{i}") for i, value in enumerate(values)])  # fmt: skip
    plain = folder / "onnxruntime, float32"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), plain)
    quantize_dynamic(plain, folder / "onnxruntime, dynamic int8")
    narrow = MatMulNBitsQuantizer(onnx.load(plain), block_size=128, is_symmetric=False, accuracy_level=4)
    narrow.process()
    narrow.model.save_model_to_file(str(file_of(folder, "onnxruntime, int4/128")))
    return [plain.name, "onnxruntime, dynamic int8", "onnxruntime, int4/128"]


def make_groups(mode, weights, size, target):
    """keras/src/quantizers/gptq_core.py without its solver, or awq_core.py without its search: groups of inputs,
    asymmetric, numbers from 0 to 15 rounded to nearest. awq multiplies inputs' weights before that, by their size here."""
    stored, parts = numpy.load(weights), {}
    for name in stored:
        layer, part = name.rsplit("/", 1)
        if part != "kernel":
            parts[name] = stored[name]
            continue
        kernel = stored[name].T
        if mode == "awq":
            size_of = numpy.abs(kernel).mean(0) + 1e-4
            factors = numpy.sqrt(size_of / size_of.mean()).astype("float32")
            kernel, parts[f"{layer}/awq_scales"] = kernel * factors, factors
        groups = numpy.arange(kernel.shape[1]) // size
        scale, zero = (numpy.empty((kernel.shape[0], groups[-1] + 1), "float32") for _ in range(2))
        for group in range(groups[-1] + 1):
            own = kernel[:, groups == group]
            low, high = numpy.minimum(own.min(1), 0), numpy.maximum(own.max(1), 0)
            scale[:, group] = numpy.maximum(high - low, 1e-8) / 15
            zero[:, group] = numpy.round(-low / scale[:, group])
        numbers = numpy.clip(numpy.round(kernel / scale[:, groups]) + zero[:, groups], 0, 15).astype("uint8")
        numbers = numpy.pad(numbers, ((0, len(numbers) % 2), (0, 0)))
        parts.update({name: numbers[::2] | numbers[1::2] << 4, f"{layer}/kernel_scale": scale,
                      f"{layer}/kernel_zero": zero.astype("uint8"), f"{layer}/g_idx": groups.astype("float32")})  # fmt: skip
    numpy.savez(target, **parts)


def load(folder, name, threads):
    """The model as a function of an array."""
    if name.startswith("torch"):
        import torch

        torch.set_num_threads(threads)
        model = torch.jit.load(file_of(folder, name)).eval()

        def predict(x):
            with torch.inference_mode():
                return model(torch.from_numpy(x)).numpy()

        return predict
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(file_of(folder, name), options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x": x})[0]


def make(weights, images, labels, folder):
    stored = numpy.load(weights)
    values = [stored[f"dense_{i}/{part}"] for i in range(len(stored)) for part in ("kernel", "bias") if f"dense_{i}/{part}" in stored]
    x = (read_idx(images).astype("float32") / 255).reshape(-1, WIDTH)
    y = read_idx(labels)
    found = {}
    for maker in (make_torch, make_onnx):
        try:
            names = maker(values, folder)
        except ImportError as error:
            print(f"{maker.__name__}: {error}; left out", file=sys.stderr)
            continue
        for name in names:
            predict = load(folder, name, os.cpu_count())
            guesses = numpy.concatenate([predict(part).argmax(-1) for part in numpy.split(x, len(x) // 1000)])
            found[name] = {"bytes": file_of(folder, name).stat().st_size, "accuracy": float(numpy.mean(guesses == y))}
    return found


def main():
    channel = take_stdout()
    if sys.argv[1] == "make":
        print(json.dumps(make(*sys.argv[2:5], pathlib.Path(sys.argv[5]))), file=channel)
        return
    if sys.argv[1] in ("gptq", "awq"):
        make_groups(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
        return
    folder, name, batch, warmup, threads = pathlib.Path(sys.argv[2]), sys.argv[3], *map(int, sys.argv[4:7])
    predict = load(folder, name, threads)
    x = numpy.random.RandomState(1).uniform(size=(batch, WIDTH)).astype("float32")

    def step():
        predict(x)

    serve(channel, step, warmup, {"program": name})


if __name__ == "__main__":
    main()
