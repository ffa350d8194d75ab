# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random nodes for graphs.py, each of which fits the tensors that it reads."""

import collections

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPSET, IR = 23, 11
MOST_ELEMENTS = 4096
FLOATS = {"float32": np.dtype(np.float32), "float64": np.dtype(np.float64), "float16": np.dtype(np.float16), "bfloat16": np.dtype(ml_dtypes.bfloat16)}
INTEGERS = (np.int64, np.int64, np.int32, np.int32, np.int8, np.uint8, np.int16, np.uint16, np.uint32, np.uint64)
Made = collections.namedtuple("Made", "shape dtype exact")


class Graph:
    def __init__(self, seed, floats):
        self.draw = np.random.default_rng(seed)
        self.float = FLOATS[floats]
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
            return self.draw.integers(-3 if np.issubdtype(dtype, np.signedinteger) else 0, 9, shape).astype(dtype)
        return self.draw.normal(size=shape).astype(dtype)

    def constant(self, array):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def add_input(self):
        shape = [int(self.draw.integers(1, 6)) for _ in range(self.draw.integers(1, 5))]
        dtype = self.pick(self.float, self.float, self.float, self.pick(*INTEGERS), np.bool_)
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
        """A node whose results shape inference knows, and whether it stays: it is forgotten where inference does not, or
        where they are too large or empty."""
        results = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        if not self._takes(op, names):
            return False
        self.nodes.append(helper.make_node(op, names, results, name=f"n{len(self.nodes)}", **attributes))
        try:
            inferred = onnx.shape_inference.infer_shapes(self.model(), check_type=True, strict_mode=True, data_prop=True)
        except onnx.shape_inference.InferenceError:
            self.nodes.pop()
            return False
        types = {each.name: each.type.tensor_type for each in inferred.graph.value_info}
        made = {}
        for name in results:
            dims = types[name].shape.dim if name in types and types[name].HasField("shape") else None
            shape = None if dims is None else [each.dim_value if each.HasField("dim_value") else 0 for each in dims]
            if shape is None or 0 in shape or np.prod(shape, dtype=int) > MOST_ELEMENTS:
                self.nodes.pop()
                return False
            made[name] = Made(shape, np.dtype(helper.tensor_dtype_to_np_dtype(types[name].elem_type)), exact)
        self.values.update(made)
        return True

    def name_of(self, op, names, exact):
        """The result of a node that is added; "" where it is not."""
        return f"v{len(self.nodes) - 1}_0" if self.add(op, names, exact) else ""

    def _takes(self, op, names):
        """Whether ONNX defines the operation for the types of what it reads."""
        schema = onnx.defs.get_schema(op, OPSET)
        allowed = {each.type_param_str: each.allowed_type_strs for each in schema.type_constraints}
        for name, described in zip(names, schema.inputs):
            if name in self.values:
                word = helper.tensor_dtype_to_string(helper.np_dtype_to_tensor_dtype(self.values[name].dtype)).split(".")[1].lower()
                if f"tensor({word})" not in allowed.get(described.type_str, [described.type_str]):
                    return False
        return True


def is_float(value):
    return value.dtype in FLOATS.values()


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
        g.add("Where", [condition, first, g.constant(np.full([], 0.5, g.float))], g.values[first].exact and g.values[condition].exact)


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
            g.add("Gemm", [name, g.constant(g.numbers(weights, g.float)), g.constant(g.numbers([4], g.float))], False, transB=transposed, alpha=0.5)
        else:
            g.add("MatMul", [name, g.constant(g.numbers([shape[-1], int(g.draw.integers(1, 5))], g.float))], False)


