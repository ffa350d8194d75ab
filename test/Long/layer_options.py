# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers with random options, run by real Keras and by mpc on the same inputs.

Each case is one layer (or merge, or chain of keras.ops) between inputs of random shapes; outputs and
the gradients of a mean squared error in training mode are compared. Seeds are fixed: case N is the
same model in every run. Usage: layer_options.py BIN [CASES [FIRST]] [--only REGEX] [--keep]
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

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import bfloat16_products
import keras
import numpy
import tensorflow
from keras import layers, ops

bfloat16_products.round_once()


def add_tensors(x1, x2):
    """Keras's own takes anything that squeezes to a vector of the last, else of the second extent for a bias, also
    where it stands along another axis of the same extent."""
    dtype = keras.src.backend.result_type(getattr(x1, "dtype", type(x1)), getattr(x2, "dtype", type(x2)))
    return tensorflow.add(*(keras.ops.convert_to_tensor(x, dtype) for x in (x1, x2)))


keras.src.backend.numpy.add = add_tensors

POLICIES = ["float32", "mixed_bfloat16", "mixed_float16", "bfloat16", "float16", "float64"]
# (outputs, gradients), of the element plus the array's root mean square. Eager Keras rounds after every operation;
# mpc-run writes gradients as float32.
TOLERANCES = {
    "float32": (1e-4, 1e-3),
    "float64": (1e-8, 2e-6),
    "mixed_bfloat16": (5e-2, 2e-1),
    "bfloat16": (5e-2, 2e-1),
    "mixed_float16": (8e-3, 4e-2),
    "float16": (8e-3, 4e-2),
}
ACTIVATIONS = ["relu", "tanh", "sigmoid", "linear", "elu", "selu", "softplus", "silu", "gelu", "relu6", "softsign",
               "hard_sigmoid", "exponential", "leaky_relu", "log_sigmoid", "mish", "hard_silu", "celu", "tanh_shrink"]


class Draw(random.Random):
    def size(self, low=1, high=7):
        return self.randrange(low, high + 1)

    def flag(self):
        return self.random() < 0.5

    def dims(self, rank, low=3, high=8):
        return tuple(self.size(low, high) for _ in range(rank))

    def activation(self):
        return self.choice(ACTIVATIONS + [None])


def image(d, rank, data_format, low=5, high=9, channels=None):
    channels = channels or d.size(1, 6)
    return (*d.dims(rank, low, high), channels) if data_format == "channels_last" else (channels, *d.dims(rank, low, high))


def data_format(d):
    return d.choice(["channels_last", "channels_last", "channels_first"])


def convolution(d, rank):
    form, groups = data_format(d), d.choice([1, 1, 1, 2, 3])
    strided = d.flag()
    paddings = ["valid", "same"] + (["causal"] if rank == 1 and form == "channels_last" else [])
    layer = getattr(layers, f"Conv{rank}D")(
        groups * d.size(1, 4), d.choice([1, 2, 3, d.dims(rank, 1, 3)]), strides=d.choice([2, d.dims(rank, 1, 3)]) if strided else 1,
        dilation_rate=1 if strided else d.choice([1, 2, 1]), padding=d.choice(paddings), data_format=form, groups=groups,
        use_bias=d.flag(), activation=d.activation())  # fmt: skip
    return layer, [image(d, rank, form, 6, 9, groups * d.size(1, 3))]


def transposed(d, rank):
    form = "channels_last"
    strides = d.choice([1, 2, 3])
    layer = getattr(layers, f"Conv{rank}DTranspose")(
        d.size(1, 5), d.choice([1, 2, 3, 4]), strides=strides, padding=d.choice(["valid", "same"]), data_format=form,
        use_bias=d.flag(), activation=d.activation())
    return layer, [image(d, rank, form, 3, 6)]


def depthwise(d, rank):
    form = data_format(d)
    layer = getattr(layers, f"DepthwiseConv{rank}D")(
        d.choice([2, 3]), strides=d.choice([1, 2]), padding=d.choice(["valid", "same"]), depth_multiplier=d.size(1, 3),
        data_format=form, use_bias=d.flag(), activation=d.activation())
    return layer, [image(d, rank, form)]


