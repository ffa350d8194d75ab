# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs whose open batch is not the first dimension, beside onnxruntime: batches.py BIN [--only REGEX] [--keep FOLDER]

Each is compiled with --batch=first, and predicts several batches with one library.
"""

import os
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import execution
import named_cases

BATCHES = (1, 3, 32)
TOLERANCE = 1e-5
draw = np.random.default_rng(3)


def constant(name, values):
    return numpy_helper.from_array(np.asarray(values), name)


def weights(*shape):
    return (draw.normal(size=shape) / np.sqrt(shape[-1])).astype(np.float32)


class Graph:
    """`inputs`: shapes by name, in which "n" is the batch."""

    def __init__(self, opset=18, **inputs):
        self.inputs, self.opset, self.nodes, self.initializers = inputs, opset, [], []

    def add(self, op, inputs, outputs=("y",), **attributes):
        """Arrays among the inputs are initializers."""
        names = []
        for each in inputs:
            if not isinstance(each, str):
                names.append(f"c{len(self.initializers)}")
                self.initializers.append(constant(names[-1], each))
            else:
                names.append(each)
        self.nodes.append(helper.make_node(op, names, list(outputs), **attributes))
        return self

    def model(self, outputs):
        def info(name, shape, kind=TensorProto.FLOAT):
            return helper.make_tensor_value_info(name, kind, shape)

        ids = TensorProto.INT64
        inputs = [info(name, shape, ids if name.startswith("ids") else TensorProto.FLOAT) for name, shape in self.inputs.items()]
        outputs = [helper.make_empty_tensor_value_info(name) for name in outputs]
        graph = helper.make_graph(self.nodes, "m", inputs, outputs, self.initializers)
        return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=9))


def recurrence(op, directions=1, batch_first=False, states=False, stacked=False):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
    graph = Graph(x=["n", 5, 6] if batch_first else [5, "n", 6])
    x, width = "x", 6
    if batch_first:
        graph.add("Transpose", ["x"], ["by_steps"], perm=[1, 0, 2])
        x = "by_steps"
    initial = []
    if states:
        graph.add("Shape", [x], ["batch"], start=1, end=2)
        graph.add("Concat", [np.array([directions]), "batch", np.array([7])], ["state_shape"], axis=0)
        graph.add("Expand", [np.float32(0.25), "state_shape"], ["state"])
        initial = ["", "state", "state"] if op == "LSTM" else ["", "state"]
    for layer in range(2 if stacked else 1):
        kernel, rows, bias = weights(directions, gates * 7, width), weights(directions, gates * 7, 7), weights(directions, 2 * gates * 7)
        results = [f"{name}{layer}" for name in (["all", "last", "memory"] if op == "LSTM" else ["all", "last"])]
        more = {"linear_before_reset": 1} if op == "GRU" else {}
        graph.add(op, [x, kernel, rows, bias, *initial], results, hidden_size=7, direction="bidirectional" if directions == 2 else "forward", **more)
        graph.add("Transpose", [results[0]], [f"transposed{layer}"], perm=[0, 2, 1, 3])
        x, width = f"out{layer}", 7 * directions
        graph.add("Reshape", [f"transposed{layer}", np.array([0, 0, width])], [x])
    outputs = ["y", results[1]]
    graph.add("Transpose", [x], ["y"], perm=[1, 0, 2]) if batch_first else graph.add("Identity", [x], ["y"])
    return graph, outputs


def attention(flat):
    """torch's multi-head attention of [steps, batch, width]: heads and batch are one dimension."""
    graph = Graph(x=[5, "n", 8])
    graph.add("Shape", ["x"], ["batch"], start=1, end=2)
    graph.add("Mul", ["batch", np.array([2])], ["groups"])
    graph.add("Concat", [np.array([5]), "groups", np.array([4])], ["split"], axis=0)
    for name in "qkv":
        graph.add("MatMul", ["x", weights(8, 8)], [name + "0"])
        graph.add("Add", [name + "0", weights(8)], [name + "1"])
        graph.add("Reshape", [name + "1", "split"], [name + "2"])
        graph.add("Transpose", [name + "2"], [name], perm=[1, 0, 2])
    if not flat:
        graph.add("Concat", ["batch", np.array([2, 5, 4])], ["heads"], axis=0)
        for name in "qkv":
            graph.add("Reshape", [name, "heads"], [name + "_heads"])
    end = "" if flat else "_heads"
    graph.add("Transpose", ["k" + end], ["kt"], perm=[0, 2, 1] if flat else [0, 1, 3, 2])
    graph.add("MatMul", ["q" + end, "kt"], ["scores"])
    graph.add("Mul", ["scores", np.float32(0.5)], ["scaled"])
    graph.add("Softmax", ["scaled"], ["shares"], axis=-1)
    graph.add("MatMul", ["shares", "v" + end], ["read"])
    graph.add("Transpose", ["read"], ["transposed"], perm=[1, 0, 2] if flat else [2, 0, 1, 3])
    graph.add("Reshape", ["transposed", np.array([-1, 8])], ["rows"])
    graph.add("Gemm", ["rows", weights(8, 8), weights(8)], ["product"])
    graph.add("Concat", [np.array([5]), "batch", np.array([8])], ["shape"], axis=0)
    graph.add("Reshape", ["product", "shape"], ["out"])
    graph.add("Add", ["x", "out"], ["sum"])
    graph.add("LayerNormalization", ["sum", weights(8), weights(8)], ["y"], axis=-1)
    return graph, ["y"]


