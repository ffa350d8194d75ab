# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Faults of number formats, made to order: what is changed in a small trained model, and what is to be
blamed for it."""

import dataclasses

import numpy

from models import FAMILIES, rescaling, layer

# Layers behind `probe` that make something finite of infinities.
ABSORBERS = {
    "tanh": layer("Activation", "absorber", activation="tanh"),
    "clip": layer("ReLU", "absorber", max_value=6.0),
    "sigmoid": layer("Activation", "absorber", activation="sigmoid"),
}
# Families whose weight is multiplied with what comes in, so that its gradient is a product, too.
PRODUCTS = ("dense", "conv", "depthwise", "lstm", "gru")
RECURRENT = ("lstm", "gru")


@dataclasses.dataclass
class Fault:
    name: str
    family: str
    direction: str  # None: a healthy model
    kinds: tuple = ()
    blamed: str = "probe"
    policy: str = "mixed_float16"
    options: tuple = ("--optimizer=sgd", "--learning-rate=0.01")
    before: tuple = ()
    after: tuple = ()
    factors: dict = dataclasses.field(default_factory=dict)  # of weights, by the end of their path
    largest: float = 0.0  # what the largest weight of the probe becomes
    offset: float = 0.0  # of the first element of the probe's bias or beta
    is_absorbed: bool = False
    step: int = 0

    @property
    def key(self):
        """Cases of one key share a compiled model."""
        return (self.family, self.policy, self.options, str(self.before), str(self.after))


def weight_of(family):
    return {"embedding": "embeddings", "batch_norm": "gamma", "layer_norm": "gamma"}.get(family, "kernel")


def forward_overflow(family, random, absorber=None):
    """Weights that float16 holds, if something behind them is to be finite: sums of infinities are not."""
    factor = float(10 ** random.uniform(7, 8))
    is_absorbed = bool(absorber) or family in RECURRENT
    weights = {"factors": {"/" + weight_of(family): factor}}
    if is_absorbed and family in PRODUCTS:
        weights = {"largest": float(random.uniform(5e4, 6.5e4))}
    return Fault(
        f"forward_overflow_{family}" + (f"_{absorber}" if absorber else ""), family, "forward",
        ("overflow", "nan"), after=(ABSORBERS[absorber],) if absorber else (),
        is_absorbed=is_absorbed, **weights,
    )  # fmt: skip


def masked_softmax(family, random):
    """A class that is hidden as masks hide scores, by a number that is beyond float16."""
    return Fault(
        f"forward_overflow_{family}_softmax", family, "forward", ("overflow",),
        after=(layer("Softmax", "absorber"),), offset=-float(10 ** random.uniform(5.5, 9)), is_absorbed=True,
    )  # fmt: skip


def forward_underflow(family, random):
    factor = float(10 ** random.uniform(-11, -9))
    return Fault(
        f"forward_underflow_{family}", family, "forward", ("underflow",),
        factors={"/" + weight_of(family): factor, "probe/bias": 0.0, "/beta": 0.0},
    )  # fmt: skip


def backward_overflow(family, random):
    """What comes in is large and the weights are small: the forward pass is as ever, and the gradient of
    the weights overflows."""
    factor = float(10 ** random.uniform(3, 3.5))
    return Fault(
        f"backward_overflow_{family}", family, "backward", ("overflow", "nan"),
        options=("--optimizer=sgd", "--learning-rate=0.01", "--loss-scale=fixed:65536"),
        before=(rescaling("large", factor),), factors={"probe/kernel": 1 / factor, "cell/kernel": 1 / factor},
    )  # fmt: skip


def backward_overflow_of_amplifier(family, random):
    factor = float(10 ** random.uniform(4.6, 4.75))
    return Fault(
        f"backward_overflow_amplifier_{family}", family, "backward", ("overflow", "nan"), blamed="amplifier",
        options=("--optimizer=sgd", "--learning-rate=0.01"),
        after=(rescaling("shrinker", 1 / factor), rescaling("amplifier", factor)),
    )  # fmt: skip


def backward_underflow(family, random):
    factor = float(10 ** random.uniform(-7.2, -6.8))  # of what is a thousand times as large forward
    return Fault(
        f"backward_underflow_{family}", family, "backward", ("underflow",), blamed="shrinker",
        options=("--optimizer=sgd", "--learning-rate=0.01", "--loss-scale=none"),
        after=(rescaling("enlarger", 1e3), rescaling("shrinker", factor)),
    )  # fmt: skip


def optimizer_underflow(family, random):
    rate = 10 ** random.uniform(-5.5, -5)  # float32 holds such updates
    return Fault(
        f"optimizer_underflow_{family}", family, "optimizer", ("underflow",), policy="float16", blamed="*",
        options=("--optimizer=sgd", f"--learning-rate={rate:.3e}", "--loss-scale=none"),
    )  # fmt: skip


def optimizer_overflow(family, random):
    rate = 10 ** random.uniform(8, 9)
    return Fault(
        f"optimizer_overflow_{family}", family, "optimizer", ("overflow", "nan"), policy="float16", blamed="*",
        options=("--optimizer=sgd", f"--learning-rate={rate:.3e}", "--loss-scale=none"),
    )  # fmt: skip


# Policy, optimizer, learning rate and loss scale of healthy models.
SOUND = [
    ("mixed_float16", "sgd", 0.05, "auto"),
    ("mixed_bfloat16", "adam", 0.003, "auto"),
    ("mixed_float16", "adam", 0.003, "auto"),
    ("float32", "rmsprop", 0.003, "auto"),
    ("mixed_float16", "rmsprop", 0.003, "fixed:1024"),
    ("mixed_bfloat16", "sgd", 0.05, "auto"),
    ("mixed_float16", "sgd", 0.05, "dynamic:65536:2000"),
    ("float16", "sgd", 0.05, "none"),
]


def healthy(family, policy, optimizer, rate, scale):
    return Fault(
        f"healthy_{family}_{policy}_{optimizer}_{scale.replace(':', '_')}", family, None, policy=policy,
        options=(f"--optimizer={optimizer}", f"--learning-rate={rate}", f"--loss-scale={scale}"),
    )  # fmt: skip


def make_all(seed):
    """The same faults for the same seed: 60 faulty models, and 60 healthy ones."""
    random = numpy.random.default_rng(seed)
    families = list(FAMILIES)
    faulty = [forward_overflow(f, random) for f in families]
    absorbers = list(ABSORBERS)
    for i, f in enumerate(f for f in families if f not in RECURRENT):
        for j in range(2):
            faulty.append(forward_overflow(f, random, absorbers[(i + j) % len(absorbers)]))
    faulty += [masked_softmax(f, random) for f in families if f not in (*RECURRENT, "embedding")]
    faulty += [forward_underflow(f, random) for f in families]
    # Gradients of what the steps of a recurrent layer share are float32.
    faulty += [backward_overflow(f, random) for f in PRODUCTS if f not in RECURRENT]
    faulty += [backward_overflow_of_amplifier(f, random) for f in families if f != "embedding"]
    faulty += [backward_underflow(f, random) for f in families]
    faulty += [optimizer_underflow(f, random) for f in families]
    faulty += [optimizer_overflow(f, random) for f in PRODUCTS]
    sound = [healthy(f, *setting) for setting in SOUND for f in families]
    return faulty, sound
