# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults in still other layers, activations, losses, optimizers, clippings, regularizers and weights of samples."""

import numpy

from further_faults import BATCH, ROWS, SGD, Further, both, filled, first_of, pool, scaled
from models import functional, head, layer, rescaling, sequential

MASKED = {"mask_zero": True}


def flat():
    return layer("Flatten", "flat")


def cell_of(kind, **config):
    return layer(kind, "probe", units=8, **config)


def conv_lstm(kind, *kernel):
    return layer(kind, "probe", filters=3, kernel_size=list(kernel), padding="same")


def distributed():
    return layer("TimeDistributed", "probe", layer=layer("Dense", "inner", units=8))


def wrapped(kind):
    return layer("Bidirectional", "probe", layer=layer(kind, "forward", units=4), backward_layer=layer(kind, "backward", units=4, go_backwards=True))


# Per family: the shape of an input, `probe`, what brings its result to a matrix, and a word of the weights that it multiplies with;
# of recurrent layers no word of which sums of infinities would be NaN inside of the steps alone.
FAMILIES = {
    "conv1d_transposed": ((5, 3), layer("Conv1DTranspose", "probe", filters=4, kernel_size=[3], strides=[2]), [pool(1)], "probe/kernel"),
    "conv3d_transposed": ((3, 3, 3, 2), layer("Conv3DTranspose", "probe", filters=3, kernel_size=[2, 2, 2]), [pool(3)], "probe/kernel"),
    "depthwise1d": ((6, 4), layer("DepthwiseConv1D", "probe", kernel_size=[3]), [pool(1)], "probe/kernel"),
    "separable1d": ((6, 4), layer("SeparableConv1D", "probe", filters=6, kernel_size=[3]), [pool(1)], "probe/pointwise_kernel"),
    "dilated": ((8, 3), layer("Conv1D", "probe", filters=4, kernel_size=[3], dilation_rate=[2], padding="causal"), [pool(1)], "probe/kernel"),
    "grouped": ((6, 6, 4), layer("Conv2D", "probe", filters=4, kernel_size=[3, 3], groups=2), [pool(2)], "probe/kernel"),
    "strided": ((7, 7, 2), layer("Conv2D", "probe", filters=5, kernel_size=[3, 3], strides=[2, 2]), [flat()], "probe/kernel"),
    "distributed": ((5, 6), distributed(), [pool(1)], "kernel"),
    "einsum_heads": ((5, 6), layer("EinsumDense", "probe", equation="abc,cde->abde", output_shape=[None, 2, 3]), [flat()], "probe/kernel"),
    "group_norm_2d": ((4, 4, 6), layer("GroupNormalization", "probe", groups=3), [pool(2)], "probe/gamma"),
    "batch_norm_2d": ((4, 4, 3), layer("BatchNormalization", "probe"), [pool(2)], "probe/gamma"),
    "layer_norm_1d": ((5, 6), layer("LayerNormalization", "probe"), [pool(1)], "probe/gamma"),
    "rms_norm_1d": ((5, 6), layer("RMSNormalization", "probe"), [pool(1)], "probe/scale"),
}  # fmt: skip

# Functions that make something finite of minus infinity.
ABSORBERS = {
    "selu": layer("Activation", "absorber", activation="selu"),
    "softsign": layer("ReLU", "absorber", max_value=20.0),
    "relu6": layer("Activation", "absorber", activation="relu6"),
    "hard_tanh": layer("Activation", "absorber", activation="hard_tanh"),
    "log_sigmoid_of": layer("Activation", "absorber", activation="celu"),
    "threshold": layer("ReLU", "absorber", threshold=1.0),
}


def of_family(name, *behind):
    shape, probe, to_matrix, _ = FAMILIES[name]
    return shape, sequential(name, shape, [probe, *behind, *to_matrix, head()])