def one(op, *more, shape=(5, "n", 8), opset=18, outputs=("y",), **attributes):
    return Graph(opset, x=list(shape)).add(op, ["x", *more], outputs, **attributes), list(outputs)


def two(op, other, shape=(5, "n", 8), **attributes):
    return Graph(x=list(shape), z=list(other)).add(op, ["x", "z"], **attributes), ["y"]


def mean_over_steps():
    graph = Graph(x=[5, "n", 8]).add("ReduceMean", ["x", np.array([0])], ["mean"], keepdims=0)
    return graph.add("Sub", ["x", "mean"], ["y"]), ["y", "mean"]


def embedding():
    graph = Graph(ids=[5, "n"]).add("Gather", [weights(9, 4), "ids"], ["rows"], axis=0)
    graph.add("Gather", [weights(2, 9, 3), "ids"], ["columns"], axis=1)
    return graph, ["rows", "columns"]


def last_step():
    graph = Graph(x=[5, "n", 8]).add("Gather", ["x", np.array(-1)], ["y"], axis=0)
    return graph, ["y"]


def time_distributed():
    """Rows of all samples and steps as one matrix."""
    graph = Graph(x=[5, "n", 8]).add("Reshape", ["x", np.array([-1, 8])], ["rows"])
    graph.add("Gemm", ["rows", weights(6, 8), weights(6)], ["product"], transB=1)
    graph.add("BatchNormalization", ["product", weights(6), weights(6), weights(6), np.abs(weights(6)) + 1], ["normal"])
    graph.add("Relu", ["normal"], ["positive"])
    graph.add("Shape", ["x"], ["batch"], start=1, end=2)
    graph.add("Concat", [np.array([5]), "batch", np.array([6])], ["shape"], axis=0)
    return graph.add("Reshape", ["positive", "shape"], ["y"]), ["y"]


def masked():
    graph = Graph(x=[5, "n", 8], z=["n", 1]).add("Greater", ["z", np.float32(0)], ["mask"])
    return graph.add("Where", ["mask", "x", np.float32(-1)], ["y"]), ["y"]


def chunks():
    graph = Graph(x=[6, "n", 8]).add("Split", ["x"], ["a", "b", "c"], axis=0, num_outputs=3)
    graph.add("Concat", ["c", "a"], ["joined"], axis=0)
    graph.add("Slice", ["joined", np.array([1]), np.array([7]), np.array([2])], ["narrow"])
    return graph, ["joined", "b", "narrow"]


def stacked():
    graph = Graph(x=["n", 8], z=["n", 8])
    for name in "xz":
        graph.add("Unsqueeze", [name, np.array([0])], [name + "1"])
    graph.add("Concat", ["x1", "z1"], ["y"], axis=0)
    return graph.add("Squeeze", ["x1", np.array([0])], ["back"]), ["y", "back"]


def branches():
    graph = Graph(x=[5, "n", 8])
    graph.add("ReduceSum", ["x"], ["total"], keepdims=0).add("Greater", ["total", np.float32(0)], ["positive"])
    bodies = {}
    for name, op in (("then_branch", "Exp"), ("else_branch", "Neg")):
        bodies[name] = helper.make_graph([helper.make_node(op, ["x"], [name + "_y"])], name, [], [helper.make_empty_tensor_value_info(name + "_y")])
    graph.nodes.append(helper.make_node("If", ["positive"], ["y"], **bodies))
    return graph, ["y"]