def separable(d, rank):
    form = data_format(d)
    layer = getattr(layers, f"SeparableConv{rank}D")(
        d.size(1, 5), d.choice([2, 3]), strides=d.choice([1, 2]), padding=d.choice(["valid", "same"]),
        depth_multiplier=d.size(1, 2), data_format=form, use_bias=d.flag(), activation=d.activation())
    return layer, [image(d, rank, form)]


def pool(d, rank):
    form, kind = data_format(d), d.choice(["Max", "Average"])
    layer = getattr(layers, f"{kind}Pooling{rank}D")(
        d.choice([2, 3]), strides=d.choice([None, 1, 2, 3]), padding=d.choice(["valid", "same"]), data_format=form)
    return layer, [image(d, rank, form)]


def global_pool(d, rank):
    form, kind = data_format(d), d.choice(["Max", "Average"])
    return getattr(layers, f"Global{kind}Pooling{rank}D")(data_format=form, keepdims=d.flag()), [image(d, rank, form)]


def adaptive_pool(d, rank):
    form, kind = data_format(d), d.choice(["Max", "Average"])
    return getattr(layers, f"Adaptive{kind}Pooling{rank}D")(d.choice([1, 2, 3]), data_format=form), [image(d, rank, form)]


def normalization(d):
    rank = d.size(1, 3)
    shape = d.dims(rank, 2, 6)
    kind = d.choice(["Batch", "Layer", "Group", "RMS", "Unit"])
    if kind == "Batch":
        return layers.BatchNormalization(axis=d.choice([-1, d.size(1, rank)]), momentum=d.choice([0.9, 0.99]), epsilon=d.choice([1e-3, 1e-2]),
                                         center=d.flag(), scale=d.flag()), [shape]
    if kind == "Layer":
        axis = d.choice([-1, d.size(1, rank), list(range(1, rank + 1))])
        return layers.LayerNormalization(axis=axis, epsilon=d.choice([1e-3, 1e-5]), center=d.flag(), scale=d.flag()), [shape]
    if kind == "Group":
        groups = d.choice([1, 2, 3, -1])
        channels = groups * d.size(1, 3) if groups > 0 else d.size(2, 6)
        return layers.GroupNormalization(groups, center=d.flag(), scale=d.flag()), [(*shape, channels)]
    if kind == "RMS":
        return layers.RMSNormalization(axis=-1, epsilon=d.choice([1e-6, 1e-3])), [shape]
    return layers.UnitNormalization(axis=d.choice([-1, d.size(1, rank)])), [shape]


def recurrent(d):
    kind = d.choice(["SimpleRNN", "LSTM", "GRU"])
    options = dict(return_sequences=d.flag(), go_backwards=d.flag(), use_bias=d.flag(), activation=d.choice(["tanh", "relu", "sigmoid"]))
    if kind == "GRU":
        options["reset_after"] = d.flag()
    if kind == "LSTM":
        options["unit_forget_bias"] = options["use_bias"]
    if kind != "SimpleRNN":
        options["recurrent_activation"] = d.choice(["sigmoid", "hard_sigmoid"])
    # TensorFlow has no orthogonal initializer in 16 bits.
    layer = getattr(layers, kind)(d.size(1, 6), recurrent_initializer="glorot_uniform", **options)
    if d.random() < 0.35 and not options["go_backwards"]:
        layer = layers.Bidirectional(layer, merge_mode=d.choice(["concat", "sum", "mul", "ave"]))
    return layer, [d.dims(2, 2, 6)]


def distributed(d):
    inner = d.choice([lambda: layers.Dense(d.size(1, 5), activation=d.activation()), lambda: layers.LayerNormalization(),
                      lambda: layers.Activation("tanh")])()
    return layers.TimeDistributed(inner), [d.dims(2, 2, 6)]


def dense(d):
    return layers.Dense(d.size(1, 9), use_bias=d.flag(), activation=d.activation()), [d.dims(d.size(1, 3), 1, 7)]


