# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations with as many results as values say, with random values: selections.py BIN [--count N] [--seed S] [--keep FOLDER]

NonMaxSuppression and what detection models do with its result are compared with onnxruntime, NonZero, Compress and
Unique with NumPy. One library computes several draws, among them such that nothing or all is selected.
"""

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import execution

KINDS = {np.dtype(name): number for name, number in (("float32", 1), ("int32", 6), ("int64", 7), ("bool", 9), ("float64", 11), ("uint8", 2))}
DRAWS = 4


class Graph:
    """`inputs`: arrays of one draw, by name."""

    def __init__(self, inputs, outputs):
        self.inputs, self.outputs, self.nodes, self.initializers = inputs, outputs, [], []

    def add(self, op, inputs, outputs, **attributes):
        names = []
        for each in inputs:
            if not isinstance(each, str):
                self.initializers.append(numpy_helper.from_array(np.asarray(each), f"c{len(self.initializers)}"))
                each = self.initializers[-1].name
            names.append(each)
        self.nodes.append(helper.make_node(op, names, outputs, **attributes))

    def model(self):
        inputs = [helper.make_tensor_value_info(name, KINDS[array.dtype], array.shape) for name, array in self.inputs.items()]
        outputs = [helper.make_empty_tensor_value_info(name) for name in self.outputs]
        graph = helper.make_graph(self.nodes, "m", inputs, outputs, self.initializers)
        return onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9))


def by_onnxruntime(model):
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return lambda inputs: session.run(None, inputs)


# ---- Cases: (name, graph, draw of inputs, reference or None for onnxruntime) --------------------------------------


def boxes_and_scores(draw, samples, kinds, count, centered):
    """Boxes that overlap often, scores of which some are equal."""
    centers, sizes = draw.uniform(0, 4, (samples, count, 2)), draw.uniform(0.2, 2, (samples, count, 2))
    boxes = np.concatenate([centers, sizes] if centered else [centers - sizes / 2, centers + sizes / 2], axis=2)
    if not centered and draw.random() < 0.5:
        boxes = boxes[..., [2, 1, 0, 3]]  # corners in another order
    scores = np.round(draw.uniform(0, 1, (samples, kinds, count)), 2)
    return {"boxes": boxes.astype(np.float32), "scores": scores.astype(np.float32)}


def suppression(draw):
    samples, kinds, count = (int(draw.integers(1, high)) for high in (4, 4, 40))
    centered = bool(draw.integers(2))
    most, overlap, least = np.int64(draw.choice([1, 3, count, 2**40])), np.float32(draw.choice([0, 0.3, 0.7])), np.float32(draw.choice([0, 0.5, 2]))
    is_fed = bool(draw.integers(2))  # the settings are inputs

    def inputs(draw):
        values = boxes_and_scores(draw, samples, kinds, count, centered)
        if is_fed:
            values |= {"most": np.array([most]), "overlap": np.array([overlap]), "least": np.array([least])}
        return values

    graph = Graph(inputs(draw), ["selected"])
    settings = ["most", "overlap", "least"] if is_fed else [np.array([most]), np.array([overlap]), np.array([least])][: draw.integers(1, 4)]
    graph.add("NonMaxSuppression", ["boxes", "scores", *settings], ["selected"], center_point_box=int(centered))
    return graph, inputs, None


def detections(draw):
    """What exporters write behind it: class, score and box of each selected one, and how many there are."""
    samples, kinds, count = (int(draw.integers(1, high)) for high in (3, 4, 40))

    def inputs(draw):
        return boxes_and_scores(draw, samples, kinds, count, False)

    graph = Graph(inputs(draw), ["found", "kinds", "scaled", "number", "best"])
    graph.add("NonMaxSuppression", ["boxes", "scores", np.array([8]), np.array([0.4], np.float32), np.array([0.2], np.float32)], ["selected"])
    graph.add("Gather", ["selected", np.array([0, 2])], ["places"], axis=1)
    graph.add("GatherND", ["boxes", "places"], ["taken"])
    graph.add("GatherND", ["scores", "selected"], ["their"])
    graph.add("Unsqueeze", ["their", np.array([1])], ["column"])
    graph.add("Gather", ["selected", np.array(1)], ["kinds64"], axis=1)
    graph.add("Cast", ["kinds64"], ["kinds"], to=TensorProto.INT32)
    graph.add("Cast", ["selected"], ["floats"], to=TensorProto.FLOAT)
    graph.add("Concat", ["floats", "taken", "column"], ["found"], axis=1)
    graph.add("Mul", ["taken", np.array([[2, 3, 2, 3]], np.float32)], ["times"])
    graph.add("Transpose", ["times"], ["transposed"], perm=[1, 0])
    graph.add("Reshape", ["transposed", np.array([1, 4, -1])], ["scaled"])
    graph.add("Shape", ["selected"], ["extents"])
    graph.add("Slice", ["extents", np.array([0]), np.array([1])], ["number"])
    graph.add("ReduceMax", ["taken", np.array([1])], ["best"], keepdims=0)
    return graph, inputs, None


def values(draw, shape, kind, share):
    """Few different ones, of which `share` are not zero."""
    numbers = draw.integers(-3, 4, shape) * (draw.random(shape) < share)
    return numbers.astype(kind) if kind != "bool" else numbers != 0


def shape_of(draw, rank):
    return tuple(int(extent) for extent in draw.integers(1, 6, rank))


def non_zero(draw):
    shape, kind, share = shape_of(draw, draw.integers(1, 5)), str(draw.choice(["float32", "int64", "bool", "int32"])), draw.choice([0, 0.3, 1])

    def inputs(draw):
        return {"x": values(draw, shape, kind, share)}

    graph = Graph(inputs(draw), ["y"])
    graph.add("NonZero", ["x"], ["y"])
    return graph, inputs, lambda given: [np.array(np.nonzero(given["x"]))]


def compress(draw):
    shape = shape_of(draw, draw.integers(1, 4))
    axis = int(draw.integers(-len(shape), len(shape))) if draw.integers(4) else None
    extent = int(np.prod(shape)) if axis is None else shape[axis]
    length, share = int(draw.integers(1, extent + 1)), draw.choice([0, 0.5, 1])

    def inputs(draw):
        return {"x": values(draw, shape, "float32", 0.9), "condition": draw.random(length) < share}

    graph = Graph(inputs(draw), ["y"])
    graph.add("Compress", ["x", "condition"], ["y"], **({} if axis is None else {"axis": axis}))
    return graph, inputs, lambda given: [np.compress(given["condition"], given["x"], axis)]


def unique(draw):
    shape = shape_of(draw, draw.integers(1, 4))
    axis = int(draw.integers(0, len(shape))) if draw.integers(2) else None
    sorts, kind, has_nan = bool(draw.integers(2)), str(draw.choice(["float32", "int64", "int32", "uint8"])), bool(draw.integers(2))

    def inputs(draw):
        x = np.abs(values(draw, shape, "int64", 0.7)).astype(kind)
        if kind == "float32" and has_nan:
            x[draw.random(shape) < 0.2] = np.nan
        return {"x": x}

    def expected(given):
        """Slices are compared as tuples, NaN behind all numbers."""
        x = given["x"] if axis is not None else given["x"].reshape(-1)
        rows = np.moveaxis(x, axis or 0, 0).reshape(x.shape[axis or 0], -1)
        keys = [tuple((np.isnan(each), 0 if np.isnan(each) else each) for each in row.astype(np.float64)) for row in rows]
        first = list(dict.fromkeys(keys))
        order = sorted(first) if sorts else first
        places = [keys.index(key) for key in order]
        return [np.take(x, places, axis or 0), np.array(places), np.array([order.index(key) for key in keys]), np.array([keys.count(key) for key in order])]

    names = ["y", "indices", "inverse", "counts"]
    graph = Graph(inputs(draw), names)
    graph.add("Unique", ["x"], names, sorted=int(sorts), **({} if axis is None else {"axis": axis}))
    return graph, inputs, expected


CASES = (suppression, detections, non_zero, compress, unique)


def faults(case, seed, binaries, folder):
    draw = np.random.default_rng(seed)
    graph, inputs, expected = case(draw)
    model = graph.model()
    path, compiled = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.mpc")
    onnx.save(model, path)
    done = subprocess.run([os.path.join(binaries, "mpcc"), path, "-o", compiled, "--name=m", "--march=native", "-q"], capture_output=True, text=True, check=False)
    if done.returncode:
        yield f"mpcc ends with {done.returncode}: {done.stderr.strip()}"
        return
    expected = expected or by_onnxruntime(model)
    for number in range(DRAWS):
        given = graph.inputs if number == 0 else inputs(draw)
        got, wanted = execution.run_apart(binaries, compiled, given, 60), expected(given)
        if len(got) != len(wanted):
            yield f"draw {number}: {len(got)} outputs; expected {len(wanted)}"
        for name, one, other in zip(graph.outputs, got, wanted):
            if one.shape != other.shape or one.dtype != other.dtype or not np.array_equal(one, other, equal_nan=one.dtype.kind == "f"):
                yield f"draw {number}: {name} is {one.dtype} {one.shape} {one.tolist()}; expected {other.dtype} {other.shape} {other.tolist()}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--count", type=int, default=6, help="graphs of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="this kind")
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    ran = failed = 0
    for case in CASES:
        for number in range(arguments.count):
            if arguments.only and case.__name__ != arguments.only:
                continue
            seed = arguments.seed * 1000 + number
            with tempfile.TemporaryDirectory(prefix="mpc-selections-") as scratch:
                folder = os.path.join(arguments.keep, f"{case.__name__}-{seed}") if arguments.keep else scratch
                os.makedirs(folder, exist_ok=True)
                try:
                    lines = list(faults(case, seed, arguments.binaries, folder))
                except execution.Unfit as unfit:
                    lines = [str(unfit)]
            for line in lines:
                print(f"error: {case.__name__} {seed}: {line}")
            ran, failed = ran + 1, failed + bool(lines)
    print(f"ran {ran} tests")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
