# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults in further families of layers, in losses, loss scales, slots of optimizers and single rows of the data."""

import dataclasses

import numpy

from models import CLASSES, functional, head, layer, rescaling, sequential

SGD = ("--optimizer=sgd", "--learning-rate=0.01")
ROWS, BATCH = 96, 32


@dataclasses.dataclass
class Further:
    name: str
    model: dict
    shape: tuple
    direction: str  # None: nothing may be blamed
    kinds: tuple = ()
    blamed: str = "probe"  # the layer, or the one around it; "*": any
    op: str = None  # begins so
    policy: str = "mixed_float16"
    options: tuple = SGD
    change: callable = None  # of the trained weights, by path
    data: callable = None  # of x and y
    is_absorbed: bool = False
    step: int = 0
    ids: int = 0  # the inputs are so many ids
    weights: callable = None  # of the samples, from x
    configs: dict = dataclasses.field(default_factory=dict)  # Keras's configurations of an optimizer or a loss


def scaled(**factors):
    """Weights whose path has the word times the factor."""
    words = {word.replace("__", "/"): factor for word, factor in factors.items()}

    def change(path, array, _):
        for word, factor in words.items():
            if word in path:
                array = array * numpy.float32(factor)
        return array

    return change


def filled(**numbers):
    words = {word.replace("__", "/"): number for word, number in numbers.items()}

    def change(path, array, _):
        for word, number in words.items():
            if word in path:
                array = numpy.full_like(array, number)
        return array

    return change


def first_of(word, number):
    """The first element of the weights whose path has the word."""

    def change(path, array, _):
        if word in path:
            array = array.copy()
            array.reshape(-1)[0] = number
        return array

    return change


def both(*changes):
    def change(path, array, random):
        for each in changes:
            array = each(path, array, random)
        return array

    return change


def pool(dims):
    return layer(f"GlobalAveragePooling{dims}D", "pool")


def attention(name="probe"):
    return layer("MultiHeadAttention", name, num_heads=2, key_dim=4)


def attending(*behind):
    return functional("attention", (5, 8), [
        (layer("Dense", "front", units=8), ["x"]), (attention(), ["front", "front"]), *behind,
        (pool(1), [behind[-1][0]["config"]["name"] if behind else "probe"]), (head(), ["pool"])])  # fmt: skip


# Per family: the shape of an input, `probe`, what brings its result to a matrix, and the weight it multiplies with.
FAMILIES = {
    "conv1d": ((6, 4), layer("Conv1D", "probe", filters=8, kernel_size=[3], padding="same"), [pool(1)], "probe/kernel"),
    "conv3d": ((4, 4, 4, 2), layer("Conv3D", "probe", filters=4, kernel_size=[3, 3, 3]), [pool(3)], "probe/kernel"),
    "transposed": ((4, 4, 2), layer("Conv2DTranspose", "probe", filters=4, kernel_size=[3, 3], strides=[2, 2]), [pool(2)], "probe/kernel"),
    "separable": ((6, 6, 3), layer("SeparableConv2D", "probe", filters=4, kernel_size=[3, 3]), [pool(2)], "probe/pointwise_kernel"),
    "einsum": ((5, 6), layer("EinsumDense", "probe", equation="abc,cd->abd", output_shape=[None, 8]), [pool(1)], "probe/kernel"),
    "group_norm": ((6, 8), layer("GroupNormalization", "probe", groups=4), [pool(1)], "probe/gamma"),
    "rms_norm": ((12,), layer("RMSNormalization", "probe"), [], "probe/scale"),
    "prelu": ((12,), layer("PReLU", "probe"), [], "probe/alpha"),
    "attention": ((5, 8), None, None, "value/kernel"),
}  # fmt: skip
ABSORBERS = {
    "relu": layer("Activation", "absorber", activation="relu"),
    "exponential": layer("Activation", "absorber", activation="exponential"),
    "hard_sigmoid": layer("Activation", "absorber", activation="hard_sigmoid"),
    "elu": layer("Activation", "absorber", activation="elu"),
    "softplus": layer("Activation", "absorber", activation="softplus"),
    "leaky": layer("ReLU", "absorber", max_value=8.0, negative_slope=0.0),
}


