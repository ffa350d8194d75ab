# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Derivatives at singular points: every operation of one tensor, and of pairs, where there are divisions, roots,
logarithms and powers of 0, of next to nothing and of much; under each policy against Keras's derivative in float64.

  singular_points.py BIN [POLICY …] [--only REGEX]

The places are numbers of float16 and of bfloat16, so that each dtype answers the same question. An operation has
inputs of its own, and what is derived is the mean of its results. Where float64's derivative, and the one before
the mean, is a number of the compute dtype, that of mpc is one, too, and near it. So it is where nothing of an
operation is used ("unused_"), and a derivative of 0 meets factors that may be anything.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
import keras
import numpy
import tensorflow as tf
from keras import layers, ops

POLICIES = ["float32", "mixed_bfloat16", "mixed_float16", "bfloat16", "float16"]
LARGEST = {"float32": 3e38, "bfloat16": 3e38, "float16": 65504.0}
# Relative, and of a derivative of 1.
TOLERANCE = {"float32": (1e-3, 1e-3), "bfloat16": (0.05, 0.03), "float16": (0.05, 0.03)}
# TensorFlow's own derivative is another than the function's.
TENSORFLOW = {"cumprod": "0 where an element is 0", "fmod": "0 at 0", "unused_reciprocal": "0 at 0, where that of a quotient is not a number"}
# Each operation of the model's author rounds its result to the compute dtype, as Keras's does: the squares leave float16.
ROUNDED = {"float16": ["dot_of_itself", "distance"]}
GROUP = 20  # operations in one model: time to compile grows faster than their number
POINTS = [0.0, 2.0**-14, 2.0**-20, 2.0**-8, 0.5, 1.0, 1.5, 2.0, 240.0, 49152.0]
POINTS = numpy.array(POINTS + [-p for p in POINTS[1:]] + [-0.0], "float64").reshape(-1, 1)
ROWS = [[0, 0, 0, 0], [1, 1, 1, 1], [2.0**-14, 0, 0, 0], [2.0**-20] * 4, [240, 240, 240, -240], [49152, 49152, 1, 0], [1, 0, 0, 0],
        [0.5, -0.5, 1, -1], [2.0**-20, 1, -1, 2.0**-20], [-1, -1, -1, -1], [49152, -49152, 49152, -49152], [0, 0, 1, 1], [2, 2, 0, 0],
        [3, 1, -2, 0.5], [2.0**-14, -(2.0**-14), 2.0**-14, 0], [240, 0, 0, 0], [0, 0, 0, -1], [1.5, 1.5, -1.5, 1.5], [0.5, 0.25, 0.125, 0.125],
        [2.0**-8, 2.0**-8, 0, 1]]  # fmt: skip
ROWS = numpy.array(ROWS, "float64")
OTHERS = numpy.roll(POINTS, 7, axis=0)

# They take one number. The others of the table of operations take no floating tensor alone, or give none.
UNARY = """abs arccos arccosh arcsin arcsinh arctan arctanh celu cos cosh elu erf erfc erfinv exp exp2 expm1 gelu glu hard_shrink hard_sigmoid
hard_silu hard_tanh i0 leaky_relu log log10 log1p log2 log_sigmoid negative reciprocal relu relu6 rsqrt selu sigmoid sign silu sin sinc sinh
soft_shrink softplus softsign sparse_plus sparse_sigmoid sqrt square squareplus tan tanh tanh_shrink cbrt nan_to_num""".split()
BINARY = "divide true_divide divide_no_nan power arctan2 hypot logaddexp logaddexp2 multiply maximum minimum mod fmod subtract copysign".split()
OVER_ROWS = {
    "softmax": {}, "log_softmax": {}, "logsumexp": {"axis": -1}, "norm": {"axis": -1}, "normalize": {"axis": -1}, "std": {"axis": -1},
    "var": {"axis": -1}, "mean": {"axis": -1}, "prod": {"axis": -1}, "max": {"axis": -1}, "min": {"axis": -1}, "cumsum": {"axis": -1}, "cumprod": {"axis": -1},
    "rms_normalization": {}, "sparsemax": {}, "nanmean": {"axis": -1}, "nanstd": {"axis": -1}, "median": {"axis": -1}, "layer_normalization": {},
}  # fmt: skip
ORDERS = {"norm_1": {"ord": 1, "axis": -1}, "norm_inf": {"ord": numpy.inf, "axis": -1}, "norm_3": {"ord": 3, "axis": -1}}
LAYERS = {
    "UnitNormalization": lambda: layers.UnitNormalization(), "LayerNormalization": lambda: layers.LayerNormalization(),
    "RMSNormalization": lambda: layers.RMSNormalization(), "GroupNormalization": lambda: layers.GroupNormalization(2),
    "Softmax": lambda: layers.Softmax(), "PReLU": lambda: layers.PReLU(), "LeakyReLU": lambda: layers.LeakyReLU(), "ELU": lambda: layers.ELU(),
    "Softmax_activation": lambda: layers.Activation("softmax"), "Normalization": lambda: layers.Normalization(mean=0.5, variance=0.0, axis=None),
}  # fmt: skip


