# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over so many elements that float16 overflows and bfloat16 loses its digits, drawn at random.

Layers, operations, losses and their gradients under the policies of 16 bits, against real Keras in float64 on the
same (rounded) inputs and weights. mpc may be as far off as a few roundings, or as Keras under the policy; what Keras has finite is finite.
Usage: long_reductions.py BIN [CASES [FIRST]] [--only REGEX] [--keep FOLDER]
"""

import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
import keras
import numpy
import tensorflow as tf
from keras import layers, ops

POLICIES = ["float16", "bfloat16", "mixed_float16", "mixed_bfloat16"]
EPSILON = {"float16": 2.0**-11, "bfloat16": 2.0**-8}
LARGEST = {"float16": 65504.0, "bfloat16": 3e38}
# Results: rounded once at the end, and once or twice on the way there. Gradients pass more layers.
GROUP = 10  # cases in one model: a second to compile for each, and Keras's start for all
ROUNDINGS, GRADIENT_ROUNDINGS = 4, 12


class Draw(random.Random):
    def length(self):
        return self.choice([300, 700, 1500, 2100, 4097, 6000])

    def flag(self):
        return self.random() < 0.5


def cast(x):
    """To the compute dtype, in which operations go on."""
    return layers.Activation("linear")(x)


def operation(call):
    return lambda d, n: (lambda x: call(d, cast(x)), (n, d.randint(1, 3)) if d.flag() else (d.randint(1, 3), n))


def axis_of(x):
    return 1 if x.shape[1] > x.shape[2] else 2


def reduced(function, **options):
    return operation(lambda d, x: function(x, axis=axis_of(x), **options))


def layer(make, *shape):
    """`None` in the shape is the long extent."""
    return lambda d, n: (make(d, n), tuple(n if extent is None else extent for extent in shape))


def masked_average(d, n):
    def call(x):
        mask = ops.less(ops.cumsum(ops.ones_like(x[:, :, 0]), axis=1), n - 100)
        return layers.GlobalAveragePooling1D()(x, mask=mask)

    return call, (n, 2)


KINDS = {
    "sum": reduced(ops.sum),
    "sum_of_all": operation(lambda d, x: ops.sum(x, axis=(1, 2))),
    "mean": reduced(ops.mean),
    "variance": reduced(ops.var),
    "deviation": reduced(ops.std),
    "logsumexp": reduced(ops.logsumexp),
    "norm": reduced(ops.norm),
    "norm_1": reduced(ops.norm, ord=1),
    "average": operation(lambda d, x: ops.average(x, axis=axis_of(x))),
    "cumulative": reduced(ops.cumsum),
    "nansum": reduced(ops.nansum),
    "nanmean": reduced(ops.nanmean),
    "nanstd": reduced(ops.nanstd),
    "softmax": reduced(ops.softmax),
    "log_softmax": reduced(ops.log_softmax),
    "normalize": reduced(ops.normalize),
    "moments": operation(lambda d, x: ops.moments(x, axes=[axis_of(x)])[d.randint(0, 1)]),
    "einsum": operation(lambda d, x: ops.einsum("bij->bj", x)),
    "matmul": operation(lambda d, x: ops.matmul(x, ops.transpose(x, (0, 2, 1))) if axis_of(x) == 2 else ops.matmul(ops.transpose(x, (0, 2, 1)), x)),
    "trapezoid": reduced(ops.trapezoid),
    "rms_norm": operation(lambda d, x: ops.rms_normalization(x, axis=-1)),
    "layer_norm": operation(lambda d, x: ops.layer_normalization(x, axis=-1)),
    "global_average_1d": layer(lambda d, n: layers.GlobalAveragePooling1D(), None, 2),
    "global_average_2d": layer(lambda d, n: layers.GlobalAveragePooling2D(), None, 3, 2),
    "global_average_first": layer(lambda d, n: layers.GlobalAveragePooling1D(data_format="channels_first"), 2, None),
    "masked_average": masked_average,
    "average_pooling": layer(lambda d, n: layers.AveragePooling1D(n // 2), None, 2),
    "layer_normalization": layer(lambda d, n: layers.LayerNormalization(), None),
    "group_normalization": layer(lambda d, n: layers.GroupNormalization(2), None, 4),
    "rms_normalization": layer(lambda d, n: layers.RMSNormalization(), None),
    "unit_normalization": layer(lambda d, n: layers.UnitNormalization(), None),
    "batch_normalization": layer(lambda d, n: layers.BatchNormalization(), None, 2),
    "softmax_layer": layer(lambda d, n: layers.Softmax(), 2, None),
    "dense": layer(lambda d, n: layers.Dense(3, kernel_initializer=keras.initializers.RandomUniform(0.0, 1.0 / n)), None),
    "convolution": layer(lambda d, n: layers.Conv1D(2, n // 2, kernel_initializer=keras.initializers.RandomUniform(0.0, 1.0 / n)), None, 2),
    "depthwise": layer(lambda d, n: layers.DepthwiseConv1D(n // 2, depthwise_initializer=keras.initializers.RandomUniform(0.0, 1.0 / n)), None, 2),
    # With what is not the vector itself: that cosine is 1, and its gradient nothing but roundings.
    "dot": layer(lambda d, n: lambda x: layers.Dot(1, normalize=True)([x, ops.flip(cast(x), axis=1)]), None),
    "cosine": layer(lambda d, n: lambda x: layers.Dot(1, normalize=True)([x, ops.flip(layers.Reshape((n,))(x), axis=1)]), None),
    "attention": layer(lambda d, n: lambda x: layers.Attention()([x, x]), None, 2),
    "average_of_inputs": layer(lambda d, n: lambda x: layers.Average()([x, x, cast(x)]), None),
}
LOSSES = ["mean_squared_error", "mean_absolute_error", "mean_squared_logarithmic_error", "log_cosh", "cosine_similarity", "huber", "poisson", "mean_absolute_percentage_error",
          "kl_divergence", "categorical_crossentropy", "hinge", "squared_hinge"]  # fmt: skip


def as_list(outputs):
    return outputs if isinstance(outputs, (list, tuple)) else [outputs]


def as_float64(tensor):
    return numpy.asarray(tf.cast(tf.convert_to_tensor(tensor), "float64"))


def round_to(values, dtype):
    return tf.cast(tf.cast(values, dtype), "float32").numpy()


def draw_values(d, shape, seed):
    """All positive, so that sums grow: large, or ones whose last digits count."""
    numbers = numpy.random.default_rng(seed)
    high = d.choice([1.01, 2.0, 40.0, 200.0])
    return numbers.uniform(1.0 if high < 2 else high / 4, high, shape).astype("float32")


class Case:
    """One reduction: a branch of a model, from an input of its own to an output."""

    def __init__(self, seed, only):
        self.d = Draw(seed)
        self.policy = self.d.choice(POLICIES)
        names = [name for name in [*KINDS, *LOSSES] if not only or re.fullmatch(only, name)]
        self.kind = self.d.choice(names)
        self.rows = self.d.choice([2, 40])
        self.seed = seed
        self.name = f"{seed} {self.kind} {self.policy}"

    def add(self, index, dtype):
        """The branch's input and output, and the loss of that."""
        d = Draw(self.seed + 1)
        n = d.length() // (4 if self.kind in ("attention", "matmul") else 1)
        call, shape = KINDS[self.kind](d, n) if self.kind in KINDS else (None, (n,))
        x = keras.Input(shape, name=f"x{index}", dtype=dtype)
        letters = "ijk"[: len(shape)]
        scale = layers.EinsumDense(f"b{letters},{letters[-1]}->b{letters}", shape, kernel_initializer="ones", name=f"scale{index}")
        y = scale(x)
        return x, call(y) if call else y, "mse" if call else self.kind

    def target(self, shape):
        """A loss has targets of its own; the others are trained to what follows from their results."""
        if self.kind in KINDS:
            return None
        values = draw_values(self.d, shape, self.seed + 2)
        return values / values.sum(-1, keepdims=True) if self.kind in ("kl_divergence", "categorical_crossentropy") else values


