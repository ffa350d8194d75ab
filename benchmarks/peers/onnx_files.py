# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""ONNX files in float32 and quantized by onnxruntime, and onnxruntime on them.

  onnx_files.py make FOLDER                     writes NAME.onnx of each; prints their names
  onnx_files.py data FILE BATCH OUT.npz         inputs of the file, random, and onnxruntime's outputs
  onnx_files.py serve FILE BATCH WARMUP THREADS the protocol of `mpc-run bench --serve`
  onnx_files.py start FILE                      one prediction; prints when it was there
"""

import json
import os
import sys
import time

import numpy as np

draw = np.random.default_rng(7)


class Graph:
    """Nodes and weights on their way into a file."""

    def __init__(self):
        self.nodes, self.weights = [], []

    def weight(self, *shape, scale=None, values=None):
        from onnx import numpy_helper

        if values is None:
            fan = np.prod(shape[1:]) if len(shape) > 1 else 1
            values = (draw.normal(size=shape) * (scale or fan**-0.5)).astype(np.float32)
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, op, *inputs, outputs=1, **attributes):
        from onnx import helper

        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=f"{op}_{len(self.nodes)}", **attributes))
        return names[0] if outputs == 1 else names

    def save(self, path, shape, classes):
        import onnx
        from onnx import helper

        self.nodes[-1].output[0] = "y"
        inputs = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["batch", *shape])]
        outputs = [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["batch", classes])]
        graph = helper.make_graph(self.nodes, "g", inputs, outputs, self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
        onnx.checker.check_model(model, full_check=True)
        onnx.save(model, path)


def dense(g, x, inputs, outputs, activation=None):
    y = g.add("Add", g.add("MatMul", x, g.weight(inputs, outputs, scale=inputs**-0.5)), g.weight(outputs))
    return g.add(activation, y) if activation else y


def convolve(g, x, inputs, outputs, kernel=3, stride=1, group=1, activation="Relu"):
    pad = kernel // 2
    y = g.add("Conv", x, g.weight(outputs, inputs // group, kernel, kernel), g.weight(outputs, scale=0.1), pads=[pad] * 4, strides=[stride] * 2, group=group)
    if activation == "Relu6":
        return g.add("Clip", y, g.weight(values=np.float32(0)), g.weight(values=np.float32(6)))
    return g.add(activation, y) if activation else y


def perceptron(path):
    g = Graph()
    x = dense(g, dense(g, "x", 784, 1024, "Relu"), 1024, 1024, "Relu")
    dense(g, x, 1024, 10)
    g.save(path, [784], 10)


def convolutions(path):
    """Residual blocks on images of 32 x 32."""
    g = Graph()
    x, width = convolve(g, "x", 3, 32), 32
    for wide, stride in ((32, 1), (64, 2), (128, 2)):
        y = convolve(g, convolve(g, x, width, wide, stride=stride), wide, wide, activation=None)
        short = x if stride == 1 else convolve(g, x, width, wide, kernel=1, stride=stride, activation=None)
        x, width = g.add("Relu", g.add("Add", y, short)), wide
    x = g.add("Flatten", g.add("GlobalAveragePool", x))
    dense(g, x, width, 10)
    g.save(path, [3, 32, 32], 10)


def recurrent(path):
    """64 steps of 64 numbers through two LSTMs of 128."""
    g = Graph()
    x, inputs = g.add("Transpose", "x", perm=[1, 0, 2]), 64
    for _ in range(2):
        x = g.add("LSTM", x, g.weight(1, 512, inputs, scale=0.1), g.weight(1, 512, 128, scale=0.08), g.weight(1, 1024, scale=0.1), outputs=3, hidden_size=128)[0]
        x, inputs = g.add("Squeeze", x, g.weight(values=np.array([1], np.int64))), 128
    x = g.add("Gather", x, g.weight(values=np.array(-1, np.int64)), axis=0)
    dense(g, x, 128, 10)
    g.save(path, [64, 64], 10)


def transformer(path):
    """Two encoder blocks of width 256 and 4 heads on 64 positions."""
    g, width, heads, positions = Graph(), 256, 4, 64
    ints = lambda *values: g.weight(values=np.array(values, np.int64))
    norm = lambda x: g.add("LayerNormalization", x, g.weight(values=np.ones(width, np.float32)), g.weight(width, scale=0.1), axis=-1)
    split = lambda x, order: g.add("Transpose", g.add("Reshape", x, ints(0, positions, heads, width // heads)), perm=order)
    x = "x"
    for _ in range(2):
        n = norm(x)
        q, k, v = (split(dense(g, n, width, width), order) for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = g.add("Softmax", g.add("Mul", g.add("MatMul", q, k), g.weight(values=np.float32((width // heads) ** -0.5))), axis=-1)
        mixed = g.add("Reshape", g.add("Transpose", g.add("MatMul", scores, v), perm=[0, 2, 1, 3]), ints(0, positions, width))
        x = g.add("Add", x, dense(g, mixed, width, width))
        x = g.add("Add", x, dense(g, dense(g, norm(x), width, 4 * width, "Relu"), 4 * width, width))
    x = g.add("ReduceMean", norm(x), axes=[1], keepdims=0)
    dense(g, x, width, 10)
    g.save(path, [positions, width], 10)


def mobile(path):
    """Inverted residual blocks with depthwise convolutions on images of 64 x 64."""
    g = Graph()
    x, width = convolve(g, "x", 3, 16, stride=2, activation="Relu6"), 16
    for wide, stride in ((16, 1), (24, 2), (24, 1), (40, 2), (40, 1), (80, 2), (80, 1)):
        y = convolve(g, x, width, 4 * width, kernel=1, activation="Relu6")
        y = convolve(g, y, 4 * width, 4 * width, stride=stride, group=4 * width, activation="Relu6")
        y = convolve(g, y, 4 * width, wide, kernel=1, activation=None)
        x, width = g.add("Add", x, y) if stride == 1 and wide == width else y, wide
    x = g.add("Flatten", g.add("GlobalAveragePool", convolve(g, x, width, 320, kernel=1, activation="Relu6")))
    dense(g, x, 320, 10)
    g.save(path, [3, 64, 64], 10)


MODELS = {"MLP": perceptron, "CNN": convolutions, "LSTM": recurrent, "transformer": transformer, "MobileNet": mobile}
QUANTIZED = ("MLP", "CNN", "transformer", "MobileNet")


def rows_of(path, count):
    import onnx

    shape = [each.dim_value for each in onnx.load(path).graph.input[0].type.tensor_type.shape.dim][1:]
    return draw.normal(size=[count, *shape]).astype(np.float32)


def make(folder):
    import onnx
    from onnxruntime import quantization
    from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer

    class Rows(quantization.CalibrationDataReader):
        def __init__(self, rows):
            self.rows = iter([{"x": rows[i : i + 8]} for i in range(0, len(rows), 8)])

        def get_next(self):
            return next(self.rows, None)

    names = []
    for name, build in MODELS.items():
        plain = os.path.join(folder, f"{name} float32.onnx")
        build(plain)
        names.append(f"{name} float32")
    for name in QUANTIZED:
        plain = os.path.join(folder, f"{name} float32.onnx")
        target = lambda kind: os.path.join(folder, f"{name} {kind}.onnx")
        quantization.quantize_static(plain, target("static"), Rows(rows_of(plain, 32)), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
                                     activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8, reduce_range=True)  # fmt: skip
        names.append(f"{name} static")
        if name in ("MLP", "transformer"):
            quantization.quantize_dynamic(plain, target("dynamic"), weight_type=quantization.QuantType.QInt8, per_channel=True, reduce_range=True)
            narrow = MatMulNBitsQuantizer(onnx.load(plain), bits=4, block_size=32, is_symmetric=True, accuracy_level=1)
            narrow.process()
            narrow.model.save_model_to_file(target("int4"))
            names += [f"{name} dynamic", f"{name} int4"]
    print(json.dumps(names))


def open_session(path, threads=0):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def main():
    command, path = sys.argv[1:3]
    if command == "make":
        return make(path)
    if command == "data":
        x = rows_of(path, int(sys.argv[3]))
        return np.savez(sys.argv[4], x=x, y=open_session(path).run(None, {"x": x})[0])
    if command == "start":
        session = open_session(path)
        shape = [each if isinstance(each, int) else 1 for each in session.get_inputs()[0].shape]
        session.run(None, {"x": np.zeros(shape, np.float32)})
        return print(time.clock_gettime_ns(time.CLOCK_MONOTONIC))
    from serve import serve, take_stdout

    channel = take_stdout()
    batch, warmup, threads = map(int, sys.argv[3:6])
    session, x = open_session(path, threads), rows_of(path, batch)
    return serve(channel, lambda: session.run(None, {"x": x})[0], warmup, {"program": "onnxruntime"})


if __name__ == "__main__":
    main()
