# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models that onnxruntime's quantizer made, beside onnxruntime: quantized.py BIN [CASE...] [--keep FOLDER]

Each result is compared in steps of the integers that it is made of: those of the last QuantizeLinear where there is one,
else float32 within TOLERANCE of the largest.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import zlib

import execution
import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnxruntime import quantization

TOLERANCE = 2e-6
# onnxruntime computes float16 in float32, node by node: two roundings of the largest.
OF_HALVES = 2.0**-10
# Weights of int8 have 7 bits (reduce_range), as onnxruntime advises: where a CPU has no VNNI, its sums of two products of
# unsigned activations saturate at 16 bits, and those that are signed it makes unsigned.
draw = np.random.default_rng(7)


def tensor(name, shape, scale):
    return numpy_helper.from_array((draw.normal(size=shape) * scale).astype(np.float32), name)


def model(nodes, inputs, outputs, initializers, opset=17):
    graph = helper.make_graph(
        nodes, "g", [helper.make_tensor_value_info(*each) for each in inputs], [helper.make_tensor_value_info(*each) for each in outputs], initializers
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)
    onnx.checker.check_model(made, full_check=True)
    return made


def perceptron():
    """Gemm with and without transposed weights, Relu between them."""
    nodes = [
        helper.make_node("Gemm", ["x", "w1", "b1"], ["h"], transB=1, name="fc1"),
        helper.make_node("Relu", ["h"], ["r"], name="act"),
        helper.make_node("Gemm", ["r", "w2", "b2"], ["y"], name="fc2"),
    ]
    weights = [tensor("w1", [32, 20], 0.3), tensor("b1", [32], 0.2), tensor("w2", [32, 10], 0.3), tensor("b2", [10], 0.2)]
    return model(nodes, [("x", TensorProto.FLOAT, ["N", 20])], [("y", TensorProto.FLOAT, ["N", 10])], weights)


def products():
    """MatMul of a matrix of weights, of rank 3, with a bias behind it."""
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["p"], name="q"),
        helper.make_node("Add", ["p", "b1"], ["a"], name="bias"),
        helper.make_node("Tanh", ["a"], ["t"], name="act"),
        helper.make_node("MatMul", ["t", "w2"], ["y"], name="out"),
    ]
    weights = [tensor("w1", [64, 48], 0.2), tensor("b1", [48], 0.2), tensor("w2", [48, 32], 0.2)]
    return model(nodes, [("x", TensorProto.FLOAT, ["N", 6, 64])], [("y", TensorProto.FLOAT, ["N", 6, 32])], weights)


def convolutions():
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1], name="conv1"),
        helper.make_node("Relu", ["c1"], ["r1"], name="act1"),
        helper.make_node("MaxPool", ["r1"], ["m"], kernel_shape=[2, 2], strides=[2, 2], name="pool"),
        helper.make_node("Conv", ["m", "w2", "b2"], ["c2"], group=8, pads=[1, 1, 1, 1], name="depthwise"),
        helper.make_node("Relu", ["c2"], ["r2"], name="act2"),
        helper.make_node("Conv", ["r2", "w3"], ["c3"], name="pointwise"),
        helper.make_node("GlobalAveragePool", ["c3"], ["g"], name="mean"),
        helper.make_node("Flatten", ["g"], ["f"], name="flat"),
        helper.make_node("Gemm", ["f", "w4", "b4"], ["y"], transB=1, name="head"),
    ]
    weights = [tensor("w1", [8, 3, 3, 3], 0.3), tensor("b1", [8], 0.2), tensor("w2", [8, 1, 3, 3], 0.4), tensor("b2", [8], 0.2),
               tensor("w3", [16, 8, 1, 1], 0.4), tensor("w4", [5, 16], 0.4), tensor("b4", [5], 0.2)]  # fmt: skip
    return model(nodes, [("x", TensorProto.FLOAT, ["N", 3, 12, 12])], [("y", TensorProto.FLOAT, ["N", 5])], weights)