def cases():
    """A name, the values of its inputs, and what is called with them."""
    for name in UNARY:
        if hasattr(ops, name):
            yield name, [POINTS if name != "glu" else ROWS], getattr(ops, name)
    for name in BINARY:
        if hasattr(ops, name):
            yield name, [POINTS, OTHERS], getattr(ops, name)
    for exponent in (0.0, 0.5, 1.0, 2.0, 3.0, -1.0, -0.5):
        yield f"power_{exponent}", [POINTS], lambda x, p=exponent: ops.power(x, p)
    for name in [*UNARY, *BINARY]:
        if name != "glu" and hasattr(ops, name):
            given = [POINTS, OTHERS] if name in BINARY else [POINTS]
            yield f"unused_{name}", given, lambda *x, f=getattr(ops, name): ops.where(ops.greater(x[0], 6e4), f(*x), 0.0)
    for exponent in (-1.0, -0.5, 0.5, 3.0):
        yield f"unused_power_{exponent}", [POINTS], lambda x, p=exponent: ops.where(ops.greater(x, 6e4), ops.power(x, p), 0.0)
    yield "exponential_base", [POINTS], lambda x: ops.power(2.0, x)
    for name, options in OVER_ROWS.items():
        if hasattr(ops, name):
            yield name, [ROWS], lambda x, f=getattr(ops, name), o=options: f(x, **o)
    for name, options in ORDERS.items():
        yield name, [ROWS], lambda x, f=getattr(ops, name.rpartition("_")[0]), o=options: f(x, **o)
    for name, make in LAYERS.items():
        yield name, [ROWS], make
    yield "Dot", [ROWS, ROWS[::-1].copy()], lambda: (lambda layer: lambda x, y: layer([x, y]))(layers.Dot(1, normalize=True))
    yield "dot_of_itself", [ROWS], lambda x: ops.sqrt(ops.sum(ops.square(x), axis=-1))
    yield "distance", [POINTS, OTHERS], lambda x, y: ops.sqrt(ops.square(x) + ops.square(y))
    yield "entropy", [POINTS], lambda x: ops.multiply(ops.abs(x), ops.log(ops.abs(x) + 1e-7))


def build(dtype, chosen):
    keras.backend.clear_session()
    keras.config.set_floatx(dtype)
    inputs, outputs, values = [], [], {}
    for name, given, call in chosen:
        keys = [f"{name}__{i}" for i in range(len(given))]
        own = [keras.Input((array.shape[1],), name=key, dtype=dtype) for key, array in zip(keys, given)]
        # Operations run in the dtype of what they are given: a layer in front has the policy.
        cast = [layers.Activation("linear", name=f"in_{key}")(x) for key, x in zip(keys, own)]
        y = (call() if name in LAYERS or name == "Dot" else call)(*cast)
        if len(y.shape) == 1:
            y = ops.expand_dims(y, -1)
        outputs.append(layers.Activation("linear", name=f"out_{name}")(y))
        inputs += own
        values.update(zip(keys, given))
    return keras.Model(inputs, outputs), values