def resized():
    """To sizes whose first is the batch, as torch writes them."""
    graph = Graph(x=["n", 2, 3, 4])
    graph.add("Shape", ["x"], ["batch"], end=2).add("Concat", ["batch", np.array([6, 5])], ["sizes"], axis=0)
    return graph.add("Resize", ["x", "", "", "sizes"], mode="linear", coordinate_transformation_mode="align_corners"), ["y"]


def token():
    """Repeated for the batch, as PyTorch's older exporter writes expand(batch, -1, -1)."""
    graph = Graph(x=["n", 3, 4]).add("Shape", ["x"], ["batch"], end=1)
    graph.add("Concat", ["batch", np.array([-1, -1])], ["shape"], axis=0)
    graph.add("ConstantOfShape", [np.array([3])], ["ones"], value=numpy_helper.from_array(np.array([1])))
    graph.add("Mul", ["ones", np.array(-1)], ["minus"]).add("Equal", ["shape", "minus"], ["kept"])
    graph.add("Where", ["kept", "ones", "shape"], ["extents"]).add("Expand", [weights(1, 1, 4), "extents"], ["tokens"])
    return graph.add("Concat", ["tokens", "x"], ["y"], axis=1), ["y"]


def pairs():
    """x[:, i, j], as PyTorch writes it."""
    graph = Graph(x=["n", 3, 4]).add("Transpose", ["x"], ["behind"], perm=[1, 2, 0])
    graph.add("GatherND", ["behind", np.array([[0, 1], [2, -1], [1, 0]])], ["picked"])
    return graph.add("Transpose", ["picked"], ["y"], perm=[1, 0]), ["y"]


def dense():
    """A product of all samples' rows, as tf2onnx writes it."""
    graph = Graph(x=["n", 3, 4]).add("Shape", ["x"], ["shape"]).add("Gather", ["shape", np.array([0, 1])], ["outer"])
    graph.add("ReduceProd", ["outer"], ["rows"], keepdims=1).add("Concat", ["rows", np.array([4])], ["matrix"], axis=0)
    graph.add("Reshape", ["x", "matrix"], ["flat"]).add("MatMul", ["flat", weights(4, 5)], ["product"])
    graph.add("Concat", ["outer", np.array([5])], ["back"], axis=0)
    return graph.add("Reshape", ["product", "back"], ["y"]), ["y"]


def reversed_steps():
    """All steps of every sample, as tf2onnx writes tf.reverse."""
    graph = Graph(x=[5, "n", 4]).add("Shape", ["x"], ["batch"], start=1, end=2)
    graph.add("Expand", [np.array([5]), "batch"], ["lengths"])
    return graph.add("ReverseSequence", ["x", "lengths"], ["y"], batch_axis=1, time_axis=0), ["y"]