def elements():
    """What is no product, which QOperator files have as onnxruntime's own operations."""
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c"], pads=[1, 1, 1, 1], name="conv"),
        helper.make_node("Sigmoid", ["c"], ["s"], name="sigmoid"),
        helper.make_node("LeakyRelu", ["c"], ["l"], alpha=0.1, name="leaky"),
        helper.make_node("Concat", ["s", "l"], ["k"], axis=1, name="both"),
        helper.make_node("AveragePool", ["k"], ["a"], kernel_shape=[2, 2], strides=[2, 2], name="mean"),
        helper.make_node("Flatten", ["a"], ["f"], name="flat"),
        helper.make_node("MatMul", ["f", "w2"], ["m"], name="head"),
        helper.make_node("Softmax", ["m"], ["y"], axis=-1, name="softmax"),
    ]
    weights = [tensor("w1", [8, 3, 3, 3], 0.3), tensor("b1", [8], 0.2), tensor("w2", [256, 5], 0.1)]
    return model(nodes, [("x", TensorProto.FLOAT, ["N", 3, 8, 8])], [("y", TensorProto.FLOAT, ["N", 5])], weights)


class Rows(quantization.CalibrationDataReader):
    def __init__(self, rows):
        self.rows = iter([{"x": row} for row in rows])

    def get_next(self):
        return next(self.rows, None)


def static(make, kind, per_channel, activations, weights, **options):
    def quantize(source, target, rows):
        quantization.quantize_static(source, target, Rows(rows), quant_format=kind, per_channel=per_channel, activation_type=activations,
                                     weight_type=weights, reduce_range=weights == Type.QInt8, extra_options=options)  # fmt: skip

    return make, quantize


def dynamic(make, weights, per_channel):
    return make, lambda source, target, rows: quantization.quantize_dynamic(
        source, target, weight_type=weights, per_channel=per_channel, reduce_range=weights == Type.QInt8)  # fmt: skip


def blocked(make, kind, bits=4, symmetric=True):
    def quantize(source, target, rows):
        from onnxruntime.quantization import matmul_nbits_quantizer

        made = matmul_nbits_quantizer.MatMulNBitsQuantizer(onnx.load(source), bits=bits, block_size=16, is_symmetric=symmetric, quant_format=kind)
        made.process()
        made.model.save_model_to_file(target)

    return make, quantize


def halves(make):
    """In float16, by onnxruntime's converter, which appends nodes that others read."""

    def quantize(source, target, rows):
        from onnxruntime.transformers import float16

        onnx.save(float16.convert_float_to_float16(onnx.load(source), keep_io_types=True), target)

    return make, quantize


def fused(make):
    """What a session saves that has optimized the model."""

    def quantize(source, target, rows):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level, options.optimized_model_filepath = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_EXTENDED, target
        onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])

    return make, quantize


Kind, Type = quantization.QuantFormat, quantization.QuantType
CASES = {
    **{f"{make.__name__}_{kind.name.lower()}{'_channels' if channels else ''}_{activations.name.lower()}":
       static(make, kind, channels, activations, Type.QInt8)
       for make in (perceptron, products, convolutions) for kind in (Kind.QDQ, Kind.QOperator)
       for channels, activations in ((False, Type.QUInt8), (True, Type.QUInt8), (True, Type.QInt8))},
    "convolutions_dynamic": dynamic(convolutions, Type.QUInt8, False),
    "perceptron_dynamic": dynamic(perceptron, Type.QInt8, False),
    "products_dynamic_channels": dynamic(products, Type.QInt8, True),
    "products_dynamic_unsigned": dynamic(products, Type.QUInt8, False),
    "products_int4_qdq": blocked(products, Kind.QDQ),
    "products_int4_qoperator": blocked(products, Kind.QOperator),
    **{f"products_int{bits}_asymmetric": blocked(products, Kind.QOperator, bits, False) for bits in (2, 4, 8)},
    "elements_qoperator": static(elements, Kind.QOperator, False, Type.QUInt8, Type.QUInt8),
    "elements_qoperator_channels": static(elements, Kind.QOperator, True, Type.QInt8, Type.QInt8),
    **{f"{make.__name__}_{name}": static(make, Kind.QDQ, False, activations, weights, UseQDQContribOps=True)
       for make in (perceptron, convolutions)
       for name, activations, weights in (("int16", Type.QInt16, Type.QInt8), ("weights_int4", Type.QUInt8, Type.QInt4))},
    "perceptron_weights_asymmetric": static(perceptron, Kind.QDQ, False, Type.QInt8, Type.QInt8, ActivationSymmetric=True, WeightSymmetric=False),
    **{f"{make.__name__}_fused": fused(make) for make in (perceptron, convolutions)},
    "perceptron_float16": halves(perceptron),
}  # fmt: skip


def last_step(made):
    """The scale of the integers that the output is dequantized from; None where it is floating from the start."""
    constants = {each.name: numpy_helper.to_array(each) for each in made.graph.initializer}
    for node in made.graph.node:
        if node.op_type == "DequantizeLinear" and node.output[0] == made.graph.output[0].name:
            return float(constants[node.input[1]])
    return None