def family_faults(random):
    for name, (*_, weight) in FAMILIES.items():
        shape, model = of_family(name)
        word = weight.replace("/", "__")
        large, small = float(10 ** random.uniform(7, 8)), float(10 ** random.uniform(-11, -10))
        yield Further(f"overflow_{name}", model, shape, "forward", ("overflow", "nan"), change=scaled(**{word: large}))
        change = both(scaled(**{word: small}), filled(probe__bias=0, probe__beta=0, bias=0))
        yield Further(f"underflow_{name}", model, shape, "forward", ("underflow",), change=change)
        factor = float(10 ** random.uniform(4.6, 4.75))
        shape, model = of_family(name, rescaling("shrinker", 1 / factor), rescaling("amplifier", factor))
        yield Further(f"backward_overflow_{name}", model, shape, "backward", ("overflow", "nan"), blamed="amplifier")
        lost = float(10 ** random.uniform(-7.2, -6.8))
        shape, model = of_family(name, rescaling("enlarger", 1e3), rescaling("shrinker", lost))
        yield Further(
            f"backward_underflow_{name}", model, shape, "backward", ("underflow",), blamed="shrinker",
            options=(*SGD, "--loss-scale=none"),
        )  # fmt: skip


def absorbed(random):
    for name, absorber in ABSORBERS.items():
        number = -float(10 ** random.uniform(5.5, 9))
        layers = [layer("Conv1D", "probe", filters=6, kernel_size=[2]), absorber, pool(1), head()]
        yield Further(
            f"absorbed_{name}", sequential(name, (6, 4), layers), (6, 4), "forward", ("overflow",),
            change=first_of("probe/bias", number), is_absorbed=True,
        )  # fmt: skip
    merged = functional("smaller", (12,), [
        (layer("Dense", "probe", units=8), ["x"]), (layer("Dense", "other", units=8), ["x"]),
        (layer("Minimum", "absorber"), ["probe", "other"]), (head(), ["absorber"])])  # fmt: skip
    yield Further("absorbed_minimum", merged, (12,), "forward", ("overflow",), change=first_of("probe/bias", 1e6), is_absorbed=True)
    layers = [rescaling("front", 1.0), layer("Dense", "probe", units=8), layer("Activation", "absorber", activation="log_softmax"),
              layer("ReLU", "relu"), head()]  # fmt: skip
    yield Further(
        "absorbed_log_softmax", sequential("logs", (12,), layers), (12,), "forward", ("overflow",),
        change=first_of("probe/bias", -1e8), is_absorbed=True,
    )  # fmt: skip


def recurrent(random):
    for name, probe, shape, behind in (
        ("gru_before", cell_of("GRU", reset_after=False, activation="relu"), (5, 6), []),
        ("gru_sequences", cell_of("GRU", activation="relu", return_sequences=True), (5, 6), [pool(1)]),
        ("conv_lstm1d", conv_lstm("ConvLSTM1D", 3), (4, 6, 2), [pool(1)]),
        ("conv_lstm2d", conv_lstm("ConvLSTM2D", 3, 3), (3, 5, 5, 2), [pool(2)]),
        ("bidirectional_gru", wrapped("GRU"), (5, 6), []),
    ):
        change = scaled(kernel=float(10 ** random.uniform(7, 8)))
        yield Further(f"overflow_{name}", sequential(name, shape, [probe, *behind, head()]), shape, "forward", ("overflow", "nan"), change=change)
        shrunk = [rescaling("enlarger", 1e3), rescaling("shrinker", 1e-7)]
        yield Further(
            f"backward_underflow_{name}", sequential(name, shape, [probe, *shrunk, *behind, head()]), shape, "backward",
            ("underflow",), blamed="shrinker", options=(*SGD, "--loss-scale=none"),
        )  # fmt: skip


def ids_of(count):
    def data(x, y):
        return numpy.abs(x * 3).astype("int32") % count, y

    return data


def words(*behind, **config):
    return sequential("words", (6,), [layer("Embedding", "probe", input_dim=9, output_dim=4, **config), *behind, pool(1), head()], "int32")