def einsum(d):
    a, b, c, e = d.dims(4, 2, 5)
    equation, output, bias, shape = d.choice([
        ("abc,cd->abd", (a, e), "d", (a, b)), ("ab,bc->ac", (e,), "c", (a,)), ("abc,cde->abde", (a, c, e), "de", (a, b)),
        ("abcd,cde->abe", (a, e), "e", (a, b, c)), ("abc,cd->abd", (None, e), "d", (a, b)),
        ("...x,xy->...y", e, "y", (a, b)), ("ab...,bc->ac...", e, "c", (a, b)), ("abc,cd->adb", (e, a), None, (a, b)),
    ])  # fmt: skip
    return layers.EinsumDense(equation, output, bias_axes=bias if d.flag() else None, activation=d.activation()), [shape]


def attention(d):
    heads, key, width = d.size(1, 3), d.size(1, 4), d.size(2, 6)
    steps, other = d.size(2, 5), d.size(2, 5)
    layer = layers.MultiHeadAttention(heads, key, value_dim=d.choice([None, d.size(1, 4)]), use_bias=d.flag(), output_shape=d.choice([None, d.size(1, 5)]))
    causal = d.random() < 0.3
    return (lambda q, v: layer(q, v, use_causal_mask=causal)), [(steps, width), (other, d.size(2, 5))]


def grouped_attention(d):
    groups = d.size(1, 2)
    layer = layers.GroupQueryAttention(d.size(1, 4), groups * d.size(1, 2), groups, use_bias=d.flag())
    return (lambda q, v: layer(q, v)), [(d.size(2, 5), d.size(2, 6)), (d.size(2, 5), d.size(2, 6))]


def dot_attention(d):
    width, kind = d.size(2, 5), d.choice(["Attention", "AdditiveAttention"])
    options = dict(use_scale=d.flag())
    if kind == "Attention":
        options["score_mode"] = d.choice(["dot", "concat"])
    layer = getattr(layers, kind)(**options)
    steps = d.size(2, 5)
    causal = d.random() < 0.3
    return (lambda q, v: layer([q, v], use_causal_mask=causal)), [(d.size(2, 5), width), (steps, width)]


def merge(d):
    kind = d.choice(["Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum", "Concatenate", "Dot"])
    rank = d.size(1, 3)
    shape = d.dims(rank, 2, 5)
    if kind == "Concatenate":
        axis = d.choice([-1, d.size(1, rank)])
        other = list(shape)
        other[axis if axis < 0 else axis - 1] = d.size(1, 5)
        layer = layers.Concatenate(axis=axis)
        return (lambda *x: layer(list(x))), [shape, tuple(other)]
    if kind == "Dot":
        a, b, c = d.dims(3, 2, 5)
        layer = layers.Dot(axes=d.choice([(2, 1)]), normalize=d.flag())
        return (lambda *x: layer(list(x))), [(a, b), (b, c)]
    layer = getattr(layers, kind)()
    count = 2 if kind == "Subtract" else d.size(2, 3)
    shapes = [tuple(1 if d.random() < 0.2 else n for n in shape) for _ in range(count)]
    shapes[0] = shape
    return (lambda *x: layer(list(x))), shapes


def movement(d):
    rank = d.size(2, 3)
    shape = d.dims(rank, 2, 5)
    choice = d.randrange(12)
    if choice == 0:
        return layers.Flatten(data_format=data_format(d)), [shape]
    if choice == 1:
        return layers.Reshape((shape[1], -1)), [shape]
    if choice == 2:
        order = list(range(1, rank + 1))
        d.shuffle(order)
        return layers.Permute(order), [shape]
    if choice == 3:
        return layers.RepeatVector(d.size(1, 5)), [shape[:1]]
    spatial = d.size(1, 3)
    form = data_format(d)
    if choice in (4, 5):
        pairs = tuple((d.size(0, 2), d.size(0, 2)) for _ in range(spatial))
        extra = {} if spatial == 1 and choice == 5 else dict(data_format=form)
        form = form if extra else "channels_last"
        cls = getattr(layers, f"{'ZeroPadding' if choice == 4 else 'Cropping'}{spatial}D")
        return cls(pairs if spatial > 1 else pairs[0], **extra), [image(d, spatial, form)]
    if choice == 6:
        extra = {} if spatial == 1 else dict(data_format=form)
        if spatial == 2 and form == "channels_last":
            extra["interpolation"] = d.choice(["nearest", "bilinear", "bicubic"])
        form = form if extra else "channels_last"
        return getattr(layers, f"UpSampling{spatial}D")(d.size(1, 3), **extra), [image(d, spatial, form)]
    if choice == 7:
        return layers.Resizing(d.size(2, 9), d.size(2, 9), interpolation=d.choice(["bilinear", "nearest", "bicubic"]),
                               crop_to_aspect_ratio=d.random() < 0.3), [image(d, 2, "channels_last")]
    if choice == 8:
        return layers.CenterCrop(d.size(2, 4), d.size(2, 4)), [image(d, 2, "channels_last")]
    if choice == 9:
        return layers.Rescaling(d.choice([0.5, 1 / 255, 2.0]), offset=d.choice([0.0, -1.0])), [shape]
    if choice == 10:
        return layers.Softmax(axis=d.choice([-1, d.size(1, rank)])), [shape]
    return d.choice([lambda: layers.LeakyReLU(d.choice([0.1, 0.3])), lambda: layers.ELU(d.choice([1.0, 0.5])),
                     lambda: layers.PReLU(shared_axes=d.choice([None, [1]])), lambda: layers.Activation(d.choice(ACTIVATIONS)),
                     lambda: layers.ReLU(max_value=d.choice([None, 1.0]), negative_slope=d.choice([0.0, 0.2]), threshold=d.choice([0.0, 0.3]))])(), [shape]


