# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random models under quantized policies, run and trained by real Keras and by mpc.

Three ways to such a model: a floating model that Keras quantizes and saves; a floating model that mpcc quantizes
(--policy) and Keras with `quantize`; layers that are made with a quantized policy. int8 (with and without quantized
activations, other ranges), int4 (per channel, in blocks), float8 from every source policy, of all layers or some,
some with LoRA weights. Predictions, and after a few steps losses, weights, integers, scales and histories are compared.
Case N is the same in every run. Usage: quantized_models.py BIN [MODELS [FIRST]] [--keep FOLDER]
"""

import os
import random
import sys
import tempfile
import warnings

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import numpy
import real_keras
from keras import layers, losses, optimizers, quantizers

SOURCES = ["float32", "mixed_bfloat16", "float32", "mixed_float16", "float32", "bfloat16", "float64"]
# Relative to the array's root mean square: (largest difference, its root mean square) of predictions and losses; of
# trained variables to how far they moved. A rounding of an activation to the other integer moves an output by a
# hundredth.
LIMITS = {
    ("int", "float32"): (1e-2, 1e-3, 1e-2),
    ("int", "float64"): (1e-2, 1e-3, 1e-2),
    ("int", "16"): (1e-1, 2e-2, 2e-1),
    ("weights", "float32"): (2e-5, 5e-6, 5e-4),
    ("weights", "float64"): (2e-7, 5e-8, 5e-4),
    ("weights", "16"): (1e-1, 2e-2, 2e-1),
    ("float8", "float32"): (1e-1, 1e-2, 1e-1),
    ("float8", "float64"): (1e-1, 1e-2, 1e-1),
    ("float8", "16"): (2e-1, 4e-2, 3e-1),
}


def misplaces(equation, shape, bias):
    """Whether Keras on TensorFlow adds the bias along another axis than its own, since one of its extents alone is above 1 and the
    second or the last one of the output is equal to it (docs/numerics.md)."""
    axes = equation.split("->")[1][-len(shape):]
    long = [place for place, axis in enumerate(axes) if axis in bias and shape[place] > 1]
    if len(long) != 1:
        return False
    taken = len(shape) - 1 if shape[-1] == shape[long[0]] else 0 if shape[0] == shape[long[0]] else long[0]
    return taken != long[0]


class Builder:
    def __init__(self, draw, dtype):
        self.draw, self.dtype = draw, dtype

    def options(self):
        return {"dtype": self.dtype()}

    def activation(self):
        return self.draw.choice(["relu", "tanh", None, "gelu", "sigmoid"])

    def dense(self, x, units=None):
        d = self.draw
        return layers.Dense(units or d.randrange(1, 20), use_bias=d.random() < 0.8, activation=self.activation(), **self.options())(x)

    def einsum(self, x):
        d, width = self.draw, x.shape[-1]
        steps, e, f = x.shape[1], d.randrange(1, 9), d.randrange(1, 5)
        equation, shape, bias = d.choice([
            ("abc,cd->abd", (None, e), "d"), ("abc,cde->abde", (None, e, f), "de"), ("...x,xy->...y", (e,), "y"),
            ("abc,cd->adb", (e, None), "d"), ("abc,bcd->ad", (e,), "d"), ("abc,cde->abed", (None, f, e), "ed"),
            ("abc,bd->acd", (None, e), "d"), ("abc,bcd->abd", (None, e), "d"), ("abc,bdc->abd", (None, e), "d"), ("abc,cdb->adb", (e, None), "d"),
        ])  # fmt: skip
        shape = tuple((steps if equation.endswith(("abd", "abde", "abed", "adb")) else width) if n is None else n for n in shape)
        if equation.startswith("..."):
            shape = (steps, e)
        bias = d.choice([bias, bias, None])
        if bias and misplaces(equation, shape, bias):
            bias = None
        x = layers.EinsumDense(equation, shape, bias_axes=bias, activation=self.activation(), **self.options())(x)
        if len(x.shape) == 4 and d.random() < 0.6:
            a, b = x.shape[2:]
            x = layers.EinsumDense("abcd,cde->abe", (steps, d.randrange(1, 9)), bias_axes="e", **self.options())(x)
        if len(x.shape) == 4:
            x = layers.Reshape((x.shape[1], x.shape[2] * x.shape[3]), dtype=self.dtype(plain=True))(x)
        if len(x.shape) == 2:
            x = layers.Reshape((1, x.shape[1]), dtype=self.dtype(plain=True))(x)
        return x

    def attention(self, x):
        d = self.draw
        if d.random() < 0.3:
            groups = d.randrange(1, 3)
            layer = layers.GroupQueryAttention(d.randrange(1, 5), groups * d.randrange(1, 3), groups, use_bias=d.random() < 0.5, **self.options())
        else:
            layer = layers.MultiHeadAttention(d.randrange(1, 4), d.randrange(1, 6), use_bias=d.random() < 0.5, **self.options())
        return layer(x, x)

    def sequence(self, x):
        d = self.draw
        for _ in range(d.randrange(1, 4)):
            kind = d.randrange(7)
            if kind == 0:
                x = self.einsum(x)
            elif kind == 1:
                x = self.attention(x)
            elif kind == 4:  # which has no quantized form, but LoRA
                x = layers.Conv1D(d.randrange(1, 9), d.randrange(1, 4), padding="same", activation=self.activation(), dtype=self.dtype(plain=True))(x)
            elif kind == 2:
                x = layers.LayerNormalization(dtype=self.dtype(plain=True))(x)
            elif kind == 3 and x.shape[-1] == self.width(x):
                x = layers.Add(dtype=self.dtype(plain=True))([x, self.dense(x, x.shape[-1])])
            else:
                x = self.dense(x)
        return d.choice([layers.GlobalAveragePooling1D, layers.Flatten])(dtype=self.dtype(plain=True))(x)

    @staticmethod
    def width(x):
        return x.shape[-1]

    def vector(self, x):
        for _ in range(self.draw.randrange(0, 4)):
            x = self.dense(x, self.draw.choice([None, None, 33, 64]))
        return x

    def model(self):
        """(model, its data as a function of rows and numpy generator)."""
        d, kind = self.draw, self.draw.choice(["sequence", "ids", "vector", "vector", "tied"])
        floating = "float64" if "float64" in str(self.dtype(plain=True)) else "float32"
        if kind in ("ids", "tied"):
            shape, vocabulary, width = (d.randrange(2, 6),), d.randrange(4, 25), d.randrange(1, 12)
            inputs = keras.Input(shape, dtype="int32")
            if kind == "ids":
                x = layers.Embedding(vocabulary, width, **self.options())(inputs)
                x = self.sequence(x)
            else:
                tied = layers.ReversibleEmbedding(
                    vocabulary, width, tie_weights=d.random() < 0.5, reverse_dtype=d.choice([None, None, "float32"]),
                    logit_soft_cap=d.choice([None, None, 3.0]), **self.options())  # fmt: skip
                x = tied(inputs)
                if d.random() < 0.7:
                    x = self.dense(x, width)
                x = tied(x, reverse=True)
                x = layers.Flatten(dtype=self.dtype(plain=True))(x)
            data = lambda rows, n: n.randint(0, vocabulary, size=(rows, *shape)).astype("int32")
        else:
            shape = (d.randrange(2, 6), d.randrange(1, 12)) if kind == "sequence" else (d.randrange(1, 40),)
            inputs = keras.Input(shape, dtype=floating)
            x = self.sequence(inputs) if kind == "sequence" else self.vector(inputs)
            data = lambda rows, n: n.randn(rows, *shape).astype("float32")
        outputs = layers.Dense(3, name="head", **self.options())(x)
        return keras.Model(inputs, outputs), data


def randomize(model, numbers):
    """Kernels of every sign and of one, values for layers that are made quantized."""
    for variable in model.variables:
        if "history" in variable.path or "seed" in variable.path:
            continue
        shape = tuple(variable.shape)
        if variable.dtype == "int8":
            zero = variable.name.endswith("zero")
            variable.assign(numbers.randint(-8 if zero else -127, 8 if zero else 128, size=shape).astype("int8"))
        elif variable.name.endswith("g_idx"):
            pass
        elif variable.name.endswith("_zero"):
            variable.assign(numbers.randint(-8, 8, size=shape).astype("float32"))
        elif variable.name.endswith("_scale") and variable.path.count("kernel_scale") + variable.path.count("embeddings_scale"):
            # int8 divides by it, blocks of int4 multiply.
            variable.assign(numbers.uniform(60, 400, size=shape) if len(shape) != 2 else numbers.uniform(0.01, 0.1, size=shape))
        elif not variable.name.endswith(("inputs_scale", "outputs_grad_scale", "kernel_scale")):
            variable.assign(numbers.randn(*shape) * 0.4 + numbers.choice([0.0, 0.0, 0.3]))


def form(draw, source):
    """(name of the policy's mode, what Keras's quantize takes)."""
    kinds = ["int8", "int8", "int4", "int4", "blocks", "blocks", "weights", "float8"]
    if draw.random() < 0.1:
        kinds = ["range"]
    kind = draw.choice(kinds)
    if "float16" in source.replace("bfloat16", "") and kind in ("int8", "weights", "range"):
        kind = draw.choice(["int4", "blocks", "float8"])
    if kind == "int8":
        return "int", "int8", None
    if kind == "weights":
        return "weights", "int8", quantizers.Int8QuantizationConfig(activation_quantizer=None)
    if kind == "range":
        low, high = draw.choice([(-127, 127), (-63, 63), (-128, 127)])
        return "int", "int8", quantizers.Int8QuantizationConfig(activation_quantizer=quantizers.AbsMaxQuantizer(axis=-1, value_range=(low, high)))
    if kind == "int4":
        return "weights", "int4", quantizers.Int4QuantizationConfig(block_size=-1)
    if kind == "blocks":
        return "weights", "int4", quantizers.Int4QuantizationConfig(block_size=draw.choice([1, 2, 3, 4, 7, 16, 128]))
    return "float8", "float8", None


def policy_name(mode, config, source):
    return f"int4/{config.block_size}_from_{source}" if mode == "int4" else f"{mode}_from_{source}"


def quantize(model, mode, config, filters=None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.quantize(mode, config=config, **({"filters": filters} if filters else {}))


def difference(got, expected, limits, scale=None):
    got, expected = numpy.float64(got), numpy.float64(expected)
    if got.shape != expected.shape or not numpy.array_equal(numpy.isfinite(got), numpy.isfinite(expected)):
        return float("inf")
    error = numpy.abs(got - expected)[numpy.isfinite(expected)]
    if not error.size:
        return 0.0
    scale = scale or numpy.sqrt(numpy.mean(expected[numpy.isfinite(expected)] ** 2)) or 1.0
    return max(numpy.max(error) / limits[0], numpy.sqrt(numpy.mean(error**2)) / limits[1]) / scale


def check(number, tools, folder, steps=4, batch=6):
    draw, numbers = random.Random(number), numpy.random.RandomState(number)
    source = SOURCES[number % len(SOURCES)]
    kind, mode, config = form(draw, source)
    way = draw.choice(["file", "file", "policy", "made"])
    keras.utils.set_random_seed(number)
    keras.config.set_dtype_policy("float32")
    if mode == "int8" and config is not None and way != "file":
        way = "file"
    name = policy_name(mode, config, source)
    some = draw.random() < 0.4

    def dtype(plain=False):
        if plain or way != "made" or (some and draw.random() < 0.5):
            return source
        return keras.dtype_policies.get(name) if mode != "float8" else keras.dtype_policies.QuantizedFloat8DTypePolicy("float8", source, amax_history_length=3)

    what = f"model {number} {way} {name}{'' if kind != 'weights' or mode != 'int8' else ' weights'}"
    path, npz = os.path.join(folder, "model.keras"), os.path.join(folder, "data.npz")
    options = []
    try:
        model, make = Builder(draw, dtype).model()
        randomize(model, numbers)
        # Keras's Adam computes in the variables' dtype, in which bfloat16 has 1 for 0.999.
        optimizer = draw.choice([optimizers.SGD(0.05, momentum=0.9), optimizers.Adam(0.003, epsilon=1e-4) if source != "bfloat16" else optimizers.SGD(0.1)])
        loss = draw.choice([losses.MeanSquaredError(), losses.Huber()])
        # Keras's float16 training. Without it gradients of single units of float16's smallest number come up, and whether the
        # float8 state keeps its scale or takes 1e-12 hangs on the last bit of a softmax that Keras computes in float16.
        if kind == "float8" and source == "mixed_float16":
            optimizer = optimizers.LossScaleOptimizer(optimizer, initial_scale=1024)
        model.compile(optimizer, loss=loss, run_eagerly=True)
        if way == "policy":
            model.save(path)
            options = [f"--policy={name}"]
            loaded = keras.saving.load_model(path)
            quantize(loaded, mode, config)
        else:
            if way == "file":
                quantize(model, mode, config, "head|dense|einsum|query|value" if some else None)
            if draw.random() < 0.3:
                enable_lora(model, draw)
            model.compile(optimizer, loss=model.loss, run_eagerly=True)
            model.save(path)
            loaded = keras.saving.load_model(path)
            what += " lora" if any(getattr(layer, "lora_enabled", False) for layer in loaded._flatten_layers()) else ""
        lora = [v for v in loaded.trainable_variables if "lora" in v.path]
        for variable in lora:  # which Keras has made zero
            variable.assign(numbers.randn(*variable.shape) * 0.2)
        # TensorFlow cannot differentiate the float8 layers eagerly.
        loaded.compile(type(optimizer).from_config(optimizer.get_config()), loss=loaded.loss, run_eagerly=kind != "float8", jit_compile=False)
        data = {"x0": make(steps * batch, numbers), "y0": numbers.randn(steps * batch, *loaded.outputs[0].shape[1:]).astype("float32")}
        before = {v.path: numpy.float64(v.numpy()) if v.dtype == "bfloat16" else v.numpy() for v in loaded.variables if not v.path.endswith("seed_generator_state")}
        merged = {}
        if lora:  # saving adds the factors to the kernels
            loaded.save(os.path.join(folder, "merged.keras"))
            merged = {v.path: v.numpy() for v in keras.saving.load_model(os.path.join(folder, "merged.keras"), compile=False).variables}
        predictions, logs, after, moved = real_keras.reference(loaded, data, 0, batch)
        refusal = None
        try:
            _, logs, after, moved = real_keras.reference(loaded, data, steps if loaded.trainable_variables else 0, batch)
        except Exception as error:  # of 16-bit gradients of float32 ones, for instance
            refusal = error
    except Exception as error:  # Keras's refusals have many types
        if os.environ.get("TRACE"):
            raise
        print(f"skip {what}: Keras: {type(error).__name__} {str(error).strip().splitlines()[-1][:150]}")
        return None
    classes = sorted({type(layer).__name__ for layer in model.layers if not isinstance(layer, layers.InputLayer)})
    what += f" {type(model.optimizer).__name__} {' '.join(classes)}"
    numpy.savez(npz, **data)
    compiled = os.path.join(folder, "model.mpc")
    mpcc, mpc_run = os.path.join(tools, "mpcc"), os.path.join(tools, "mpc-run")
    output, trace = os.path.join(folder, "out.npz"), os.path.join(folder, "trace.npz")
    scaled = isinstance(loaded.optimizer, optimizers.LossScaleOptimizer)
    options.append(f"--loss-scale={'auto' if scaled else 'none'}")
    real_keras.run(mpcc, path, "--output-guard=off", "--march=native", "--name=model", "-o", compiled, *options)
    weights = []
    if lora:
        numpy.savez(os.path.join(folder, "weights.npz"), **before)
        real_keras.run(os.path.join(tools, "mpc-convert"), os.path.join(folder, "weights.npz"), "-o", os.path.join(folder, "weights.safetensors"))
        weights = ["--weights", os.path.join(folder, "weights.safetensors")]
    real_keras.run(mpc_run, "predict", compiled, "--inputs", npz, "--outputs", output, *weights)
    width = source if source in ("float32", "float64") else "16"
    most, mean, trained_limit = LIMITS[kind, width]
    errors = {f"out{i}": difference(numpy.load(output)[f"out{i}"], value, (most, mean)) for i, value in enumerate(predictions)}
    if merged:
        real_keras.run(os.path.join(tools, "mpc-convert"), weights[1], "--model", path, "-o", os.path.join(folder, "converted.keras"))
        for variable in keras.saving.load_model(os.path.join(folder, "converted.keras"), compile=False).variables:
            value = numpy.float64(merged[variable.path])
            error = numpy.abs(numpy.float64(variable.numpy()) - value)
            # Another order of the factors' sums may round a number to its neighbour, of a packed pair to another pair.
            if variable.dtype == "int8":
                few = numpy.count_nonzero(error) <= 1 + error.size // 100
                errors[f"merged:{variable.path}"] = 0.0 if few else float("inf")
            else:
                errors[f"merged:{variable.path}"] = numpy.max(error, initial=0) / (1e-5 if width != "16" else 2e-2) / max(1e-3, numpy.max(numpy.abs(value), initial=0))
    if logs:
        real_keras.run(mpc_run, "train", compiled, "--data", npz, "--shuffle=off", "--batch-size", str(batch), "--steps", str(steps), "--trace", trace, *weights)
        trained = numpy.load(trace)
        for step, values in enumerate(logs):
            errors[f"loss@{step}"] = difference(trained["loss"][step], values["loss"], (most * 3, most * 3), max(abs(float(values["loss"])), 0.05))
        # A variable that hardly moves carries the noise of those that move.
        floor = max(float(numpy.median([change for change in moved.values() if change] or [0])) / 4, 1e-5)
        for key, value in after.items():
            if key.endswith("seed_generator_state"):
                continue
            if f"final:{key}" not in trained:
                errors[f"final:{key}"] = float("inf")
            elif value.dtype.kind == "i" or moved[key] == 0:
                errors[f"final:{key}"] = 0.0 if numpy.array_equal(numpy.float64(trained[f"final:{key}"]), numpy.float64(value)) else float("inf")
            else:
                errors[f"final:{key}"] = difference(trained[f"final:{key}"], value, (trained_limit * 3, trained_limit), max(moved[key], floor))
        if lora and all(moved[v.path] == 0 for v in lora):
            errors["lora"] = float("inf")
    worst = max(errors, key=errors.get)
    good = bool(errors[worst] <= 1)
    untrained = f" (Keras does not train it: {type(refusal).__name__})" if refusal else ""
    print(f"{'ok  ' if good else 'FAIL'} {what}: {worst} at {errors[worst]:.2g} of the tolerance{untrained}")
    return good


def enable_lora(model, draw):
    for layer in model._flatten_layers():
        if type(layer) in (layers.Dense, layers.EinsumDense, layers.Embedding, layers.Conv1D) and draw.random() < 0.6:
            layer.enable_lora(draw.randrange(1, 4))


if __name__ == "__main__":
    sys.exit(real_keras.main(check, __doc__, 120))