def embeddings(random):
    """Of equal ids the cotangents are summed; what float16 does not hold of the sum is not the table's fault alone."""
    same = dict(ids=9, data=lambda x, y: (numpy.zeros_like(x), y))
    yield Further("overflow_words", words(**MASKED), (6,), "forward", ("overflow",), ids=9, change=scaled(embeddings=float(10 ** random.uniform(7, 8))))
    yield Further("underflow_words", words(**MASKED), (6,), "forward", ("underflow",), ids=9, change=scaled(embeddings=1e-11))
    yield Further(
        "backward_overflow_words", words(), (6,), "backward", ("overflow",), options=(*SGD, "--loss-scale=fixed:2.0e7"),
        change=scaled(head__kernel=1e-2), blamed="*", **same,
    )  # fmt: skip
    yield Further(
        "backward_underflow_words", words(rescaling("enlarger", 1e3), rescaling("shrinker", 1e-7)), (6,), "backward", ("underflow",), ids=9,
        options=(*SGD, "--loss-scale=none"), blamed="shrinker",
    )  # fmt: skip
    attention = functional("masked", (6,), [
        (layer("Embedding", "words", input_dim=9, output_dim=8, **MASKED), ["x"]),
        (layer("MultiHeadAttention", "probe", num_heads=2, key_dim=4), ["words", "words"]),
        (pool(1), ["probe"]), (head(), ["pool"])], "int32")  # fmt: skip
    yield Further("masked_attention_scores", attention, (6,), "forward", ("overflow", "nan"), ids=9, change=scaled(query__kernel=5e3, key__kernel=5e3))
    yield Further("masked_attention_values", attention, (6,), "forward", ("overflow", "nan"), ids=9, change=scaled(value__kernel=1e8))


def attending_to(kind):
    return functional(kind, (5, 8), [
        (layer("Dense", "front", units=8), ["x"]), (layer("Dense", "values", units=8), ["x"]),
        (layer(kind, "probe"), ["front", "values"]), (pool(1), ["probe"]), (head(), ["pool"])])  # fmt: skip


def causal():
    return functional("causal", (5, 8), [
        (layer("Dense", "front", units=8), ["x"]), (layer("MultiHeadAttention", "probe", num_heads=2, key_dim=4, dropout=0.1), ["front", "front"]),
        (layer("LayerNormalization", "behind"), ["probe"]), (pool(1), ["behind"]), (head(), ["pool"])])  # fmt: skip


def spectral(*behind):
    return sequential("spectral", (12,), [layer("SpectralNormalization", "probe", layer=layer("Dense", "inner", units=8)), *behind, head()])


def attentions(random):
    def model(name, probe):
        return functional(name, (5, 8), [
            (layer("Dense", "front", units=8), ["x"]), (probe, ["front", "front"]), (pool(1), ["probe"]), (head(), ["pool"])])  # fmt: skip

    grouped = layer("GroupedQueryAttention", "probe", head_dim=4, num_query_heads=4, num_key_value_heads=2)
    yield Further("grouped_queries", model("grouped", grouped), (5, 8), "forward", ("overflow", "nan"), change=scaled(value__kernel=float(10 ** random.uniform(7, 8))))
    for kind, factor in (("Attention", 1e3), ("AdditiveAttention", 5e4)):
        yield Further(
            f"scores_{kind}", attending_to(kind), (5, 8), "forward", ("overflow", "nan"), blamed="*",
            change=scaled(front__kernel=factor, values__kernel=factor),
        )  # fmt: skip
    yield Further("attention_output", causal(), (5, 8), "forward", ("overflow", "nan"), change=scaled(attention_output__kernel=1e7))
    yield Further("attention_bias", causal(), (5, 8), "forward", ("overflow", "nan"), change=first_of("query/bias", 1e6))
    yield Further("grouped_scores", model("grouped", grouped), (5, 8), "forward", ("overflow", "nan"), change=scaled(query__kernel=5e3, key__kernel=5e3))