class Group:
    """Cases of one policy and one batch, in one model."""

    def __init__(self, cases):
        self.cases, self.policy = cases, cases[0].policy
        self.dtype = self.policy.removeprefix("mixed_")
        self.trains = self.policy.startswith("mixed_")

    def build(self, policy):
        keras.backend.clear_session()
        keras.config.set_dtype_policy(policy)
        keras.utils.set_random_seed(self.cases[0].seed)
        dtype = "float64" if policy == "float64" else "float32"
        inputs, outputs, losses = zip(*[case.add(i, dtype) for i, case in enumerate(self.cases)])
        model = keras.Model(list(inputs), list(outputs))
        model.compile(keras.optimizers.SGD(0.1), list(losses))
        self.losses = losses
        self.owners = {layer.name: i for i, (x, y) in enumerate(zip(inputs, outputs)) for layer in keras.Model(x, y).layers}
        return model

    def run_keras(self, policy, xs, ys, weights):
        """Predictions, losses and gradients; `ys` are targets, or nothing where they follow from the results."""
        model = self.build(policy)
        model.set_weights(weights)
        inputs = [tf.constant(x, "float64" if policy == "float64" else "float32") for x in xs]
        predicted = as_list(model(inputs, training=False))  # before training moves statistics
        wide = "float64" if policy == "float64" else "float32"
        with tf.GradientTape() as tape:
            outputs = as_list(model(inputs, training=True))
            targets = [tf.zeros(y.shape, wide) if t is None else tf.constant(t, wide) for t, y in zip(ys, outputs)]
            losses = [keras.losses.get(kind)(t, tf.cast(y, wide)) for kind, t, y in zip(self.losses, targets, outputs)]
            losses = [tf.reduce_mean(loss) for loss in losses]
            total = tf.add_n(losses)
        gradients = tape.gradient(total, [v.value for v in model.trainable_variables])
        return model, [as_float64(y) for y in predicted], [float(loss) for loss in losses], [as_float64(g) for g in gradients]

    def check(self, tools, folder):
        """Lists for each case what is wrong with it."""
        model = self.build(self.policy)
        cases = self.cases
        xs = [round_to(draw_values(case.d, (case.rows, *x.shape[1:]), case.seed), self.dtype) for case, x in zip(cases, model.inputs)]
        weights = [round_to(w, self.dtype) if not self.trains else w for w in model.get_weights()]
        ys = [case.target((case.rows, *y.shape[1:])) for case, y in zip(cases, model.outputs)]
        if any(y is None for y in ys):
            _, exact, _, _ = self.run_keras("float64", xs, ys, weights)
            ys = [(e * 0.75).astype("float32") if y is None else y for y, e in zip(ys, exact)]
        _, exact, losses, gradients = self.run_keras("float64", xs, ys, weights)
        model, theirs, their_losses, their_gradients = self.run_keras(self.policy, xs, ys, weights)
        model.set_weights(weights)
        path, data = os.path.join(folder, "m.keras"), os.path.join(folder, "data.npz")
        model.save(path)
        given = {f"x{i}": x for i, x in enumerate(xs)}
        numpy.savez(os.path.join(folder, "x.npz"), **given)
        numpy.savez(data, **given, **{f"y{i}": y for i, y in enumerate(ys)})
        compiled = os.path.join(folder, "m.mpc")
        tools.run("mpcc", "-q", path, "--output-guard=off", "--march=native", "-o", compiled)
        tools.run("mpc-run", "predict", compiled, "--inputs", os.path.join(folder, "x.npz"), "--outputs", os.path.join(folder, "y.npz"))
        ours = dict(numpy.load(os.path.join(folder, "y.npz")))
        wrong = [[self.compare("output", ours[f"out{i}"], exact[i], theirs[i], ROUNDINGS)] for i in range(len(cases))]
        if self.trains:
            out = os.path.join(folder, "g.npz")
            tools.run("mpc-run", "gradients", compiled, "--data", data, "--outputs", out)
            arrays = dict(numpy.load(out))
            said = json.loads(tools.run("mpc-run", "evaluate", compiled, "--data", data, "--batch-size", str(cases[0].rows), "--json"))
            for i, case in enumerate(cases):
                if case.kind in LOSSES:
                    wrong[i].append(self.compare("loss", said["loss" if len(cases) == 1 else f"scale{i}_loss"], losses[i], their_losses[i], ROUNDINGS))
            for variable, gradient, their_gradient in zip(model.trainable_variables, gradients, their_gradients):
                self.compare_gradient(variable, arrays, gradient, their_gradient, wrong)
        return [[text for text in texts if text] for texts in wrong]

    def compare_gradient(self, variable, arrays, exact, theirs, wrong):
        key = next((key for key in arrays if key.partition(":")[2] == variable.path or key.endswith("/" + variable.path)), None)
        # Only a branch's own loss reads its variables: the layer `scale<index>` and those behind it.
        owner = self.owners[variable.path.partition("/")[0]]
        wrong[owner].append(f"no gradient of {variable.path} among {list(arrays)}" if key is None else
                            self.compare(variable.path, arrays[key], exact, theirs, GRADIENT_ROUNDINGS))  # fmt: skip

    def compare(self, what, ours, exact, theirs, roundings):
        ours, exact, theirs = (numpy.asarray(array, "float64") for array in (ours, exact, theirs))
        if ours.shape != exact.shape:
            return f"{what}: shape {ours.shape}, expected {exact.shape}"
        held = numpy.abs(exact) < 0.99 * LARGEST[self.dtype]
        if not held.any():
            return ""
        scale = numpy.abs(exact[held]).max()
        error = numpy.abs(ours - exact)[held]
        error = numpy.inf if not numpy.isfinite(error).all() else error.max()
        their_error = numpy.abs(theirs - exact)[held]
        their_error = numpy.inf if not numpy.isfinite(their_error).all() else their_error.max()
        allowed = max(roundings * EPSILON[self.dtype] * scale, 1.5 * their_error)
        if error <= allowed:
            return ""
        return f"{what}: {error / scale:.3g} off, relative to the largest; Keras in the same policy {their_error / scale:.3g}"


