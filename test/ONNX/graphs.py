# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random graphs, in which every node fits the tensors that it reads, with onnxruntime as the second opinion, and ONNX's
own evaluator as the third where these differ, or where onnxruntime has not what the graph needs.

  graphs.py BIN [--count N] [--seed S] [--only SEED] [--floats TYPE] [--nodes N] [--keep FOLDER] [--jobs N]

Every value of a graph is an output. A graph is a fault where mpcc or the library crashes, or where numbers, shapes or
types are others; one that mpcc refuses is counted. Numbers of 16 bits may be as far from the same graph in float64 as
those of the other programs are, four times. The seed of a faulty one repeats it: --only SEED.
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
from graph_nodes import FAMILIES, FLOATS, Graph
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.ops import op_resize

# A share of the largest element: sums in other orders, of up to some hundred terms, and functions of them.
TOLERANCES = {"float32": 2e-4, "float64": 1e-10, "float16": 2.0**-9, "bfloat16": 2.0**-6}
# ONNX's evaluator computes some operations on float64 in float32 (Erf).
EVALUATOR = 1e-6
# How many times as far from the graph in float64 as other programs 16 bits may be.
FACTOR = 4
# The differences of larger numbers are rounding.
LARGE = 1e6
SECONDS = 120


class Resize(op_resize.Resize):
    """ONNX's, whose cubic weights of float64 are float32: the attribute, of NumPy's type, decides theirs."""

    def _run(self, *inputs, cubic_coeff_a=-0.75, **attributes):
        return super()._run(*inputs, cubic_coeff_a=float(cubic_coeff_a), **attributes)


def coordinates(mode, places, scale, extent, width, count, region, compute=op_resize._compute_x_ori):
    """ONNX's evaluator asks whether the width, which may be a fraction, is 1; its text asks this of the number of places,
    and puts a single one of pytorch_half_pixel at 0, as onnxruntime does."""
    if mode == "pytorch_half_pixel" and count == 1:
        return np.zeros(1), None
    return compute(mode, places, scale, extent, 1 if mode == "tf_crop_and_resize" and count == 1 else width, count, region)


op_resize._compute_x_ori = coordinates


def make(seed, floats, nodes):
    g = Graph(seed, floats)
    for _ in range(g.draw.integers(1, 4)):
        g.add_input()
    for _ in range(8 * nodes):
        if len(g.nodes) >= nodes:
            break
        FAMILIES[g.draw.integers(len(FAMILIES))](g)
    outputs = [name for name in g.values if name not in g.inputs]
    return (g, g.model(outputs), outputs) if outputs else None


def is_float(array):
    return array.dtype in FLOATS.values()


def widened(model, to=np.float64):
    """The same graph in float64, or in another type."""
    wide, narrow = onnx.ModelProto(), {helper.np_dtype_to_tensor_dtype(dtype) for dtype in FLOATS.values()}
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(to))
    wide.CopyFrom(model)
    nodes = list(wide.graph.node)
    for node in wide.graph.node:
        bodies = [attribute.g for attribute in node.attribute if attribute.type == onnx.AttributeProto.GRAPH]
        nodes += [inner for body in bodies for inner in body.node]
        for value in (value for body in bodies for value in [*body.input, *body.output] if value.type.tensor_type.elem_type in narrow):
            value.type.tensor_type.elem_type = kind
    for attribute in (attribute for node in nodes for attribute in node.attribute if attribute.name == "to" and attribute.i in narrow):
        attribute.i = kind
    for value in [*wide.graph.input, *wide.graph.output]:
        if value.type.tensor_type.elem_type in narrow:
            value.type.tensor_type.elem_type = kind
    kept = {name for node in nodes if node.op_type == "Resize" for name in node.input[2:3]}
    for tensor in wide.graph.initializer:
        if tensor.data_type in narrow and tensor.name not in kept:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(to), tensor.name))
    return wide


def difference(got, expected, allowed=0.0):
    """Text, or "" where the values agree. What is not finite says nothing of what is computed from it."""
    if got.shape != expected.shape or got.dtype.name != carrier(expected.dtype):
        return f"is {got.dtype} {got.shape}; expected {expected.dtype} {expected.shape}"
    if not is_float(expected):
        return "" if np.array_equal(got, expected) else f"differs: {got.reshape(-1)[:8]} instead of {expected.reshape(-1)[:8]}"
    tolerance = TOLERANCES[expected.dtype.name]
    got, expected = got.astype(np.float64), expected.astype(np.float64)
    if not np.all(np.isfinite(expected)) or np.max(np.abs(expected), initial=0) > LARGE:
        return ""
    error = np.max(np.abs(got - expected), initial=0) / max(1.0, np.max(np.abs(expected), initial=0))
    return "" if error <= tolerance + allowed else f"differs by {error:.1e} of the largest"