def merges(random):
    def model(kind, **config):
        return functional(kind, (12,), [
            (layer("Dense", "left", units=8), ["x"]), (layer("Dense", "right", units=8), ["x"]),
            (layer(kind, "probe", **config), ["left", "right"]), (layer("ReLU", "absorber", max_value=6.0), ["probe"]), (head(), ["absorber"])])  # fmt: skip

    large = both(filled(left__kernel=0, right__kernel=0, left__bias=float(random.uniform(4e4, 6e4))))
    yield Further("sum_of_two", model("Add"), (12,), "forward", ("overflow",), change=both(large, filled(right__bias=4e4)), is_absorbed=True)
    yield Further("difference_of_two", model("Subtract"), (12,), "forward", ("overflow",), change=both(large, filled(right__bias=-4e4)), is_absorbed=True)
    yield Further("product_of_two", model("Multiply"), (12,), "forward", ("overflow",), change=both(large, filled(right__bias=4e4)), is_absorbed=True)
    yield Further("mean_of_two", model("Average"), (12,), "forward", ("overflow",), change=both(large, filled(right__bias=5e4)), is_absorbed=True)
    yield Further("behind_spectral", spectral(rescaling("amplifier", 1e6)), (12,), "forward", ("overflow",), blamed="amplifier")
    small = filled(left__kernel=0, right__kernel=0, left__bias=1e-4, right__bias=float(random.uniform(1e-5, 5e-5)))
    yield Further("small_product_of_two", model("Multiply"), (12,), "forward", ("underflow",), change=small)


def random_layers(random):
    for name, probe, bias in (
        ("dropout", layer("Dropout", "probe", rate=0.99), random.uniform(1e4, 5e4)),
        ("gaussian_dropout", layer("GaussianDropout", "probe", rate=0.9), random.uniform(4e4, 6e4)),
    ):
        layers = [layer("Dense", "front", units=64), probe, layer("ReLU", "absorber", max_value=6.0), head()]
        change = filled(front__kernel=0, front__bias=float(bias))
        yield Further(name, sequential(name, (12,), layers), (12,), "forward", ("overflow",), change=change, is_absorbed=True)


def activations(random):
    for name, bias in (("gelu", 0), ("silu", 0), ("mish", 0), ("softplus", 0), ("elu", 0), ("leaky_relu", 0)):
        layers = [layer("Dense", "front", units=8), rescaling("probe", 1e4), layer("Activation", "function", activation=name),
                  layer("ReLU", "absorber", max_value=6.0), head()]  # fmt: skip
        yield Further(
            f"function_{name}", sequential(name, (12,), layers), (12,), "forward", ("overflow",), change=first_of("front/bias", 40.0 + bias),
            is_absorbed=True,
        )  # fmt: skip
    layers = [layer("Dense", "front", units=8), layer("Activation", "probe", activation="exponential"), rescaling("behind", 1e3), head()]
    yield Further(
        "small_exponential", sequential("small", (12,), layers), (12,), "forward", ("underflow",), change=both(scaled(front__kernel=0.1), filled(front__bias=-30)),
    )  # fmt: skip


def normalizations(random):
    layers = [layer("Normalization", "probe", axis=-1, mean=[0.0] * 12, variance=[0.0] * 12), layer("ReLU", "absorber", max_value=6.0), head()]
    yield Further("no_variance", sequential("none", (12,), layers), (12,), "forward", ("overflow", "division", "underflow"), is_absorbed=True)
    layers = [rescaling("probe", float(10 ** random.uniform(5, 6))), layer("LayerNormalization", "absorber"), head()]
    yield Further("large_rows", sequential("large", (12,), layers), (12,), "forward", ("overflow",), is_absorbed=False)
    layers = [rescaling("front", 400.0), layer("BatchNormalization", "probe", momentum=0.5), head()]
    yield Further(
        "moving_variance", sequential("moving", (12,), layers), (12,), "forward", ("overflow",), policy="float16",
        change=filled(moving_mean=0, moving_variance=1), options=(*SGD, "--loss-scale=none"),
    )  # fmt: skip
    layers = [layer("Dense", "front", units=12), layer("UnitNormalization", "unit"), rescaling("probe", 1e-9), rescaling("back", 1e6), head()]
    yield Further("unit_rows", sequential("unit", (12,), layers), (12,), "forward", ("underflow",))