CASES = {
    "lstm": recurrence("LSTM"),
    "lstm_both_ways": recurrence("LSTM", directions=2),
    "lstm_stacked": recurrence("LSTM", directions=2, stacked=True, states=True),
    "lstm_transposed": recurrence("LSTM", batch_first=True, states=True),
    "gru": recurrence("GRU"),
    "gru_both_ways_transposed": recurrence("GRU", directions=2, batch_first=True, states=True),
    "gru_stacked": recurrence("GRU", stacked=True),
    "elman": recurrence("RNN", directions=2, states=True),
    "attention": attention(False),
    "attention_flat": attention(True),
    "relu": one("Relu"),
    "add_of_places": one("Add", weights(5, 1, 8)),
    "add_of_rows": one("Add", weights(8)),
    "add_of_batches": two("Add", ["n", 8]),
    "add_of_steps": two("Mul", [1, "n", 1]),
    "last_batch": one("Sigmoid", shape=(3, 4, "n")),
    "add_last_batch": one("Add", weights(4, 1), shape=(3, 4, "n")),
    "transpose": one("Transpose", perm=[2, 1, 0]),
    "transpose_inner": one("Transpose", perm=[2, 0, 3, 1], shape=(2, "n", 3, 4)),
    "transpose_away": one("Transpose", perm=[1, 2, 0], shape=("n", 3, 4)),
    "softmax": one("Softmax", axis=0),
    "log_softmax": one("LogSoftmax", axis=-1),
    "argmax": one("ArgMax", axis=0, keepdims=0),
    "argmin": one("ArgMin", axis=2, keepdims=1, select_last_index=1),
    "sum_of_steps": one("ReduceSum", np.array([0]), keepdims=0),
    "largest_kept": one("ReduceMax", np.array([0, 2]), keepdims=1),
    "product_of_steps": one("ReduceProd", np.array([0]), keepdims=1),
    "sum_of_all": one("ReduceLogSumExp", np.array([0, 2]), keepdims=0),
    "mean_of_batches": one("ReduceMean", np.array([1]), keepdims=0),
    "mean_of_batches_kept": one("ReduceMean", np.array([0, 1]), keepdims=1),
    "running_sum": one("CumSum", np.array(0)),
    "normalized": one("LayerNormalization", weights(8), weights(8), axis=-1, outputs=("y", "mean", "inverse")),
    "norm_of_steps": one("LpNormalization", axis=0, p=2),
    "product": one("MatMul", weights(8, 6)),
    "product_left": (Graph(x=[8, "n"]).add("MatMul", [weights(3, 8), "x"]), ["y"]),
    "product_transposed": one("Gemm", weights(8, 6), shape=(8, "n"), transA=1),
    "tile": one("Tile", np.array([2, 1, 3])),
    "flatten": one("Flatten", shape=(1, "n", 2, 3), axis=2),
    "expand": one("Expand", np.array([4, 5, 1, 8])),
    "dropout": one("Dropout"),
    "mean_over_steps": mean_over_steps(),
    "embedding": embedding(),
    "last_step": last_step(),
    "time_distributed": time_distributed(),
    "masked": masked(),
    "chunks": chunks(),
    "stacked": stacked(),
    "branches": branches(),
    "resized": resized(),
    "token": token(),
    "pairs": pairs(),
    "dense": dense(),
    "reversed_steps": reversed_steps(),
}  # fmt: skip


def transposed(array, place):
    return np.ascontiguousarray(np.moveaxis(array, place, 0))


def check(name, binaries, work, _):
    """Text of what is wrong, or ""."""
    graph, outputs = CASES[name]
    model = graph.model(outputs)
    path, compiled = os.path.join(work, name + ".onnx"), os.path.join(work, name + ".mpc")
    onnx.save(model, path)
    done = subprocess.run([os.path.join(binaries, "mpcc"), path, "-o", compiled, "--name=m", "--march=native", "-q", "--batch=first"],
                          capture_output=True, text=True, check=False)  # fmt: skip
    if done.returncode != 0:
        return f"mpcc ended with {done.returncode}: {done.stderr.strip()}"
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for batch in BATCHES:
        given = {}
        for each, shape in graph.inputs.items():
            extents = [batch if extent == "n" else extent for extent in shape]
            given[each] = draw.integers(0, 9, extents) if each.startswith("ids") else draw.normal(size=extents).astype(np.float32)
        expected = session.run(None, given)
        # Where an output has the batch: the dimension that differs with another one.
        more = {each: np.concatenate([array, array], graph.inputs[each].index("n")) for each, array in given.items()}
        places = [[int(d) for d in np.flatnonzero(np.not_equal(a.shape, b.shape))] for a, b in zip(expected, session.run(None, more))]
        expected = [transposed(array, place[0]) if place else array for array, place in zip(expected, places)]
        inputs = {each: transposed(array, graph.inputs[each].index("n")) for each, array in given.items()}
        try:
            got = execution.run_apart(binaries, compiled, inputs, 60, batch)
        except execution.Unfit as unfit:
            return f"batch {batch}: {unfit}"
        for output, array, wanted in zip(outputs, got, expected):
            if array.shape != wanted.shape:
                return f"batch {batch}: {output} has the shape {array.shape}; expected {wanted.shape}"
            error = float(np.max(np.abs(array.astype(np.float64) - wanted) / np.maximum(1, np.abs(wanted))))
            if not error <= TOLERANCE:
                return f"batch {batch}: {output} differs by {error:.2e}; expected {TOLERANCE} at most"
    return ""


if __name__ == "__main__":
    sys.exit(named_cases.run(CASES, check))
