# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random graphs, in which every node fits the tensors that it reads, with onnxruntime as the second opinion, and ONNX's
own evaluator as the third where these differ.

  graphs.py BIN [--count N] [--seed S] [--only SEED] [--keep FOLDER] [--jobs N]

Every value of a graph is an output. A graph is a fault where mpcc or the library crashes, or where numbers, shapes or
types are others than onnxruntime's; one that mpcc refuses is counted. The seed of a faulty one repeats it: --only SEED.
"""

import argparse
import collections
import concurrent.futures
import os
import subprocess
import sys
import tempfile

import execution
import numpy as np
import onnx
import onnxruntime
from comparison import carrier
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

OPSET, IR = 20, 10
MOST_ELEMENTS = 4096
# A share of the largest element: sums in other orders, of up to some hundred terms, and functions of them.
TOLERANCE = 2e-4
# The differences of larger numbers are rounding.
LARGE = 1e6
SECONDS = 120
Made = collections.namedtuple("Made", "shape dtype exact")


class Graph:
    def __init__(self, seed):
        self.draw = np.random.default_rng(seed)
        self.nodes, self.constants, self.inputs = [], [], {}
        self.values = {}  # name: Made; `exact`: the same bits everywhere, so that steps may be taken of it

    def pick(self, *options):
        return options[self.draw.integers(len(options))]

    def find(self, test):
        """The name of a random value that passes, no scalar; None where there is none."""
        names = [name for name, value in self.values.items() if value.shape and test(value)]
        return names[self.draw.integers(len(names))] if names else None

    def numbers(self, shape, dtype):
        if dtype == np.bool_:
            return self.draw.integers(0, 2, shape).astype(np.bool_)
        if np.issubdtype(dtype, np.integer):
            return self.draw.integers(-3, 9, shape).astype(dtype)
        return self.draw.normal(size=shape).astype(dtype)

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add_input(self):
        shape = [int(self.draw.integers(1, 6)) for _ in range(self.draw.integers(1, 5))]
        dtype = self.pick(np.float32, np.float32, np.float32, np.int64, np.int32, np.bool_)
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.numbers(shape, dtype)
        self.values[name] = Made(shape, np.dtype(dtype), True)

    def model(self, outputs=()):
        def info(name):
            value = self.values[name]
            return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)

        graph = helper.make_graph(self.nodes, "g", [info(name) for name in self.inputs], [info(name) for name in outputs], self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR)

    def add(self, op, names, exact, outputs=1, **attributes):
        """A node whose results shape inference knows; forgotten where it does not, or where they are too large or empty."""
        results = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(op, names, results, name=f"n{len(self.nodes)}", **attributes))
        try:
            inferred = onnx.shape_inference.infer_shapes(self.model(), check_type=True, strict_mode=True, data_prop=True)
        except onnx.shape_inference.InferenceError:
            self.nodes.pop()
            return
        types = {each.name: each.type.tensor_type for each in inferred.graph.value_info}
        made = {}
        for name in results:
            dims = types[name].shape.dim if name in types and types[name].HasField("shape") else None
            shape = None if dims is None else [each.dim_value if each.HasField("dim_value") else 0 for each in dims]
            if shape is None or 0 in shape or np.prod(shape, dtype=int) > MOST_ELEMENTS:
                self.nodes.pop()
                return
            made[name] = Made(shape, np.dtype(helper.tensor_dtype_to_np_dtype(types[name].elem_type)), exact)
        self.values.update(made)


def is_float(value):
    return value.dtype == np.float32


def is_number(value):
    return value.dtype != np.bool_


# ---- Families of nodes: each adds one, or nothing where no value fits ---------------------------------------------------


def unary(g):
    name = g.find(is_float)
    if name:
        op = g.pick("Abs", "Neg", "Relu", "Tanh", "Sigmoid", "Exp", "Erf", "Softplus", "Softsign", "Elu", "Selu", "LeakyRelu", "HardSwish", "HardSigmoid",
                    "Gelu", "Mish", "Sin", "Cos", "Atan", "Asinh", "Celu", "ThresholdedRelu")  # fmt: skip
        g.add(op, [name], g.values[name].exact and op in ("Abs", "Neg", "Relu"))


def step(g):
    name = g.find(lambda value: is_float(value) and value.exact)
    if name:
        g.add(g.pick("Floor", "Ceil", "Round", "Sign"), [name], True)


def binary(g):
    first = g.find(is_number)
    if not first:
        return
    value = g.values[first]
    second = g.find(lambda other: other.dtype == value.dtype) if g.draw.integers(2) else None
    if not second:
        shape = [extent if g.draw.integers(3) else 1 for extent in value.shape[g.draw.integers(len(value.shape) + 1) :]]
        second = g.constant(g.numbers(shape, value.dtype))
    names = [first, second] if g.draw.integers(2) else [second, first]
    exact = value.exact and (second not in g.values or g.values[second].exact)
    op = g.pick("Add", "Sub", "Mul", "Max", "Min")
    g.add(op, names, exact and (op in ("Max", "Min") or not is_float(value)))


def compare(g):
    first = g.find(lambda value: is_number(value) and value.exact)
    if first:
        shape = g.values[first].shape
        g.add(g.pick("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal"), [first, g.constant(g.numbers(shape[-1:], g.values[first].dtype))], True)


def logic(g):
    first, condition = g.find(is_float), g.find(lambda value: value.dtype == np.bool_)
    if condition and g.draw.integers(2):
        g.add("Not", [condition], g.values[condition].exact)
    elif condition and first:
        g.add("Where", [condition, first, g.constant(np.float32(0.5))], g.values[first].exact and g.values[condition].exact)


def reduction(g):
    name = g.find(is_float)
    if name:
        rank = len(g.values[name].shape)
        axes = sorted(g.draw.choice(rank, g.draw.integers(1, rank + 1), replace=False))
        op = g.pick("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2", "ReduceSumSquare", "ReduceLogSumExp", "ReduceL1")
        exact = g.values[name].exact and op in ("ReduceMax", "ReduceMin")
        g.add(op, [name, g.constant(np.int64(axes))], exact, keepdims=int(g.draw.integers(2)))


def largest(g):
    name = g.find(lambda value: is_number(value) and value.exact)
    if not name:
        return
    rank = len(g.values[name].shape)
    axis = int(g.draw.integers(-rank, rank))
    extent = g.values[name].shape[axis]
    if g.draw.integers(2):
        g.add(g.pick("ArgMax", "ArgMin"), [name], True, axis=axis, keepdims=int(g.draw.integers(2)), select_last_index=int(g.draw.integers(2)))
    else:
        g.add("TopK", [name, g.constant(np.int64([g.draw.integers(1, extent + 1)]))], True, outputs=2, axis=axis, largest=int(g.draw.integers(2)))


def movement(g):
    name = g.find(lambda value: True)
    if not name:
        return
    shape, exact = g.values[name].shape, g.values[name].exact
    rank = len(shape)
    axis = int(g.draw.integers(rank))
    kind = g.draw.integers(9)
    if kind == 0:
        g.add("Transpose", [name], exact, perm=[int(i) for i in g.draw.permutation(rank)])
    elif kind == 1:
        new = [-1, shape[axis]] if g.draw.integers(2) else [0, -1]
        g.add("Reshape", [name, g.constant(np.int64(new))], exact)
    elif kind == 2:
        g.add("Unsqueeze", [name, g.constant(np.int64([g.draw.integers(-rank - 1, rank + 1)]))], exact)
    elif kind == 3:
        ones = [i for i, extent in enumerate(shape) if extent == 1]
        if ones:
            g.add("Squeeze", [name, g.constant(np.int64(ones[:1]))], exact)
    elif kind == 4:
        start, end = sorted(int(i) for i in g.draw.integers(-1, shape[axis] + 2, 2))
        step_size = int(g.pick(1, 1, 2, -1))
        bounds = (start, end) if step_size > 0 else (end, start - shape[axis] - 1)
        g.add("Slice", [name, *(g.constant(np.int64([i])) for i in (*bounds, axis, step_size))], exact)
    elif kind == 5:
        g.add("Concat", [name, name], exact, axis=axis)
    elif kind == 6:
        g.add("Tile", [name, g.constant(np.int64([g.draw.integers(1, 3) for _ in shape]))], exact)
    elif kind == 7:
        indices = g.draw.integers(-shape[axis], shape[axis], [int(i) for i in g.draw.integers(1, 4, g.draw.integers(3))])
        g.add("Gather", [name, g.constant(np.asarray(indices, np.int64))], exact, axis=axis)
    else:
        g.add("Expand", [name, g.constant(np.int64([2, *shape]))], exact)


def pad(g):
    name = g.find(lambda value: is_float(value))
    if name:
        shape = g.values[name].shape
        mode = g.pick("constant", "edge", "reflect")
        amounts = [int(g.draw.integers(0, max(1, min(3, extent)))) for extent in shape * 2]
        g.add("Pad", [name, g.constant(np.int64(amounts))], g.values[name].exact, mode=mode)


def product(g):
    name = g.find(is_float)
    if name:
        shape = g.values[name].shape
        if len(shape) == 2 and g.draw.integers(2):
            transposed = int(g.draw.integers(2))
            weights = [4, shape[1]] if transposed else [shape[1], 4]
            g.add("Gemm", [name, g.constant(g.numbers(weights, np.float32)), g.constant(g.numbers([4], np.float32))], False, transB=transposed, alpha=0.5)
        else:
            g.add("MatMul", [name, g.constant(g.numbers([shape[-1], int(g.draw.integers(1, 5))], np.float32))], False)


def normalization(g):
    name = g.find(lambda value: is_float(value) and len(value.shape) >= 2)
    if not name:
        return
    shape = g.values[name].shape
    kind = g.draw.integers(4)
    vector = lambda count: g.constant(g.numbers([count], np.float32))  # noqa: E731
    if kind == 0:
        g.add("LayerNormalization", [name, vector(shape[-1]), vector(shape[-1])], False, epsilon=0.1)
    elif kind == 1:
        g.add("InstanceNormalization" if len(shape) > 2 else "LpNormalization", [name, vector(shape[1]), vector(shape[1])] if len(shape) > 2 else [name], False)
    elif kind == 2:
        g.add(g.pick("Softmax", "LogSoftmax"), [name], False, axis=int(g.draw.integers(-len(shape), len(shape))))
    else:
        variance = g.constant(np.abs(g.numbers([shape[1]], np.float32)) + np.float32(0.5))
        g.add("BatchNormalization", [name, vector(shape[1]), vector(shape[1]), vector(shape[1]), variance], False)


def window(g):
    name = g.find(lambda value: is_float(value) and len(value.shape) in (3, 4))
    if not name:
        return
    shape = g.values[name].shape
    rank = len(shape) - 2
    kernel = [int(g.draw.integers(1, min(3, extent) + 1)) for extent in shape[2:]]
    options = {"strides": [int(i) for i in g.draw.integers(1, 3, rank)], "pads": [int(g.draw.integers(0, k)) for k in kernel * 2]}
    kind = g.draw.integers(4)
    if kind == 0:
        g.add("MaxPool", [name], g.values[name].exact, kernel_shape=kernel, ceil_mode=int(g.draw.integers(2)), **options)
    elif kind == 1:
        g.add("AveragePool", [name], False, kernel_shape=kernel, count_include_pad=int(g.draw.integers(2)), **options)
    elif kind == 2:
        group = shape[1] if g.draw.integers(2) else 1
        weights = g.constant(g.numbers([2 * group, shape[1] // group, *kernel], np.float32))
        g.add("Conv", [name, weights, g.constant(g.numbers([2 * group], np.float32))], False, group=group, **options)
    else:
        weights = g.constant(g.numbers([shape[1], 2, *kernel], np.float32))
        g.add("ConvTranspose", [name, weights], False, strides=options["strides"])


def cast(g):
    name = g.find(lambda value: value.exact)
    if name:
        target = g.pick(TensorProto.FLOAT, TensorProto.INT64, TensorProto.INT32, TensorProto.BOOL)
        if g.values[name].dtype != np.float32 or target in (TensorProto.FLOAT, TensorProto.BOOL):
            g.add("Cast", [name], True, to=target)


def resize(g):
    name = g.find(lambda value: is_float(value) and len(value.shape) == 4)
    if name:
        mode = g.pick("nearest", "linear", "cubic")
        scales = np.float32([1, 1, g.pick(0.5, 1, 2), g.pick(1, 1.5, 2)])
        place = g.pick("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel")
        g.add("Resize", [name, "", g.constant(scales)], False, mode=mode, coordinate_transformation_mode=place)


def sample(g):
    name = g.find(lambda value: is_float(value) and len(value.shape) == 4)
    if name:
        grid = g.constant((g.numbers([g.values[name].shape[0], 2, 3, 2], np.float32) * np.float32(0.8)))
        g.add("GridSample", [name, grid], False, mode=g.pick("linear", "nearest", "cubic"), padding_mode=g.pick("zeros", "border", "reflection"),
              align_corners=int(g.draw.integers(2)))  # fmt: skip


FAMILIES = (unary, unary, step, binary, binary, compare, logic, reduction, largest, movement, movement, movement, pad, product, normalization, window, cast,
            resize, sample)  # fmt: skip


def make(seed):
    g = Graph(seed)
    for _ in range(g.draw.integers(1, 4)):
        g.add_input()
    for _ in range(60):
        if len(g.nodes) >= 8:
            break
        FAMILIES[g.draw.integers(len(FAMILIES))](g)
    outputs = [name for name in g.values if name not in g.inputs]
    return (g, g.model(outputs), outputs) if outputs else None


def difference(got, expected):
    """Text, or "" where the values agree. What is not finite says nothing of what is computed from it."""
    if got.shape != expected.shape or got.dtype.name != carrier(expected.dtype):
        return f"is {got.dtype} {got.shape}; expected {expected.dtype} {expected.shape}"
    if expected.dtype.kind != "f":
        return "" if np.array_equal(got, expected) else f"differs: {got.reshape(-1)[:8]} instead of {expected.reshape(-1)[:8]}"
    if not np.all(np.isfinite(expected)) or np.max(np.abs(expected), initial=0) > LARGE:
        return ""
    error = np.max(np.abs(got - expected), initial=0) / max(1.0, np.max(np.abs(expected), initial=0))
    return "" if error <= TOLERANCE else f"differs by {error:.1e} of the largest"


def attempt(seed, binaries, keep):
    made = make(seed)
    if not made:
        return "empty", ""
    g, model, outputs = made
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    try:
        expected = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(None, g.inputs)
    except Exception:  # pylint: disable=broad-except # what onnxruntime has not is no second opinion
        return "unknown", ""
    with tempfile.TemporaryDirectory(prefix="mpc-onnx-graph-") as scratch:
        folder = os.path.join(keep, str(seed)) if keep else scratch
        os.makedirs(folder, exist_ok=True)
        path, compiled = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.mpc")
        onnx.save(model, path)
        try:
            done = subprocess.run([os.path.join(binaries, "mpcc"), path, "-o", compiled, "--name=m", "--march=native", "-q", "--cache="],
                                  capture_output=True, text=True, timeout=SECONDS, check=False)  # fmt: skip
        except subprocess.TimeoutExpired:
            return "broken", "mpcc comes to no end"
        if done.returncode == 1:
            return "refused", done.stderr.strip().splitlines()[0]
        if done.returncode != 0:
            return "broken", f"mpcc ended with {done.returncode}: {done.stderr.strip()[-300:]}"
        try:
            got = execution.run_apart(binaries, compiled, g.inputs, SECONDS)
        except execution.Unfit as unfit:
            return "broken", str(unfit)
    compared = 0
    for name, array, wanted in zip(outputs, got, expected):
        if not np.all(np.isfinite(wanted.astype(np.float64))):
            break  # nor does anything behind it say something
        compared += wanted.dtype.kind != "f" or np.max(np.abs(wanted), initial=0) <= LARGE
        fault = difference(array, wanted)
        # Where onnxruntime stands alone, ONNX's own evaluator says so.
        if fault and difference(array, ReferenceEvaluator(model).run([name], g.inputs)[0]):
            node = next(node for node in g.nodes if name in node.output)
            return "wrong", f"{name} of {node.op_type}: {fault}"
    return ("pass" if compared else "infinite"), ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--keep")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    seeds = [arguments.only] if arguments.only is not None else range(arguments.seed * 1_000_000, arguments.seed * 1_000_000 + arguments.count)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        outcomes = list(pool.map(lambda seed: (seed, *attempt(seed, arguments.binaries, arguments.keep)), seeds))
    counts = collections.Counter(status for _, status, _ in outcomes)
    for seed, status, text in outcomes:
        if status in ("wrong", "broken") or (status == "refused" and arguments.only is not None):
            print(f"{status}: seed {seed}: {text}")
    reasons = collections.Counter(text.split(": ", 3)[-1][:100] for _, status, text in outcomes if status == "refused")
    for reason, count in reasons.most_common(12):
        print(f"refused {count}: {reason}")
    print(" ".join(f"{status} {counts[status]}" for status in ("pass", "refused", "wrong", "broken", "infinite", "unknown", "empty")))
    print(f"ran {counts['pass']} tests")
    # Most graphs are of what there is: else this would test nothing.
    return bool(counts["wrong"] or counts["broken"] or (arguments.only is None and 4 * counts["pass"] < 3 * len(outcomes)))


if __name__ == "__main__":
    sys.exit(main())