def of_family(name, *behind):
    shape, probe, to_matrix, _ = FAMILIES[name]
    if name == "attention":
        last = ["probe"]
        nodes = []
        for each in behind:
            nodes.append((each, list(last)))
            last = [each["config"]["name"]]
        return shape, attending(*nodes)
    front = [layer("Dense", "front", units=12)] if name == "prelu" else []
    return shape, sequential(name, shape, [*front, probe, *behind, *to_matrix, head()])


def family_faults(random):
    for name, (*_, weight) in FAMILIES.items():
        shape, model = of_family(name)
        large, small = float(10 ** random.uniform(7, 8)), float(10 ** random.uniform(-11, -10))
        word = weight.replace("/", "__")
        yield Further(f"overflow_{name}", model, shape, "forward", ("overflow", "nan"), change=scaled(**{word: large}))
        if name == "prelu":  # has a part that nothing multiplies
            continue
        change = both(scaled(**{word: small}), filled(probe__bias=0, probe__beta=0, value__bias=0))
        yield Further(f"underflow_{name}", model, shape, "forward", ("underflow",), change=change)
        factor = float(10 ** random.uniform(4.6, 4.75))
        shape, model = of_family(name, rescaling("shrinker", 1 / factor), rescaling("amplifier", factor))
        yield Further(f"backward_overflow_{name}", model, shape, "backward", ("overflow", "nan"), blamed="amplifier")


def absorbed(random):
    """A bias beyond float16, that becomes minus infinity, of which a function makes a number."""
    for name, absorber in ABSORBERS.items():
        number = -float(10 ** random.uniform(5.5, 9))
        layers = [layer("Dense", "probe", units=16), absorber, head()]
        yield Further(
            f"absorbed_{name}", sequential(name, (12,), layers), (12,), "forward", ("overflow",),
            change=first_of("probe/bias", number), is_absorbed=True,
        )  # fmt: skip
    pooled = [layer("Conv1D", "probe", filters=8, kernel_size=[3]), layer("GlobalMaxPooling1D", "absorber"), layer("ReLU", "relu"), head()]
    yield Further(
        "absorbed_max_pooling", sequential("pooled", (6, 4), pooled), (6, 4), "forward", ("overflow",),
        change=first_of("probe/bias", -1e7), is_absorbed=True,
    )  # fmt: skip
    merged = functional("merged", (12,), [
        (layer("Dense", "probe", units=8), ["x"]), (layer("Dense", "other", units=8), ["x"]),
        (layer("Maximum", "absorber"), ["probe", "other"]), (head(), ["absorber"])])  # fmt: skip
    yield Further(
        "absorbed_maximum", merged, (12,), "forward", ("overflow",), change=first_of("probe/bias", -1e6), is_absorbed=True,
    )  # fmt: skip
    added = functional("added", (12,), [
        (layer("Dense", "probe", units=12), ["x"]), (layer("Add", "absorber"), ["probe", "x"]), (head(), ["absorber"])])  # fmt: skip
    yield Further(
        "absorbed_add", added, (12,), "forward", ("underflow",), is_absorbed=True,
        change=both(scaled(probe__kernel=1e-11), filled(probe__bias=0)),
    )  # fmt: skip


def products(random):
    yield Further(
        "attention_scores", attending(), (5, 8), "forward", ("overflow", "nan"), change=scaled(query__kernel=2e3, key__kernel=2e3)
    )
    large = float(random.uniform(300, 600))
    dot = functional("dot", (12,), [
        (layer("Dense", "left", units=8), ["x"]), (layer("Dense", "right", units=8), ["x"]),
        (layer("Dot", "probe", axes=1, normalize=False), ["left", "right"]), (head(), ["probe"])])  # fmt: skip
    yield Further("dot", dot, (12,), "forward", ("overflow",), change=scaled(left__kernel=large, right__kernel=large))
    square = functional("square", (12,), [
        (layer("Dense", "front", units=8), ["x"]), (layer("Multiply", "probe"), ["front", "front"]), (head(), ["probe"])])  # fmt: skip
    yield Further("square", square, (12,), "forward", ("overflow",), change=scaled(front__kernel=large))
    layers = [layer("Dense", "front", units=8), layer("Activation", "probe", activation="exponential"),
              layer("ReLU", "absorber", max_value=6.0), head()]  # fmt: skip
    yield Further(
        "exponential", sequential("exponential", (12,), layers), (12,), "forward", ("overflow",),
        change=first_of("front/bias", 40.0), is_absorbed=True,
    )  # fmt: skip
    yield Further(
        "small_factor", sequential("small", (12,), [rescaling("probe", 1e-9), rescaling("back", 1e4), head()]), (12,), "forward",
        ("underflow",),
    )  # fmt: skip
    layers = [rescaling("front", 1.0), layer("Rescaling", "shift", scale=1.0, offset=4000.0),
              layer("Rescaling", "probe", scale=1.0, offset=-4000.0), head()]  # fmt: skip
    yield Further(
        "cancelled", sequential("cancelled", (12,), layers), (12,), "forward", ("cancellation",), policy="mixed_bfloat16"
    )