def optimizers(random):
    dense = sequential("dense", (12,), [layer("Dense", "probe", units=16), head()])
    small = scaled(head__kernel=1e-3)
    common = dict(policy="float16", blamed="*")
    for name in ("adamw", "lamb", "adagrad", "adafactor"):
        yield Further(
            f"slot_{name}", dense, (12,), "optimizer", ("underflow",), change=small, options=(f"--optimizer={name}", "--loss-scale=none"), **common,
        )  # fmt: skip
    for name in ("lion", "adam", "sgd"):
        yield Further(
            f"rate_{name}", dense, (12,), "optimizer", ("underflow",),
            options=(f"--optimizer={name}", f"--learning-rate={10 ** random.uniform(-9, -8.5):.3e}", "--loss-scale=none"), **common,
        )  # fmt: skip
    yield Further(
        "large_rate_lion", dense, (12,), "optimizer", ("overflow", "nan"), options=("--optimizer=lion", "--learning-rate=1e6", "--loss-scale=none"), **common
    )
    for name, kinds, kind, config in (
        ("averaged", ("underflow",), "SGD", {"learning_rate": 1e-8, "use_ema": True, "ema_momentum": 0.9}),
        ("momentum", ("overflow", "nan"), "SGD", {"learning_rate": 1e6, "momentum": 0.9}),
        ("centered", ("underflow",), "RMSprop", {"learning_rate": 0.001, "centered": True}),
    ):
        yield Further(
            f"configured_{name}", dense, (12,), "optimizer", kinds, change=small if name == "centered" else None, options=("--loss-scale=none",),
            configs={"optimizer": {"class_name": kind, "config": config}}, **common,
        )  # fmt: skip
    yield Further(
        "accumulated", dense, (12,), "backward", ("overflow",), blamed="*", options=("--loss-scale=fixed:1e8",),
        configs={"optimizer": {"class_name": "SGD", "config": {"learning_rate": 0.01, "gradient_accumulation_steps": 2}}},
    )  # fmt: skip
    yield Further(
        "large_decay", dense, (12,), "optimizer", ("overflow", "nan"), **common,
        options=("--loss-scale=none",), configs={"optimizer": {"class_name": "AdamW", "config": {"learning_rate": 1e4, "weight_decay": 1e4}}},
    )  # fmt: skip


def clippings(random):
    """The square of a norm is beyond float32; the gradients are not."""
    dense = sequential("dense", (12,), [layer("Dense", "probe", units=16), layer("Dense", "head", units=1)])
    scale = float(10 ** random.uniform(21, 22))

    def values(x, y):
        return x, x[:, :1] * numpy.float32(1e15)

    for name in ("clipnorm", "global_clipnorm"):
        yield Further(
            f"large_{name}", dense, (12,), "optimizer", ("overflow", "nan"), policy="float32", blamed="*", data=values,
            options=("--loss=mean_squared_error", "--loss-scale=none"), change=scaled(head__kernel=1e10, probe__kernel=1e-9 * scale / 1e21),
            configs={"optimizer": {"class_name": "SGD", "config": {"learning_rate": 0.01, name: 1.0}}},
        )  # fmt: skip