def normalization(g):
    name = g.find(lambda value: is_float(value) and len(value.shape) >= 2)
    if not name:
        return
    shape = g.values[name].shape
    kind = g.draw.integers(4)
    vector = lambda count: g.constant(g.numbers([count], g.float))  # noqa: E731
    if kind == 0:
        g.add("LayerNormalization", [name, vector(shape[-1]), vector(shape[-1])], False, epsilon=0.1)
    elif kind == 1:
        g.add("InstanceNormalization" if len(shape) > 2 else "LpNormalization", [name, vector(shape[1]), vector(shape[1])] if len(shape) > 2 else [name], False)
    elif kind == 2:
        g.add(g.pick("Softmax", "LogSoftmax"), [name], False, axis=int(g.draw.integers(-len(shape), len(shape))))
    else:
        variance = g.constant(np.abs(g.numbers([shape[1]], g.float)) + g.float.type(0.5))
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
        weights = g.constant(g.numbers([2 * group, shape[1] // group, *kernel], g.float))
        g.add("Conv", [name, weights, g.constant(g.numbers([2 * group], g.float))], False, group=group, **options)
    else:
        weights = g.constant(g.numbers([shape[1], 2, *kernel], g.float))
        g.add("ConvTranspose", [name, weights], False, strides=options["strides"])


def cast(g):
    name = g.find(lambda value: value.exact)
    if name:
        target = np.dtype(g.pick(g.float, *INTEGERS, np.bool_))
        # A float that an integer type cannot hold has no number there.
        if not is_float(g.values[name]) or is_float(Made([], target, True)) or target == np.bool_:
            g.add("Cast", [name], True, to=helper.np_dtype_to_tensor_dtype(target))


def resize(g):
    name = g.find(lambda value: is_float(value) and len(value.shape) in (3, 4))
    if not name:
        return
    shape = g.values[name].shape
    mode = g.pick("nearest", "linear", "cubic")
    place = g.pick("half_pixel", "half_pixel_symmetric", "asymmetric", "align_corners", "pytorch_half_pixel", "tf_crop_and_resize")
    options = {"mode": mode, "coordinate_transformation_mode": place}
    if mode == "nearest":
        options["nearest_mode"] = g.pick("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    else:
        options["antialias"] = int(g.draw.integers(2))
    if mode == "cubic":
        options.update(cubic_coeff_a=g.pick(-0.5, -0.75), exclude_outside=int(g.draw.integers(2)))
    region = ""
    if place == "tf_crop_and_resize":
        # A region as large as the image, moved: the result's extents are those of the scales.
        begin = np.float32([0] * (len(shape) - 2) + [g.pick(0.0, 0.25, -0.125), g.pick(0.0, 0.25)])
        region = g.constant(np.concatenate([begin, begin + np.float32(1)]))
        options["extrapolation_value"] = 0.5
    # With a width that is a fraction ONNX's evaluator takes neighbours beside those that its weights are of, where the
    # coordinate is an integer but for its last bit.
    if place != "half_pixel_symmetric" and g.draw.integers(3):
        scales = np.float32([1] * (len(shape) - 2) + [g.pick(0.25, 0.5, 1, 2), g.pick(0.5, 0.75, 1, 1.5, 2)])
        g.add("Resize", [name, region, g.constant(scales)], False, **options)
    else:
        sizes = np.int64([*shape[:-2], *(g.draw.integers(1, 8) for _ in range(2))])
        g.add("Resize", [name, region, "", g.constant(sizes)], False, **options)


def sample(g):
    name = g.find(lambda value: is_float(value) and len(value.shape) == 4)
    if name:
        grid = g.constant((g.numbers([g.values[name].shape[0], 2, 3, 2], g.float) * g.float.type(0.8)))
        g.add("GridSample", [name, grid], False, mode=g.pick("linear", "nearest", "cubic"), padding_mode=g.pick("zeros", "border", "reflection"),
              align_corners=int(g.draw.integers(2)))  # fmt: skip


def indexing(g):
    name = g.find(lambda value: True)
    if not name:
        return
    shape, exact = g.values[name].shape, g.values[name].exact
    axis = int(g.draw.integers(len(shape)))
    kind = g.draw.integers(6)
    if kind == 0:
        size = [*shape[:axis], int(g.draw.integers(1, 4)), *shape[axis + 1 :]]
        indices = g.draw.integers(-shape[axis], shape[axis], size)
        g.add("GatherElements", [name, g.constant(np.int64(indices))], exact, axis=axis)
    elif kind == 1:
        depth = int(g.draw.integers(1, len(shape) + 1))
        indices = np.stack([g.draw.integers(-extent, extent, [2, 3]) for extent in shape[:depth]], -1)
        g.add("GatherND", [name, g.constant(np.int64(indices))], exact)
    elif kind == 2:
        places = np.argsort(g.draw.random(shape), axis)
        taken = [slice(None)] * len(shape)
        taken[axis] = slice(0, 1)
        places = np.int64(places[tuple(taken)])
        g.add("ScatterElements", [name, g.constant(places), g.constant(g.numbers(places.shape, g.values[name].dtype))], exact, axis=axis)
    elif kind == 3:
        rows = np.int64(g.draw.permutation(shape[0])[: int(g.draw.integers(1, shape[0] + 1))])[:, None]
        g.add("ScatterND", [name, g.constant(rows), g.constant(g.numbers([len(rows), *shape[1:]], g.values[name].dtype))], exact)
    elif kind == 4 and len(shape) > 1:
        g.add("Trilu", [name, g.constant(np.int64(g.draw.integers(-1, 2)))], exact, upper=int(g.draw.integers(2)))
    elif shape[axis] > 1:
        first = int(g.draw.integers(1, shape[axis]))
        g.add("Split", [name, g.constant(np.int64([first, shape[axis] - first]))], exact, outputs=2, axis=axis)


def bounded(g):
    name = g.find(is_float)
    if name:
        value = g.values[name]
        low, high = (g.constant(np.full([], bound, value.dtype)) for bound in (-0.5, 1.5))
        kind = g.draw.integers(4)
        if kind == 0:
            g.add("Clip", [name, low if g.draw.integers(2) else "", high], value.exact)
        elif kind == 1:
            g.add("CumSum", [name, g.constant(np.int64(g.draw.integers(len(value.shape))))], False, exclusive=int(g.draw.integers(2)), reverse=int(g.draw.integers(2)))
        elif kind == 2:
            divisor = g.constant(np.abs(g.numbers(value.shape[-1:], value.dtype)) + value.dtype.type(0.5))
            g.add(g.pick("Div", "PRelu"), [name, divisor], False)
        else:
            g.add(g.pick("Reciprocal", "Sqrt", "Log"), [g.name_of("Clip", [name, g.constant(np.full([], 0.25, value.dtype)), ""], value.exact)], False)


def blocks(g):
    name = g.find(lambda value: is_float(value) and len(value.shape) == 4)
    if name:
        channels, exact = g.values[name].shape[1], g.values[name].exact
        kind = g.draw.integers(4)
        if kind == 0 and channels % 4 == 0:
            g.add("DepthToSpace", [name], exact, blocksize=2, mode=g.pick("DCR", "CRD"))
        elif kind == 1 and all(extent % 2 == 0 for extent in g.values[name].shape[2:]):
            g.add("SpaceToDepth", [name], exact, blocksize=2)
        elif kind == 2:
            g.add(g.pick("GlobalAveragePool", "GlobalMaxPool"), [name], False)
        else:
            groups = channels if g.draw.integers(2) else 1
            scale, bias = (g.constant(g.numbers([channels], g.values[name].dtype)) for _ in range(2))
            g.add("GroupNormalization", [name, scale, bias], False, num_groups=groups, epsilon=0.1)


def integers(g):
    name = g.find(lambda value: value.dtype.kind in "iu")
    if name:
        dtype, shape, exact = g.values[name].dtype, g.values[name].shape, g.values[name].exact
        other = g.constant(g.draw.integers(1, 5, shape[-1:]).astype(dtype))
        g.add(g.pick("Mod", "Div", "Max", "Min", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "Sub", "Pow"), [name, other], exact)


def quantize(g):
    name = g.find(lambda value: is_float(value) and value.exact)
    if name:
        dtype = np.dtype(g.pick(np.int8, np.uint8))
        scale, zero = g.constant(np.full([], 0.0625, g.values[name].dtype)), g.constant(np.asarray(g.draw.integers(0, 5), dtype))
        integer = g.name_of("QuantizeLinear", [name, scale, zero], True)
        if integer:
            g.add("DequantizeLinear", [integer, scale, zero], True)


def recurrence(g):
    name = g.find(lambda value: is_float(value) and len(value.shape) == 3)
    if name:
        op, gates = g.pick(("LSTM", 4), ("GRU", 3), ("RNN", 1))
        direction = g.pick("forward", "reverse", "bidirectional")
        count, hidden, features = 1 + (direction == "bidirectional"), int(g.draw.integers(1, 5)), g.values[name].shape[2]
        sizes = ([count, gates * hidden, features], [count, gates * hidden, hidden], [count, 2 * gates * hidden])
        weights = [g.constant(g.numbers(size, g.values[name].dtype) * g.values[name].dtype.type(0.5)) for size in sizes]
        options = {"linear_before_reset": int(g.draw.integers(2))} if op == "GRU" else {}
        g.add(op, [name, *weights], False, outputs=2, hidden_size=hidden, direction=direction, **options)


def scan(g):
    """A loop over the first axis, whose body keeps a sum and reads a tensor of the graph around it."""
    name = g.find(lambda value: is_float(value) and 2 <= len(value.shape) <= 3)
    if name:
        value, factor = g.values[name], g.constant(g.numbers([1], g.values[name].dtype))
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        info = lambda what: helper.make_tensor_value_info(what, kind, value.shape[1:])  # noqa: E731
        prefix = f"s{len(g.nodes)}_"
        before, each, kept, after, result = (prefix + word for word in ("before", "each", "kept", "after", "result"))
        nodes = [helper.make_node("Mul", [before, factor], [kept]), helper.make_node("Add", [kept, each], [after]), helper.make_node("Tanh", [after], [result])]
        body = helper.make_graph(nodes, "body", [info(before), info(each)], [info(after), info(result)])
        first = g.constant(g.numbers(value.shape[1:], value.dtype))
        # ONNX's evaluator reads forward only.
        g.add("Scan", [first, name], False, outputs=2, body=body, num_scan_inputs=1)


def attention(g):
    name = g.find(lambda value: is_float(value) and len(value.shape) == 4)
    if name:
        batch, heads, _, width = g.values[name].shape
        dtype = g.values[name].dtype
        key, value = (g.constant(g.numbers([batch, heads, 3, extent], dtype)) for extent in (width, 2))
        g.add("Attention", [name, key, value], False, is_causal=int(g.draw.integers(2)), softcap=float(g.draw.integers(2)))


FAMILIES = (unary, unary, step, binary, binary, compare, logic, reduction, largest, movement, movement, movement, pad, product, normalization, window, cast,
            resize, sample, indexing, indexing, bounded, blocks, integers, quantize, recurrence, scan, attention)  # fmt: skip