def differentiate(chosen, dtype="float64"):
    """Results by operation, derivatives by input."""
    model, values = build(dtype, chosen)
    tensors = [tf.constant(values[x.name], dtype) for x in model.inputs]
    with tf.GradientTape() as tape:
        tape.watch(tensors)
        outputs = model(tensors, training=False)
        total = tf.add_n([tf.reduce_mean(y) for y in outputs])
    gradients = tape.gradient(total, tensors, unconnected_gradients="zero")
    results = {name: y.numpy() for (name, _, _), y in zip(chosen, outputs)}
    return results, {x.name: g.numpy() for x, g in zip(model.inputs, gradients)}


def compare(policy, result, exact, ours):
    """Where, what was expected and what came; nothing where all agree."""
    dtype = policy.removeprefix("mixed_")
    size, largest = result.size, LARGEST[dtype]
    rows = (numpy.isfinite(result) & (numpy.abs(result) < largest)).reshape(len(result), -1).all(axis=1)
    asked = rows[:, None] & numpy.isfinite(exact) & (numpy.abs(exact) * size < largest)
    relative, absolute = TOLERANCE[dtype]
    with numpy.errstate(invalid="ignore"):
        near = numpy.abs(ours - exact) <= relative * numpy.abs(exact) + absolute / size
    return [f"row {i}: {ours[i, j]:.4g}, expected {exact[i, j]:.4g}" for i, j in numpy.argwhere(asked & ~near)]


def run(folder, *command):
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)}: {result.stderr[-1000:]}")


def check(tools, policies, chosen, folder):
    """Lines about derivatives that are wrong."""
    results, exact = differentiate(chosen)
    for key, single in differentiate(chosen, "float32")[1].items():
        if key.startswith("unused_"):  # what is infinite in float32, too, is asked of nobody
            exact[key] = numpy.where(numpy.isfinite(single), exact[key], numpy.nan)
    model, values = build("float32", chosen)
    # The derivative of mean_absolute_error is that of the mean where the target is far below.
    model.compile("sgd", ["mae"] * len(chosen))
    model.save(os.path.join(folder, "m.keras"))
    targets = {f"y{i}": numpy.full(results[name].shape, -1e30, "float32") for i, (name, _, _) in enumerate(chosen)}
    numpy.savez(os.path.join(folder, "data.npz"), **{key: array.astype("float32") for key, array in values.items()}, **targets)
    lines = []
    for policy in policies:
        run(folder, os.path.join(tools, "mpcc"), "-q", "m.keras", f"--policy={policy}", "--march=native", "--output-guard=off", "--loss-scale=none", "--name=net", "-o", "net")
        run(folder, os.path.join(tools, "mpc-run"), "gradients", "net", "--data", "data.npz", "--outputs", "g.npz")
        ours = dict(numpy.load(os.path.join(folder, "g.npz")))
        lines += judge(policy, chosen, results, exact, ours)
    return lines


def judge(policy, chosen, results, exact, ours):
    lines = []
    for name, given, _ in chosen:
        wrong = []
        for i in range(len(given)):
            wrong += compare(policy, results[name], exact[f"{name}__{i}"], ours[f"gradx:{name}__{i}"].astype("float64"))
        if wrong and name not in TENSORFLOW and name not in ROUNDED.get(policy.removeprefix("mixed_"), []):
            lines.append(f"{policy}: {name}: " + "; ".join(wrong[:4]))
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("policy", nargs="*")
    parser.add_argument("--only", default="", help="regular expression that the operation must match fully")
    arguments = parser.parse_args()
    everything, lines = [case for case in cases() if re.fullmatch(arguments.only or ".*", case[0])], []
    for start in range(0, len(everything), GROUP):
        with tempfile.TemporaryDirectory(prefix="mpc-singular-") as folder:
            found = check(os.path.realpath(arguments.bin), arguments.policy or POLICIES, everything[start : start + GROUP], folder)
        print("".join(line + "\n" for line in found), end="", flush=True)
        lines += found
    print(f"{len(lines)} failed\nran {len(everything) * len(arguments.policy or POLICIES)} tests")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
