# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reductions over so many elements that float16 overflows and bfloat16 loses its digits, drawn at random.

Layers, operations, losses and their gradients under the policies of 16 bits, against real Keras in float64 on the
same (rounded) inputs and weights. mpc may be as far off as a few roundings, or as Keras under the policy; what Keras has finite is finite.
Usage: long_reductions.py BIN [CASES [FIRST]] [--only REGEX] [--keep FOLDER]
"""

import argparse
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
    "dot": layer(lambda d, n: lambda x: layers.Dot(1, normalize=True)([x, cast(x)]), None),
    "cosine": layer(lambda d, n: lambda x: layers.Dot(1, normalize=True)([x, layers.Reshape((n,))(x)]), None),
    "attention": layer(lambda d, n: lambda x: layers.Attention()([x, x]), None, 2),
    "average_of_inputs": layer(lambda d, n: lambda x: layers.Average()([x, x, cast(x)]), None),
}
LOSSES = ["mean_squared_error", "mean_absolute_error", "mean_squared_logarithmic_error", "log_cosh", "cosine_similarity", "huber", "poisson", "mean_absolute_percentage_error",
          "kl_divergence", "categorical_crossentropy", "hinge", "squared_hinge"]  # fmt: skip


def round_to(values, dtype):
    return tf.cast(tf.cast(values, dtype), "float32").numpy()


def draw_values(d, shape, seed):
    """All positive, so that sums grow: large, or ones whose last digits count."""
    numbers = numpy.random.default_rng(seed)
    high = d.choice([1.01, 2.0, 40.0, 200.0])
    return numbers.uniform(1.0 if high < 2 else high / 4, high, shape).astype("float32")


class Case:
    def __init__(self, seed, only):
        self.d = Draw(seed)
        self.policy = self.d.choice(POLICIES)
        self.dtype = self.policy.removeprefix("mixed_")
        names = [name for name in [*KINDS, *LOSSES] if not only or re.fullmatch(only, name)]
        self.kind = self.d.choice(names)
        self.seed, self.trains = seed, self.policy.startswith("mixed_")
        self.name = f"{seed} {self.kind} {self.policy}"

    def build(self, policy):
        keras.backend.clear_session()
        keras.config.set_dtype_policy(policy)
        keras.utils.set_random_seed(self.seed)
        d = Draw(self.seed + 1)
        n = d.length() // (4 if self.kind in ("attention", "matmul") else 1)
        if self.kind in KINDS:
            call, shape = KINDS[self.kind](d, n)
            x = keras.Input(shape, name="x", dtype="float64" if policy == "float64" else "float32")
            letters = "ijk"[: len(shape)]
            y = call(layers.EinsumDense(f"b{letters},{letters[-1]}->b{letters}", shape, kernel_initializer="ones", name="scale")(x))
            model = keras.Model(x, y)
            model.compile(keras.optimizers.SGD(0.1), "mse")
        else:
            x = keras.Input((n,), name="x", dtype="float64" if policy == "float64" else "float32")
            model = keras.Model(x, layers.EinsumDense("bi,i->bi", (n,), kernel_initializer="ones", name="scale")(x))
            model.compile(keras.optimizers.SGD(0.1), self.kind)
        return model

    def run_keras(self, policy, x, y, weights):
        model = self.build(policy)
        if weights:
            model.set_weights(weights)
        inputs = tf.constant(x, "float64" if policy == "float64" else "float32")
        predicted = model(inputs, training=False)  # before training moves statistics
        with tf.GradientTape() as tape:
            outputs = model(inputs, training=True)
            target = y if y is not None else tf.zeros_like(outputs) + tf.cast(tf.reduce_mean(tf.cast(outputs, "float32")), outputs.dtype)
            loss = model.compute_loss(x=inputs, y=target, y_pred=outputs)
        gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
        return model, numpy.asarray(tf.cast(predicted, "float64")), float(loss), [numpy.asarray(tf.cast(tf.convert_to_tensor(g), "float64")) for g in gradients]

    def check(self, tools, folder):
        probe = self.build(self.policy)
        shape = (self.d.choice([2, 40]), *probe.inputs[0].shape[1:])
        x = round_to(draw_values(self.d, shape, self.seed), self.dtype)
        model = self.build(self.policy)
        weights = [round_to(w, self.dtype) if not self.trains else w for w in model.get_weights()]
        target = None
        if self.kind in LOSSES:
            target = draw_values(self.d, (shape[0], *model.outputs[0].shape[1:]), self.seed + 2)
            if self.kind in ("kl_divergence", "categorical_crossentropy"):
                target = target / target.sum(-1, keepdims=True)
        _, exact, loss, gradients = self.run_keras("float64", x, target, weights)
        if target is None:
            target = numpy.broadcast_to(exact * 0.75, exact.shape).astype("float32")
            _, exact, loss, gradients = self.run_keras("float64", x, target, weights)
        model, theirs, their_loss, their_gradients = self.run_keras(self.policy, x, target, weights)
        model.set_weights(weights)
        path = os.path.join(folder, "m.keras")
        model.save(path)
        numpy.savez(os.path.join(folder, "x.npz"), x0=x)
        numpy.savez(os.path.join(folder, "data.npz"), x0=x, y0=target)
        compiled = os.path.join(folder, "m.mpc")
        tools.run("mpcc", "-q", path, "--output-guard=off", "--march=native", "-o", compiled)
        tools.run("mpc-run", "predict", compiled, "--inputs", os.path.join(folder, "x.npz"), "--outputs", os.path.join(folder, "y.npz"))
        ours = next(iter(numpy.load(os.path.join(folder, "y.npz")).values())).astype("float64")
        wrong = [self.compare("output", ours, exact, theirs, ROUNDINGS)]
        if self.trains:
            out = os.path.join(folder, "g.npz")
            tools.run("mpc-run", "gradients", compiled, "--data", os.path.join(folder, "data.npz"), "--outputs", out)
            arrays = dict(numpy.load(out))
            if self.kind in LOSSES:
                wrong.append(self.compare("loss", numpy.float64(arrays["loss"]), numpy.float64(loss), numpy.float64(their_loss), ROUNDINGS))
            for variable, gradient, their_gradient in zip(model.trainable_variables, gradients, their_gradients):
                key = next((key for key in arrays if key.endswith(variable.path)), None)
                wrong.append(f"no gradient of {variable.path} among {list(arrays)}" if key is None else
                             self.compare(variable.path, arrays[key].astype("float64"), gradient, their_gradient, GRADIENT_ROUNDINGS))  # fmt: skip
        return [text for text in wrong if text]

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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bin")
    parser.add_argument("cases", nargs="?", type=int, default=160)
    parser.add_argument("first", nargs="?", type=int, default=0)
    parser.add_argument("--only", help="regular expression that the kind must match fully")
    parser.add_argument("--keep", help="folder for the files of failed cases")
    arguments = parser.parse_args()
    tools, failed = Tools(arguments.bin), 0
    for seed in range(arguments.first, arguments.first + arguments.cases):
        case = Case(seed, arguments.only)
        folder = tempfile.mkdtemp(prefix="mpc-reductions-")
        try:
            wrong = case.check(tools, folder)
        except Exception as error:  # the run goes on
            wrong = [f"{type(error).__name__}: {error}"]
        if wrong:
            failed += 1
            print(f"{case.name}: " + "; ".join(wrong), flush=True)
            if arguments.keep:
                shutil.copytree(folder, os.path.join(arguments.keep, str(seed)), dirs_exist_ok=True)
        shutil.rmtree(folder)
    print(f"{failed} failed\nran {arguments.cases} tests")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