def run_onnxruntime(model, inputs, names=None):
    """The outputs by onnxruntime; None where it has not what the graph needs."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 4, 1
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]).run(names, inputs)
    except Exception:  # pylint: disable=broad-except # what onnxruntime has not is no second opinion
        return None


def evaluate(model, inputs, names):
    """The outputs by ONNX's evaluator; None where it has not what the graph needs."""
    try:
        return ReferenceEvaluator(model, new_ops=[Resize]).run(names, inputs)
    except Exception:  # pylint: disable=broad-except
        return None


def fault_of_narrow(array, wide, others):
    """A result of 16 bits may be `FACTOR` times as far from the wide one as those of others are."""
    scale = max(1.0, np.max(np.abs(wide.astype(np.float64)), initial=0))
    allowed = [np.max(np.abs(other.astype(np.float64) - wide)) / scale for other in others]
    return difference(array, wide.astype(array.dtype), FACTOR * max(allowed, default=0.0))


def other_opinions(g, model, doubted, first):
    """What is wrong with results (by name) that are others than onnxruntime's `first`, which may be None, and ONNX's own
    evaluator's. It is nothing where one opinion agrees."""
    names = list(doubted)
    second = evaluate(model, g.inputs, names)
    opinions = [dict(zip(names, second))] if second else []
    allowed = EVALUATOR if g.float.itemsize == 8 else 0.0
    faults = {name: all(difference(array, each[name], allowed) for each in opinions) and difference(array, (first or opinions[0])[name])
              for name, array in doubted.items()}  # fmt: skip
    if g.float.itemsize == 2 and any(faults.values()):
        wides = []
        for to, run in ((np.float64, evaluate), (np.float32, run_onnxruntime)):
            inputs = {name: array.astype(to) if is_float(array) else array for name, array in g.inputs.items()}
            wides.append(run(widened(model, to), inputs, names))
        wides = [dict(zip(names, wide)) for wide in wides if wide]
        for name in [name for name, fault in faults.items() if fault and is_float(doubted[name])]:
            others = [each[name] for each in [*opinions, *([first] if first else [])]]
            told = [fault_of_narrow(doubted[name], wide[name], others) for wide in wides]
            faults[name] = "" if "" in told else faults[name]
    return faults


def attempt(seed, arguments):
    made = make(seed, arguments.floats, arguments.nodes)
    if not made:
        return "empty", ""
    g, model, outputs = made
    expected = run_onnxruntime(model, g.inputs)
    with tempfile.TemporaryDirectory(prefix="mpc-onnx-graph-") as scratch:
        folder = os.path.join(arguments.keep, str(seed)) if arguments.keep else scratch
        os.makedirs(folder, exist_ok=True)
        path, compiled = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.mpc")
        onnx.save(model, path)
        if arguments.keep:
            np.savez(os.path.join(folder, "x.npz"), **{name: array.astype(np.float32) if array.dtype == FLOATS["bfloat16"] else array for name, array in g.inputs.items()})
        try:
            done = subprocess.run([os.path.join(arguments.binaries, "mpcc"), path, "-o", compiled, "--name=m", "--march=native", "-q", "--cache="],
                                  capture_output=True, text=True, timeout=SECONDS, check=False)  # fmt: skip
        except subprocess.TimeoutExpired:
            return "broken", "mpcc comes to no end"
        if done.returncode == 1:
            return "refused", done.stderr.strip().splitlines()[0]
        if done.returncode != 0:
            return "broken", f"mpcc ended with {done.returncode}: {done.stderr.strip()[-300:]}"
        try:
            got = execution.run_apart(arguments.binaries, compiled, g.inputs, SECONDS)
        except execution.Unfit as unfit:
            return "broken", str(unfit)
    ours = expected or evaluate(model, g.inputs, outputs)
    if ours is None:
        return "unknown", ""
    compared, doubted = 0, {}
    for name, array, wanted in zip(outputs, got, ours):
        if not np.all(np.isfinite(wanted.astype(np.float64))):
            break  # nor does anything behind it say something
        compared += not is_float(wanted) or np.max(np.abs(wanted), initial=0) <= LARGE
        if difference(array, wanted):
            doubted[name] = array
    faults = other_opinions(g, model, doubted, expected and dict(zip(outputs, expected))) if doubted else {}
    for name, fault in faults.items():
        if fault:
            node = next(node for node in g.nodes if name in node.output)
            return "wrong", f"{name} of {node.op_type}: {fault}"
    return ("pass" if compared else "infinite"), ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binaries")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int)
    parser.add_argument("--floats", choices=list(FLOATS), default="float32")
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--keep")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    seeds = [arguments.only] if arguments.only is not None else range(arguments.seed * 1_000_000, arguments.seed * 1_000_000 + arguments.count)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        outcomes = list(pool.map(lambda seed: (seed, *attempt(seed, arguments)), seeds))
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
