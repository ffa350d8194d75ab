# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Every quantized tensor of larger models that onnxruntime's quantizer made: quantized_tensors.py BIN [MODEL...] [--rows N]

Each model is cut at its quantized tensors: what onnxruntime computed there goes in, what is computed of it comes out. So
one rounding does not hide behind another. An integer must be a nearest one to what float64 computes of the same inputs,
within SLACK steps; sums and products of elements must be ONNX's own float32 roundings; and from onnxruntime's integers
no one may differ by more than a step.
"""

import argparse
import logging
import os
import pathlib
import subprocess
import sys
import tempfile

import execution
import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "peers"))
import onnx_files

MODELS = ("MLP", "CNN", "transformer", "MobileNet")
# float32 computes what is rounded, of up to 255 steps.
SLACK = 1e-3


class Quantized:
    """A model in the QDQ format, and what its quantized tensors are in onnxruntime."""

    def __init__(self, path, x):
        self.model = onnx.load(path)
        self.constants = {each.name: numpy_helper.to_array(each) for each in self.model.graph.initializer}
        self.makers = {name: node for node in self.model.graph.node for name in node.output}
        self.quantizers = [node for node in self.model.graph.node if node.op_type == "QuantizeLinear"]
        self.x, self.tensors = x, {}
        whole = onnx.ModelProto()
        whole.CopyFrom(self.model)
        for node in self.quantizers:
            whole.graph.output.append(helper.make_tensor_value_info(node.output[0], self.integer_of(node), None))
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        session = onnxruntime.InferenceSession(whole.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.tensors = dict(zip([each.name for each in session.get_outputs()], session.run(None, {"x": x})))

    def integer_of(self, quantizer):
        return helper.np_dtype_to_tensor_dtype(self.constants[quantizer.input[2]].dtype)

    def integers(self, name):
        """Integers, scale and zero point of what a DequantizeLinear makes; None for another value."""
        node = self.makers.get(name)
        if node is None or node.op_type != "DequantizeLinear":
            return None
        found = self.tensors.get(node.input[0], self.constants.get(node.input[0]))
        zero = self.constants[node.input[2]] if len(node.input) > 2 else np.int32(0)
        axis = next((helper.get_attribute_value(each) for each in node.attribute if each.name == "axis"), 1)
        shape = [-1 if i == axis % max(found.ndim, 1) else 1 for i in range(found.ndim)]
        spread = lambda each: each.reshape(shape) if np.size(each) > 1 else each.reshape(())  # noqa: E731
        return found, spread(self.constants[node.input[1]]), spread(np.asarray(zero))

    def dequantized(self, name, dtype):
        quantized = self.integers(name)
        if quantized is None:
            return self.constants[name].astype(dtype)
        numbers, scale, zero = quantized
        return (numbers.astype(np.int64) - zero.astype(np.int64)).astype(dtype) * scale.astype(dtype)

    def cut(self):
        """The model with the quantized tensors as inputs, and again as outputs."""
        made = onnx.ModelProto()
        made.CopyFrom(self.model)
        del made.graph.output[:]
        for node in made.graph.node:
            if node.op_type == "QuantizeLinear":
                shape, dtype = self.tensors[node.output[0]].shape, self.integer_of(node)
                made.graph.input.append(helper.make_tensor_value_info(node.output[0], dtype, shape))
                node.output[0] += "/computed"
                made.graph.output.append(helper.make_tensor_value_info(node.output[0], dtype, shape))
        del made.graph.value_info[:]
        for dimension, extent in zip(made.graph.input[0].type.tensor_type.shape.dim, self.x.shape):
            dimension.dim_value = extent
        return made


def attributes_of(node):
    return {each.name: helper.get_attribute_value(each) for each in node.attribute}


def convolve(x, w, attributes):
    strides, group = attributes.get("strides", [1, 1]), attributes.get("group", 1)
    top, left, bottom, right = attributes.get("pads", [0] * 4)
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    height, width = ((x.shape[2 + d] - w.shape[2 + d]) // strides[d] + 1 for d in range(2))
    sums = np.zeros((x.shape[0], w.shape[0], height, width))
    parts, filters = w.shape[1], w.shape[0] // group
    for i in range(w.shape[2]):
        for j in range(w.shape[3]):
            tap = x[:, :, i : i + (height - 1) * strides[0] + 1 : strides[0], j : j + (width - 1) * strides[1] + 1 : strides[1]]
            if parts == filters == 1:
                sums += tap * w[:, 0, i, j][None, :, None, None]
            else:
                for g in range(group):
                    own = slice(g * filters, (g + 1) * filters)
                    sums[:, own] += np.einsum("nchw,oc->nohw", tap[:, g * parts : (g + 1) * parts], w[own, :, i, j], optimize=True)
    return sums


def compute(node, values):
    """What the node computes of float64."""
    attributes = attributes_of(node)
    if node.op_type == "Conv":
        bias = values[2].reshape(1, -1, 1, 1) if len(values) > 2 else 0
        return convolve(values[0], values[1], attributes) + bias
    if node.op_type == "Softmax":
        shifted = np.exp(values[0] - values[0].max(-1, keepdims=True))
        return shifted / shifted.sum(-1, keepdims=True)
    if node.op_type == "LayerNormalization":
        centred = values[0] - values[0].mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + attributes.get("epsilon", 1e-5)) * values[1] + values[2]
    if node.op_type == "ReduceMean":
        return values[0].mean(tuple(attributes["axes"]), keepdims=bool(attributes.get("keepdims", 1)))
    if node.op_type == "Transpose":
        return values[0].transpose(attributes["perm"])
    simple = {"MatMul": np.matmul, "Add": np.add, "Mul": np.multiply, "GlobalAveragePool": lambda x: x.mean((2, 3), keepdims=True),
              "Reshape": lambda x, shape: x.reshape([x.shape[i] if n == 0 else int(n) for i, n in enumerate(shape)]),
              "Flatten": lambda x: x.reshape(len(x), -1)}  # fmt: skip
    return simple[node.op_type](*values)


def quantize(values, scale, zero, dtype):
    limits = np.iinfo(zero.dtype)
    return np.clip(np.rint(values / scale.astype(dtype)) + dtype(zero), limits.min, limits.max).astype(zero.dtype)


def check_tensor(quantized, node, got):
    """Faults of one tensor, and how many of its integers are not onnxruntime's."""
    scale, zero = (quantized.constants[name] for name in node.input[1:3])
    theirs, source = quantized.tensors[node.output[0]], quantized.makers.get(node.input[0])
    faults = []
    steps = np.abs(got.astype(np.int64) - theirs.astype(np.int64))
    if steps.max() > 1:
        faults.append(f"differs from onnxruntime's by {steps.max()} steps")
    if source is None:
        exact = quantized.x.astype(np.float64)
        same = quantize(quantized.x, scale, zero, np.float32)
    else:
        exact = compute(source, [quantized.dequantized(name, np.float64) for name in source.input])
        same = None
        if source.op_type in ("Add", "Mul"):
            same = quantize(compute(source, [quantized.dequantized(name, np.float32) for name in source.input]), scale, zero, np.float32)
    limits = np.iinfo(zero.dtype)
    place = np.clip(exact / np.float64(scale) + zero, limits.min, limits.max)
    error = np.abs(place - got).max()
    if error > 0.5 + SLACK:
        faults.append(f"is {error:.4f} steps from what float64 computes")
    if same is not None and np.any(same != got):
        faults.append(f"differs from ONNX's roundings in {np.count_nonzero(same != got)} of {got.size}")
    return faults, int(np.count_nonzero(steps))