class Tools:
    def __init__(self, folder):
        self.folder = folder

    def run(self, name, *arguments):
        result = subprocess.run([os.path.join(self.folder, name), *arguments], capture_output=True, text=True, timeout=300)
        if result.returncode:
            raise RuntimeError(f"{name}: {result.stderr.strip()[-600:]}")
        return result.stdout


def check(cases, tools, keep):
    """Pairs of a case and what is wrong with it. Where the model of many cannot be checked, that of each is."""
    folder = tempfile.mkdtemp(prefix="mpc-reductions-")
    try:
        results = list(zip(cases, Group(cases).check(tools, folder)))
    except Exception as error:  # the run goes on
        results = [(cases[0], [f"{type(error).__name__}: {error}"])] if len(cases) == 1 else None
    if keep and (results is None or any(wrong for _, wrong in results)):
        shutil.copytree(folder, os.path.join(keep, str(cases[0].seed)), dirs_exist_ok=True)
    shutil.rmtree(folder)
    return results if results is not None else [result for case in cases for result in check([case], tools, keep)]


def groups_of(cases):
    """At most GROUP cases of one policy and one batch each."""
    kinds = {}
    for case in cases:
        kinds.setdefault((case.policy, case.rows), []).append(case)
    for alike in kinds.values():
        for start in range(0, len(alike), GROUP):
            yield alike[start : start + GROUP]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("cases", nargs="?", type=int, default=160)
    parser.add_argument("first", nargs="?", type=int, default=0)
    parser.add_argument("--only", help="regular expression that the kind must match fully")
    parser.add_argument("--keep", help="folder for the files of failed cases")
    arguments = parser.parse_args()
    tools, failed, ran = Tools(arguments.bin), 0, 0
    cases = [Case(seed, arguments.only) for seed in range(arguments.first, arguments.first + arguments.cases)]
    for group in groups_of(cases):
        for case, wrong in check(group, tools, arguments.keep):
            ran += 1
            if wrong:
                failed += 1
                print(f"{case.name}: " + "; ".join(wrong), flush=True)
    print(f"{failed} failed\nran {ran} tests")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