def regularizers(random):
    l2 = {"module": "keras.regularizers", "class_name": "L2", "config": {"l2": 0.01}}
    layers = [layer("Dense", "probe", units=16, kernel_regularizer=l2), layer("ReLU", "absorber", max_value=6.0), head()]
    large = scaled(probe__kernel=float(10 ** random.uniform(20, 22)))
    yield Further("regularizer", sequential("regular", (12,), layers), (12,), "forward", ("overflow",), policy="float32", change=large)
    layers = [layer("Dense", "probe", units=16, activity_regularizer=l2), layer("ReLU", "absorber", max_value=6.0), head()]
    yield Further("activity", sequential("active", (12,), layers), (12,), "forward", ("overflow",), policy="float32", change=large)


def losses(random):
    def far(x, y):
        return x, x[:, :1] * 1e4

    line = sequential("line", (12,), [layer("Dense", "head", units=1)])
    dense = sequential("dense", (12,), [layer("Dense", "front", units=16), head()])
    for name in ("mean_squared_error", "log_cosh", "huber", "mean_absolute_error"):
        # Targets are of the loss, whose gradient the layer rounds.
        yield Further(
            f"loss_{name}", line, (12,), "backward", ("overflow",), blamed="head", data=far,
            options=(f"--loss={name}", *SGD, "--loss-scale=fixed:1e8"),
        )  # fmt: skip
    yield Further(
        "loss_kl_divergence", dense, (12,), "backward", ("overflow",), blamed="*", data=lambda x, y: (x, numpy.eye(4, dtype="float32")[y]),
        options=("--loss=kl_divergence", *SGD, "--loss-scale=fixed:1e9"),
    )  # fmt: skip
    # Two labels of three classes in six steps, which pad them with the blank, class 0.
    labels = sequential("labels", (6, 8), [layer("Dense", "front", units=16), layer("Dense", "head", units=4)])
    for name, direction, options, change in (
        ("loss_ctc", "backward", ("--loss-scale=fixed:1e9",), None),
        ("logits_of_ctc", "forward", (), scaled(head__kernel=1e6)),
        ("healthy_ctc", None, (), None),
    ):
        yield Further(
            name, labels, (6, 8), direction, ("overflow",), blamed="head", change=change, options=("--loss=ctc", *SGD, *options),
            data=lambda x, y: (x, numpy.stack([y % 3 + 1, (y + 1) % 3 + 1, *[y * 0] * 4], 1)),
        )  # fmt: skip
    yield Further(
        "targets_of_zero", line, (12,), "backward", ("overflow",), blamed="*", data=lambda x, y: (x, x[:, :1] * 0),
        options=("--loss=mean_absolute_percentage_error", *SGD, "--loss-scale=fixed:1024"),
    )  # fmt: skip
    yield Further(
        "far_targets", line, (12,), "forward", ("overflow",), blamed="*", policy="float32",
        data=lambda x, y: (x, numpy.abs(x[:, :1]) * 1e30), options=("--loss=mean_squared_error", *SGD),
    )  # fmt: skip
    yield Further(
        "weights_of_samples", dense, (12,), "backward", ("overflow",), blamed="head", weights=lambda x: numpy.full(len(x), 1e9, "float32"),
        options=(*SGD, "--loss-scale=none"),
    )  # fmt: skip
    yield Further(
        "huge_weights_of_samples", dense, (12,), "forward", ("overflow",), blamed="*", policy="float32",
        weights=lambda x: numpy.full(len(x), 3e38, "float32"),
    )  # fmt: skip
    yield Further(
        "tiny_weights_of_samples", dense, (12,), "backward", ("underflow",), blamed="head", weights=lambda x: numpy.full(len(x), 1e-8, "float32"),
        options=(*SGD, "--loss-scale=none"),
    )  # fmt: skip
    yield Further(
        "smoothed_labels", dense, (12,), "backward", ("overflow",), blamed="head", data=lambda x, y: (x, numpy.eye(4, dtype="float32")[y]),
        options=(*SGD, "--loss-scale=fixed:1e8"), configs={"loss": {"class_name": "CategoricalCrossentropy", "config": {"label_smoothing": 0.1}}},
    )  # fmt: skip