def recurrent(random):
    for name, kind, activation in (("lstm", "LSTM", "linear"), ("gru", "GRU", "relu"), ("simple", "SimpleRNN", "linear")):
        layers = [layer(kind, "probe", units=8, activation=activation), head()]
        change = scaled(recurrent_kernel=float(10 ** random.uniform(4, 5)), cell__kernel=1e2)
        yield Further(
            f"recurrent_{name}", sequential(name, (5, 6), layers), (5, 6), "forward", ("overflow", "nan"), change=change
        )
    forward, backward = (layer("LSTM", name, units=6, activation="linear", go_backwards=name == "backward") for name in ("forward", "backward"))
    layers = [layer("Bidirectional", "probe", layer=forward, backward_layer=backward, merge_mode="concat"), head()]
    yield Further(
        "recurrent_bidirectional", sequential("both", (5, 6), layers), (5, 6), "forward", ("overflow", "nan"),
        change=scaled(recurrent_kernel=1e5, cell__kernel=1e3),
    )  # fmt: skip
    layers = [layer("Dense", "front", units=6), layer("SimpleRNN", "probe", units=8, activation="linear"), head()]

    def orthogonal(path, array, _):
        if "recurrent_kernel" in path:
            return (numpy.eye(*array.shape) * 20).astype("float32")
        if path.startswith("probe"):  # what comes in is small, and nothing is added
            return array * numpy.float32(0.0003 if path.endswith("/kernel") else 0)
        return array

    yield Further(
        "backward_recurrent", sequential("backward", (5, 6), layers), (5, 6), "backward", ("overflow", "nan"),
        options=(*SGD, "--loss-scale=fixed:256"), change=orthogonal,
    )  # fmt: skip


def normalizations(random):
    tiny = float(10 ** random.uniform(-13, -11))
    layers = [layer("Normalization", "probe", axis=-1, mean=[0.0] * 12, variance=[tiny] * 12), layer("ReLU", "absorber", max_value=6.0), head()]
    yield Further("tiny_variance", sequential("normal", (12,), layers), (12,), "forward", ("overflow", "underflow"), is_absorbed=True)
    for kind in ("LayerNormalization", "BatchNormalization"):
        layers = [layer("Dense", "front", units=12), layer(kind, "probe", epsilon=1e-12), head()]
        yield Further(
            f"constant_rows_{kind}", sequential("constant", (12,), layers), (12,), "backward", ("overflow", "nan"),
            options=(*SGD, "--loss-scale=fixed:4096"), change=filled(front__kernel=0, front__bias=0.5),
        )  # fmt: skip
    layers = [layer("Dense", "front", units=12), layer("BatchNormalization", "probe", epsilon=0.0), head()]
    yield Further(
        "no_epsilon", sequential("none", (12,), layers), (12,), "forward", ("division", "nan", "overflow"),
        change=filled(front__kernel=0),
    )  # fmt: skip


def steps(random):
    def large_row(x, y):
        x[2 * BATCH + 5, 3] = 1e6
        return x, y

    def missing(x, y):
        x[BATCH + 7, 3] = numpy.nan
        return x, y

    dense = sequential("dense", (12,), [layer("Dense", "probe", units=16), layer("ReLU", "absorber", max_value=6.0), head()])
    yield Further("large_row", dense, (12,), "forward", ("overflow",), data=large_row, step=2, is_absorbed=True)
    yield Further("missing_number", dense, (12,), "forward", ("nan",), blamed="x", data=missing, step=1)

    def line(x, y):
        return x * 1e3, x[:, :1] * 3

    # Each step multiplies the weights by about 1e12; the third one's squares are beyond float32.
    yield Further(
        "diverging", sequential("line", (12,), [layer("Dense", "head", units=1, use_bias=False)]), (12,), "forward",
        ("overflow", "nan"), policy="float32", blamed="loss", step=2, data=line,
        options=("--loss=mean_squared_error", "--optimizer=sgd", "--learning-rate=1e6"),
    )  # fmt: skip