def check(binaries, name, folder):
    global draw
    draw = np.random.default_rng(zlib.crc32(name.encode()))  # a case alone has the numbers that it has among all
    make, quantize = CASES[name]
    source, target, compiled = (os.path.join(folder, file) for file in ("float.onnx", "m.onnx", "m.mpc"))
    plain = make()
    onnx.save(plain, source)
    shape = [each.dim_value or 4 for each in plain.graph.input[0].type.tensor_type.shape.dim]
    rows = draw.normal(size=[8, *shape]).astype(np.float32)
    quantize(source, target, rows)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Else products with weights of 4 bits round their activations to 8.
    options.add_session_config_entry("session.qdq_matmulnbits_accuracy_level", "1")
    x = draw.normal(size=shape).astype(np.float32)
    expected = onnxruntime.InferenceSession(target, options, providers=["CPUExecutionProvider"]).run(None, {"x": x})[0]
    done = subprocess.run([os.path.join(binaries, "mpcc"), target, "-o", compiled, "--name=m", "--march=native", "-q", f"--batch={shape[0]}"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    if done.returncode != 0:
        return f"mpcc ended with {done.returncode}: {done.stderr.strip()}"
    try:
        got = execution.run_apart(binaries, compiled, {"x": x}, 300)[0]
    except execution.Unfit as unfit:
        return str(unfit)
    step = last_step(onnx.load(target))
    if step:
        steps = np.abs(np.rint((got - expected) / step))
        print(f"{name}: {int(np.count_nonzero(steps))} of {steps.size} results differ, by {int(steps.max())} steps at most")
        return "" if steps.max() == 0 else f"differs by {int(steps.max())} steps of {step}"
    error = float(np.max(np.abs(got - expected)) / np.max(np.abs(expected)))
    print(f"{name}: largest difference {error:.1e} of the largest result")
    tolerance = OF_HALVES if name.endswith("_float16") else TOLERANCE
    return "" if error <= tolerance else f"differs by {error:.1e} of the largest result; expected {tolerance}"


def check_edges(binaries, _, folder):
    """What no integer holds, and numbers in the middle between two, by zero points of all types."""
    kinds = [(TensorProto.UINT8, zero) for zero in (0, 7, 255)] + [(TensorProto.INT8, zero) for zero in (0, -5, -128)]
    kinds += [(TensorProto.INT16, 300), (TensorProto.UINT16, 32768)]
    nodes, outputs, constants = [], [], [numpy_helper.from_array(np.float32(0.5), "scale")]
    for i, (kind, zero) in enumerate(kinds):
        constants.append(helper.make_tensor(f"zero{i}", kind, [], [zero]))
        nodes.append(helper.make_node("QuantizeLinear", ["x", "scale", f"zero{i}"], [f"y{i}"]))
        outputs.append((f"y{i}", kind, [512]))
    target, compiled = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.mpc")
    made = model(nodes, [("x", TensorProto.FLOAT, [512])], outputs, constants, opset=21)
    onnx.save(made, target)
    x = np.arange(-256, 256, dtype=np.float32) / 4 * draw.choice(np.float32([1, 1, 3, 401]), 512)
    x[::17] = draw.choice(np.float32([np.nan, np.inf, -np.inf, 1e30, -1e30, 0.24999999, -0.25000003]), len(x[::17]))
    expected = onnxruntime.InferenceSession(target, providers=["CPUExecutionProvider"]).run(None, {"x": x})
    done = subprocess.run([os.path.join(binaries, "mpcc"), target, "-o", compiled, "--name=m", "--march=native", "-q"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"mpcc ended with {done.returncode}: {done.stderr.strip()}"
    got = execution.run_apart(binaries, compiled, {"x": x}, 300)
    others = [(i, j) for i, pair in enumerate(zip(got, expected)) for j in np.flatnonzero(pair[0] != pair[1])]
    return "; ".join(f"zero point {kinds[i][1]}: {x[j]} is {got[i][j]} instead of {expected[i][j]}" for i, j in others[:5])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    faults = 0
    names = arguments.cases or [*CASES, "edges"]
    for name in names:
        with tempfile.TemporaryDirectory() as scratch:
            folder = os.path.join(arguments.keep, name) if arguments.keep else scratch
            os.makedirs(folder, exist_ok=True)
            fault = (check_edges if name == "edges" else check)(arguments.binaries, name, folder)
        if fault:
            faults += 1
            print(f"wrong: {name}: {fault}")
    print(f"ran {len(names)} tests")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