def embedding(d):
    tokens, width = d.size(3, 9), d.size(1, 6)
    layer = layers.Embedding(tokens, width, mask_zero=d.flag())
    after = d.choice([None, layers.LSTM(d.size(1, 5), recurrent_initializer="glorot_uniform"), layers.GlobalAveragePooling1D(),
                      layers.GRU(d.size(1, 5), return_sequences=True, recurrent_initializer="glorot_uniform"),
                      layers.SimpleRNN(d.size(1, 4), recurrent_initializer="glorot_uniform"), layers.Dense(d.size(1, 4))])
    return (lambda x: after(layer(x)) if after else layer(x)), [("ids", tokens, d.dims(1, 2, 6))]


UNARY = ["abs", "exp", "sqrt_abs", "square", "negative", "sign", "sin", "cos", "tanh", "sigmoid", "relu", "softplus", "log1p_abs", "floor",
         "rsqrt_abs", "erf", "silu", "gelu", "arctan", "expm1", "ceil", "round"]


def recorded(d):
    rank = d.size(2, 3)
    shape = d.dims(rank, 2, 5)
    steps = [d.randrange(16) for _ in range(d.size(1, 3))]
    picks = [d.randrange(1 << 20) for _ in steps]

    def apply(x, y):
        for kind, pick in zip(steps, picks):
            rank = len(x.shape)
            axis = 1 + pick % (rank - 1) if rank > 1 else -1
            if kind == 0:
                name = UNARY[pick % len(UNARY)]
                x = getattr(ops, name[:-4])(ops.abs(x) + 0.5) if name.endswith("_abs") else getattr(ops, name)(x)
            elif kind == 1:
                x = [ops.add, ops.subtract, ops.multiply, ops.maximum, ops.minimum, ops.divide_no_nan][pick % 6](x, x * 0.5 + 1.0)
            elif kind == 2 and rank > 2:
                x = [ops.sum, ops.mean, ops.max, ops.min, ops.prod, ops.var, ops.std][pick % 7](x, axis=axis, keepdims=bool(pick & 64))
            elif kind == 3:
                x = ops.softmax(x, axis=-1)
            elif kind == 4:
                x = ops.concatenate([x, x * 2.0], axis=axis)
            elif kind == 5:
                x = ops.expand_dims(x, axis=axis)
            elif kind == 6:
                x = ops.transpose(x, [0, *reversed(range(1, rank))])
            elif kind == 7:
                x = ops.reshape(x, (-1, int(numpy.prod(x.shape[1:]))))
            elif kind == 8:
                x = ops.where(x > 0.1, x, x * 0.3)
            elif kind == 9:
                x = ops.clip(x, -0.7, 0.9)
            elif kind == 10 and rank == 3:
                x = ops.matmul(x, ops.transpose(x, (0, 2, 1)))
            elif kind == 11:
                x = x[:, : max(1, x.shape[1] - 1)]
            elif kind == 12:
                x = ops.stack([x, x + 1.0], axis=axis)
            elif kind == 13:
                x = ops.repeat(x, 2, axis=axis)
            elif kind == 14:
                x = ops.power(ops.abs(x) + 0.5, 1.5)
            else:
                x = ops.flip(x, axis=axis)
        return x

    return (lambda x: apply(x, None)), [shape]