def losses(random):
    def values(x, y):
        return x, x[:, :1]

    def counts(x, y):
        return x, y.reshape(-1, 1).astype("float32") + 1

    line = sequential("line", (12,), [layer("Dense", "head", units=1)])
    yield Further(
        "loss_squares", line, (12,), "forward", ("overflow",), blamed="loss", policy="float32", data=values,
        options=("--loss=mean_squared_error", *SGD), change=scaled(head__kernel=float(10 ** random.uniform(20, 25))),
    )  # fmt: skip
    yield Further(
        "loss_logarithm", line, (12,), "forward", ("nan", "division"), blamed="loss", data=counts,
        options=("--loss=poisson", *SGD), change=both(scaled(head__kernel=0.01), filled(head__bias=-3)),
    )  # fmt: skip
    dense = sequential("dense", (12,), [layer("Dense", "front", units=16), head()])
    yield Further(
        "huge_loss_scale", dense, (12,), "backward", ("overflow", "nan"), blamed="head",
        options=(*SGD, f"--loss-scale=fixed:{10 ** random.uniform(8, 9):.0f}"),
    )  # fmt: skip
    yield Further(
        "tiny_loss_scale", dense, (12,), "backward", ("underflow",), blamed="head",
        options=(*SGD, f"--loss-scale=fixed:{10 ** random.uniform(-9, -8):.3e}"),
    )  # fmt: skip


def slots(random):
    """Slots of float16 that are 0 where float32 has a number; an epsilon or a rate makes nothing of them."""
    dense = sequential("dense", (12,), [layer("Dense", "probe", units=16), head()])
    small = scaled(head__kernel=1e-3)
    for name, options in {
        "adam": ("--optimizer=adam",), "rmsprop": ("--optimizer=rmsprop",), "nadam": ("--optimizer=nadam",),
        "adadelta": ("--optimizer=adadelta",),
    }.items():  # fmt: skip
        yield Further(
            f"slot_{name}", dense, (12,), "optimizer", ("underflow",), policy="float16", blamed="*", change=small,
            options=(*options, "--loss-scale=none"),
        )  # fmt: skip


def healthy(random):
    """The same layers, as they were trained."""
    for name in FAMILIES:
        shape, model = of_family(name)
        for policy in ("mixed_float16", "mixed_bfloat16"):
            yield Further(f"healthy_{name}_{policy}", model, shape, None, policy=policy, options=("--optimizer=adam",))
    for name, kind in (("lstm", "LSTM"), ("gru", "GRU"), ("simple", "SimpleRNN")):
        layers = [layer(kind, "probe", units=8), head()]
        yield Further(f"healthy_recurrent_{name}", sequential(name, (5, 6), layers), (5, 6), None)
    for name, absorber in ABSORBERS.items():
        layers = [layer("Dense", "probe", units=16), absorber, head()]
        yield Further(f"healthy_absorbed_{name}", sequential(name, (12,), layers), (12,), None)
    for kind in ("LayerNormalization", "BatchNormalization"):
        layers = [layer("Dense", "front", units=12), layer(kind, "probe"), head()]
        yield Further(f"healthy_{kind}", sequential("normal", (12,), layers), (12,), None)


def make_all(seed):
    random = numpy.random.default_rng(seed)
    makers = (family_faults, absorbed, products, recurrent, normalizations, steps, losses, slots, healthy)
    return [fault for maker in makers for fault in maker(random)]


def data_of(fault, seed):
    random = numpy.random.default_rng(seed)
    x = random.normal(size=(ROWS, *fault.shape)).astype("float32")
    y = numpy.digitize(x.reshape(ROWS, -1).mean(1), [-0.1, 0, 0.1]).astype("int32")
    if fault.ids:
        x = random.integers(0, fault.ids, x.shape).astype("int32")
    return x, numpy.minimum(y, CLASSES - 1)