def check(binaries, name, rows, folder):
    path = os.path.join(folder, f"{name} static.onnx")
    x = np.random.default_rng(3).normal(size=[rows, *[each.dim_value for each in onnx.load(path).graph.input[0].type.tensor_type.shape.dim][1:]])
    quantized = Quantized(path, x.astype(np.float32))
    source, compiled = os.path.join(folder, "cut.onnx"), os.path.join(folder, "m.mpc")
    onnx.save(quantized.cut(), source)
    subprocess.run([os.path.join(binaries, "mpcc"), source, "-o", compiled, "--name=m", "--march=native", "-q"], check=True)
    got = execution.run_apart(binaries, compiled, {"x": quantized.x, **{node.output[0]: quantized.tensors[node.output[0]] for node in quantized.quantizers}}, 300)
    faults = 0
    for node, integers in zip(quantized.quantizers, got):
        found, others = check_tensor(quantized, node, integers)
        operation = quantized.makers[node.input[0]].op_type if node.input[0] in quantized.makers else "input"
        if others:
            print(f"{name}: {node.output[0]} ({operation}): {others} of {integers.size} are not onnxruntime's")
        for fault in found:
            faults += 1
            print(f"wrong: {name}: {node.output[0]} ({operation}): {fault}")
    print(f"{name}: {len(quantized.quantizers)} tensors, {faults} faults")
    return len(quantized.quantizers), faults


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("models", nargs="*")
    parser.add_argument("--rows", type=int, default=4)
    arguments = parser.parse_args()
    tests = faults = 0
    logging.disable(logging.WARNING)  # the quantizer's
    with tempfile.TemporaryDirectory() as folder:
        onnx_files.make(folder)
        for name in arguments.models or MODELS:
            checked, wrong = check(arguments.binaries, name, arguments.rows, folder)
            tests, faults = tests + checked, faults + wrong
    print(f"ran {tests} tests")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