def ordered(d):
    rank = d.size(2, 3)
    shape = d.dims(rank - 1, 2, 6) if rank > 2 else d.dims(1, 2, 9)
    axis, pick, again = -1 if len(shape) == 1 else d.choice([-1, 1, 2]), d.randrange(9), d.flag()

    def apply(x):
        if pick == 0:
            y = ops.sort(x, axis=axis)
        elif pick == 1:
            y = ops.take_along_axis(x * 2.0, ops.argsort(ops.round(x), axis=axis), axis=axis)
        elif pick == 2:
            values, places = ops.top_k(x, k=x.shape[-1] // 2 + 1)
            y = values + ops.cast(places, values.dtype)
        elif pick == 3:
            y = ops.diff(x, n=1, axis=axis)
        elif pick == 4:
            y = ops.cumprod(x, axis=axis)
        elif pick == 5:
            y = ops.norm(x, ord=d.choice([None, 1, 2, 3, float("inf"), float("-inf")]), axis=axis, keepdims=again)
        elif pick == 6:
            y = ops.cumsum(ops.sort(x, axis=-1), axis=axis)
        elif pick == 7:
            y = ops.sort(ops.round(x * 2.0), axis=axis)
        else:
            y = ops.top_k(ops.abs(x), k=1)[0]
        return y * 0.5

    return apply, [shape]


FAMILIES = {
    "dense": dense, "einsum": einsum, "normalization": normalization, "recurrent": recurrent, "distributed": distributed,
    "attention": attention, "grouped_attention": grouped_attention, "dot_attention": dot_attention, "merge": merge, "movement": movement,
    "movement2": movement, "embedding": embedding, "recorded": recorded, "recorded2": recorded,
    **{f"conv{r}": (lambda d, r=r: convolution(d, r)) for r in (1, 2, 3)},
    **{f"transposed{r}": (lambda d, r=r: transposed(d, r)) for r in (1, 2, 3)},
    **{f"depthwise{r}": (lambda d, r=r: depthwise(d, r)) for r in (1, 2)},
    **{f"separable{r}": (lambda d, r=r: separable(d, r)) for r in (1, 2)},
    **{f"pool{r}": (lambda d, r=r: pool(d, r)) for r in (1, 2, 3)},
    **{f"global{r}": (lambda d, r=r: global_pool(d, r)) for r in (1, 2, 3)},
    **{f"adaptive{r}": (lambda d, r=r: adaptive_pool(d, r)) for r in (1, 2, 3)},
    "ordered": ordered,
}  # fmt: skip


def build(number):
    """(family, policy, model, inputs by name) of one case; an exception where Keras itself refuses the options."""
    names = list(FAMILIES)
    family, policy = names[number % len(names)], POLICIES[(number // len(names) + number % len(names)) % len(POLICIES)]
    d = Draw(number)
    keras.utils.set_random_seed(number)
    keras.config.set_dtype_policy(policy)
    call, shapes = FAMILIES[family](d)
    numbers = numpy.random.RandomState(number)
    inputs, data, rows = [], {}, d.size(1, 5)
    for i, shape in enumerate(shapes):
        name = f"in{i}"
        if shape and isinstance(shape[0], str):  # (kind, limit, shape)
            dtype = "int32" if shape[0] == "ids" else shape[0]
            inputs.append(keras.Input(shape[2], dtype=dtype, name=name))
            data[name] = numbers.randint(0, shape[1], (rows, *shape[2])).astype(dtype)
        else:
            inputs.append(keras.Input(shape, dtype="float64" if policy == "float64" else "float32", name=name))
            data[name] = numbers.randn(rows, *shape).astype("float32")
    outputs = call(*inputs)
    model = keras.Model(inputs, outputs)
    for variable in model.variables:
        if variable.dtype.startswith(("float", "bfloat")):
            values = numbers.randn(*variable.shape) * 0.4
            variable.assign(numpy.abs(values) + 0.5 if "variance" in variable.path else values)
    several = isinstance(outputs, (list, tuple)) and len(outputs) > 1
    model.compile("sgd", ["mean_squared_error"] + [None] * (len(outputs) - 1) if several else "mean_squared_error", run_eagerly=True)
    return family, policy, model, data


def reference(model, data, compiled=False):
    """Outputs, and gradients in training mode, by eager Keras or compiled by XLA."""
    tensors = [ops.convert_to_tensor(data[layer.name]) for layer in model.inputs]
    # As fit does: floating inputs in the Input's dtype.
    tensors = [tensorflow.cast(t, i.dtype) for t, i in zip(tensors, model.inputs)]
    wrap = (lambda f: tensorflow.function(f, jit_compile=True)) if compiled else lambda f: f
    outputs = wrap(lambda t: model(t, training=False))(tensors)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    expected = {f"out{i}": numpy.asarray(ops.cast(output, "float64")) for i, output in enumerate(outputs)}
    target = numpy.random.RandomState(1).randn(*expected["out0"].shape).astype("float32")
    variables = model.trainable_variables

    def differentiate(tensors):
        with tensorflow.GradientTape() as tape:
            predictions = model(tensors, training=True)
            predictions = predictions[0] if isinstance(predictions, list) else predictions
            loss = keras.losses.MeanSquaredError()(ops.convert_to_tensor(target), predictions)
            loss += sum(ops.cast(term, loss.dtype) for term in model.losses)
        return tape.gradient(loss, [v.value for v in variables])

    for variable, gradient in zip(variables, wrap(differentiate)(tensors)):
        if gradient is not None:  # mpc-run writes zeros then
            gradient = tensorflow.convert_to_tensor(gradient)
            expected[f"grad:{variable.path}"] = numpy.asarray(tensorflow.cast(gradient, "float64"))
    return expected, target


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if result.returncode:
        raise RuntimeError(f"{os.path.basename(command[0])}: exit {result.returncode}: {result.stderr.strip()[-700:]}")


def difference(got, expected, floor):
    """The largest difference in units of the expected element plus the array's scale."""
    got, expected = numpy.float64(got), numpy.float64(expected)
    if got.shape != expected.shape or not numpy.array_equal(numpy.isfinite(got), numpy.isfinite(expected)):
        return float("inf")
    finite = numpy.isfinite(expected)
    if not finite.any():
        return 0.0
    got, expected = got[finite], expected[finite]
    scale = max(numpy.sqrt(numpy.mean(expected**2)), floor, 1e-30)
    return float(numpy.max(numpy.abs(got - expected) / (numpy.abs(expected) + scale)))


def check(number, tools, folder):
    """True, False or None (Keras refuses the options)."""
    path = os.path.join(folder, "model.keras")
    try:
        family, policy, model, data = build(number)
        model.save(path)
        # Some layers have other paths once they are loaded; mpc names what is in the file.
        expected, target = reference(keras.saving.load_model(path, compile=False), data)
    except Exception as error:  # Keras's refusals have many types
        print(f"skip case {number}: Keras: {str(error).strip().splitlines()[-1][:150]}")
        return None
    numpy.savez(os.path.join(folder, "data.npz"), y0=target, **data)
    compiled, output = os.path.join(folder, "model.mpc"), os.path.join(folder, "out.npz")
    layer = model.layers[-1]
    what = f"case {number} {family} {policy} {type(layer).__name__}"
    try:
        run(os.path.join(tools, "mpcc"), path, "--output-guard=off", "--march=native", "--name=model", "-o", compiled)
        run(os.path.join(tools, "mpc-run"), "predict", compiled, "--inputs", os.path.join(folder, "data.npz"), "--outputs", output)
        got = dict(numpy.load(output))
        if family == "augmented":  # random in training
            expected = {name: array for name, array in expected.items() if name.startswith("out")}
        else:
            run(os.path.join(tools, "mpc-run"), "gradients", compiled, "--data", os.path.join(folder, "data.npz"), "--outputs", output)
            got.update({k: v for k, v in numpy.load(output).items() if k.startswith("grad:")})
    except RuntimeError as error:
        print(f"FAIL {what}: {error}\n     {layer.get_config() if hasattr(layer, 'get_config') else ''}")
        return False
    good, line = judge(got, expected, policy, layer, family)
    if not good:  # TensorFlow's CPU kernels have errors of their own; XLA shares none with them.
        try:
            good, _ = judge(got, reference(keras.saving.load_model(path, compile=False), data, compiled=True)[0], policy, layer, family)
            line += ", but agrees with XLA" if good else " and disagrees with XLA"
        except Exception as error:
            line += f"; no XLA: {str(error).strip().splitlines()[-1][:80]}"
    print(f"{'ok  ' if good else 'FAIL'} {what}: {line}" + ("" if good else f"\n     {layer.get_config()}"))
    return good


def judge(got, expected, policy, layer, family):
    """Whether all is within the tolerances, and what is worst."""
    gradients = [v for k, v in expected.items() if k.startswith("grad:")]
    floor = float(numpy.median([numpy.sqrt(numpy.mean(g[numpy.isfinite(g)] ** 2)) for g in gradients])) / 2 if gradients else 0.0
    errors = {}
    for name, array in expected.items():
        # tf.image computes in float32, whatever the policy.
        resizes = isinstance(layer, (layers.Resizing, layers.UpSampling2D, layers.CenterCrop)) or family.startswith("recorded_images")
        exact = policy != "float64" or not resizes
        output = name.startswith("out")
        kind = 0 if output else 1
        limit = TOLERANCES[policy if exact else "float32"][kind]
        if family == "cell_policies":  # a coarse cell rounds, whatever the policy of the model
            limit = max(TOLERANCES[inner.dtype_policy.name][kind] for inner in layer._flatten_layers())
        # TensorFlow's gelu has the square root of 2 in float32: 5e-9 beside the exact one.
        if policy == "float64" and "gelu" in json.dumps(layer.get_config(), default=str):
            limit = max(limit, 3e-8)
        errors[name] = difference(got[name], array, 0.0 if output else floor) / limit if name in got else float("inf")
    worst = max(errors, key=errors.get)
    return errors[worst] <= 1, f"{worst} at {errors[worst]:.2g} of the tolerance"


def run_cases(arguments):
    """Runs and prints each case, in this process."""
    tools = os.path.abspath(arguments.bin)
    for number in range(arguments.first, arguments.first + arguments.cases):
        if not re.search(arguments.only, list(FAMILIES)[number % len(FAMILIES)]):
            continue
        with tempfile.TemporaryDirectory() as folder:
            if check(number, tools, folder) is False and arguments.keep:
                shutil.copytree(folder, os.path.join(arguments.keep, f"case{number}"), dirs_exist_ok=True)
        sys.stdout.flush()


def run_in_children(arguments):
    """Counts by outcome (ok, FAIL, skip). TensorFlow divides by zero in pools of some 16-bit types and ends the
    process: a refusal, after which another process goes on."""
    outcomes = {"ok": 0, "FAIL": 0, "skip": 0}
    number, end = arguments.first, arguments.first + arguments.cases
    while number < end:
        command = [sys.executable, sys.argv[0], arguments.bin, str(end - number), str(number), "--only", arguments.only, "--here"]
        command += ["--keep", arguments.keep] if arguments.keep else []
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            for line in child.stdout:
                print(line, end="", flush=True)
                case = re.match(r"(ok|FAIL|skip) +case (\d+)", line)
                if case:
                    outcomes[case[1]] += 1
                    number = int(case[2]) + 1
        if child.returncode == 0:
            break
        if child.returncode > 0:
            sys.exit(f"layer_options: error: case {number} ended its process with {child.returncode}")
        print(f"skip case {number}: Keras: ends the process with signal {-child.returncode}", flush=True)
        outcomes["skip"] += 1
        number += 1
    return outcomes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("bin")
    parser.add_argument("cases", nargs="?", type=int, default=170)
    parser.add_argument("first", nargs="?", type=int, default=0)
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", help="folder for the files of failing cases")
    parser.add_argument("--here", action="store_true", help="in this process, without counting")
    arguments = parser.parse_args()
    if arguments.here:
        return run_cases(arguments)
    outcomes = run_in_children(arguments)
    print(f"{outcomes['FAIL']} failed, {outcomes['skip']} that Keras refuses")
    print(f"ran {outcomes['ok'] + outcomes['FAIL']} tests")
    return 1 if outcomes["FAIL"] or not outcomes["ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