def steps(random):
    """A row of the last step alone."""

    def last(x, y):
        x[2 * BATCH + 3] = 1e7
        return x, y

    for name in ("separable1d", "einsum_heads", "grouped"):
        shape, model = of_family(name)
        yield Further(f"last_step_{name}", model, shape, "forward", ("overflow", "nan"), blamed="*", data=last, step=2)


def healthy(random):
    for name in FAMILIES:
        shape, model = of_family(name)
        for policy in ("mixed_float16", "mixed_bfloat16"):
            yield Further(f"healthy_{name}_{policy}", model, shape, None, policy=policy, options=("--optimizer=adam",))
    for name, absorber in ABSORBERS.items():
        layers = [layer("Conv1D", "probe", filters=6, kernel_size=[2]), absorber, pool(1), head()]
        yield Further(f"healthy_{name}", sequential(name, (6, 4), layers), (6, 4), None)
    dense = sequential("dense", (12,), [layer("Dense", "probe", units=16, activation="gelu"), layer("Dropout", "dropout", rate=0.3), head()])
    for name in ("adamw", "lamb", "adagrad", "adamax", "ftrl", "adafactor", "lion", "nadam"):
        yield Further(f"healthy_{name}", dense, (12,), None, options=(f"--optimizer={name}",))
    for name in ("clipnorm", "global_clipnorm"):
        yield Further(
            f"healthy_{name}", dense, (12,), None, options=(), configs={"optimizer": {"class_name": "SGD", "config": {"learning_rate": 0.01, name: 1.0}}}
        )
    yield Further("healthy_spectral", spectral(), (12,), None)
    yield Further("healthy_causal", causal(), (5, 8), None)
    for kind in ("Attention", "AdditiveAttention"):
        yield Further(f"healthy_{kind}", attending_to(kind), (5, 8), None)
    yield Further(
        "healthy_averaged", dense, (12,), None, options=(), configs={"optimizer": {"class_name": "AdamW", "config": {"use_ema": True}}}
    )
    layers = [layer("Dense", "front", units=8), layer("BatchNormalization", "probe"), head()]
    yield Further("healthy_statistics", sequential("statistics", (12,), layers), (12,), None, policy="float16", options=(*SGD, "--loss-scale=none"))
    yield Further("healthy_words", words(**MASKED), (6,), None, ids=9)
    yield Further(
        "healthy_smoothed_labels", dense, (12,), None, data=lambda x, y: (x, numpy.eye(4, dtype="float32")[y]),
        configs={"loss": {"class_name": "CategoricalCrossentropy", "config": {"label_smoothing": 0.1}}},
    )  # fmt: skip
    yield Further("healthy_weights_of_samples", dense, (12,), None, weights=lambda x: numpy.linspace(0, 2, len(x), dtype="float32"))
    l2 = {"module": "keras.regularizers", "class_name": "L2", "config": {"l2": 0.01}}
    layers = [layer("Dense", "probe", units=16, kernel_regularizer=l2, activity_regularizer=l2), head()]
    yield Further("healthy_regularizers", sequential("regular", (12,), layers), (12,), None)
    for name, probe, shape, behind in (
        ("gru", cell_of("GRU", reset_after=False), (5, 6), []),
        ("conv_lstm1d", conv_lstm("ConvLSTM1D", 3), (4, 6, 2), [pool(1)]),
        ("conv_lstm2d", conv_lstm("ConvLSTM2D", 3, 3), (3, 5, 5, 2), [pool(2)]),
        ("bidirectional", wrapped("GRU"), (5, 6), []),
    ):
        yield Further(f"healthy_{name}", sequential(name, shape, [probe, *behind, head()]), shape, None)


def make_all(seed):
    random = numpy.random.default_rng(seed)
    makers = (family_faults, absorbed, recurrent, embeddings, attentions, merges, random_layers, activations, normalizations, optimizers,
              clippings, regularizers, losses, steps, healthy)  # fmt: skip
    return [fault for maker in makers for fault in maker(random)]
