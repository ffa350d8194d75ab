# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Files between real Keras and mpc: what mpc-convert writes, Keras loads and trains on with the same
next loss; what Keras writes, mpc goes on from. Usage: keras_files.py BIN"""

import os
import subprocess
import sys
import tempfile

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import bfloat16_products
import keras
import numpy
from keras import layers

bfloat16_products.round_once()
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import named_tests  # noqa: E402

ROWS = 8
# Relative: eager Keras rounds each operation of a 16-bit layer, mpc each layer.
TOLERANCES = {"float32": 1e-5, "mixed_bfloat16": 3e-2, "mixed_float16": 3e-3, "scaled": 3e-3}


def make_model(kind):
    """Nested and shared layers, policies layer by layer and by a map."""
    policy = "mixed_float16" if kind == "scaled" else kind
    keras.utils.set_random_seed(7)
    by_path = keras.dtype_policies.DTypePolicyMap(default_policy=policy)
    by_path["head"] = keras.DTypePolicy("float32")
    inside = keras.Input((5,), name="inside")
    inner = keras.Model(inside, layers.Dense(4, activation="tanh", dtype=policy, name="in")(inside), name="inner")
    a = keras.Input((5,), name="a")
    b = keras.Input((5,), name="b")
    both = layers.Concatenate(dtype=policy)([inner(a), inner(b)])
    tail = keras.Sequential([layers.Dense(6, activation="relu", dtype=policy)], name="tail")(both)
    head = layers.Dense(3, activation="softmax", dtype=by_path, name="head")(tail)
    model = keras.Model([a, b], head)
    optimizer = keras.optimizers.Adam(0.01)
    if kind == "scaled":
        optimizer = keras.optimizers.LossScaleOptimizer(optimizer, initial_scale=256.0, dynamic_growth_steps=3)
    model.compile(optimizer, "sparse_categorical_crossentropy", run_eagerly=True, auto_scale_loss=False)
    return model


def policies(model):
    found = []
    for layer in model._flatten_layers(include_self=False):
        found.append((layer.name, keras.dtype_policies.serialize(layer.dtype_policy)))
    return found


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit {result.returncode}\n{result.stderr[-1500:]}")


def step(model, x, y):
    return float(numpy.ravel(model.train_on_batch(x, y))[0])


def values(variables):
    return [keras.ops.convert_to_numpy(variable) for variable in variables]


def equal(one, other):
    pairs = list(zip(values(one), values(other)))
    return len(one) == len(other) == len(pairs) > 0 and all((a == b).all() for a, b in pairs)


class Case:
    def __init__(self, kind, tools, folder):
        self.kind, self.tools, self.folder = kind, tools, folder
        self.results = {}
        numbers = numpy.random.RandomState(3)
        self.x = [numbers.randn(ROWS, 5).astype("float32") for _ in range(2)]
        self.y = numbers.randint(0, 3, size=ROWS).astype("int32")
        numpy.savez(self.path("data.npz"), a=self.x[0], b=self.x[1], y0=self.y)

    def path(self, name):
        return os.path.join(self.folder, f"{self.kind}-{name}")

    def tool(self, name, *arguments):
        run(os.path.join(self.tools, name), *arguments)

    def train(self, steps, *arguments):
        self.tool("mpc-run", "train", self.path("model.mpc"), "--data", self.path("data.npz"), "--shuffle=off",
                  "--batch-size", str(ROWS), "--epochs", "1", "--steps", str(steps), *arguments)  # fmt: skip

    def close(self, what, got, expected):
        error = abs(got - expected) / max(abs(expected), 1e-6)
        self.results[f"{what}: {got:.7g}, expected {expected:.7g}"] = error <= TOLERANCES[self.kind]

    def check(self):
        model = make_model(self.kind)
        for _ in range(4):
            step(model, self.x, self.y)
        model.save(self.path("model.keras"))
        before = values(model.optimizer.variables)

        # Keras to mpc: two more steps, each loss as Keras's.
        loss_scale = [] if self.kind == "scaled" else ["--loss-scale=none"]
        self.tool("mpcc", self.path("model.keras"), "--output-guard=off", "--name=model", *loss_scale,
                  "-o", self.path("model.mpc"))  # fmt: skip
        self.train(2, "--trace", self.path("trace.npz"), "--save", self.path("trained.safetensors"))
        expected = [step(model, self.x, self.y) for _ in range(3)]
        traced = numpy.load(self.path("trace.npz"))["loss"]
        for i in range(2):
            self.close(f"mpc's loss {i}", float(traced[i]), expected[i])

        # mpc to Keras, by every kind of file: the next loss.
        self.tool("mpc-convert", self.path("trained.safetensors"), "--model", self.path("model.keras"),
                  *loss_scale, "-o", self.path("trained.keras"))  # fmt: skip
        loaded = keras.models.load_model(self.path("trained.keras"))
        self.results["policies"] = policies(loaded) == policies(model)
        loaded.run_eagerly = True
        state = len(loaded.optimizer.variables) == len(model.optimizer.variables)
        self.results["number of optimizer variables"] = state
        self.close("Keras's next loss", step(loaded, self.x, self.y), expected[2])

        # An untrained round trip changes nothing.
        self.tool("mpc-convert", self.path("model.keras"), *loss_scale, "-o", self.path("same.npz"))
        self.tool("mpc-convert", self.path("same.npz"), "--model", self.path("model.keras"), *loss_scale,
                  "-o", self.path("same.keras"))  # fmt: skip
        same = keras.models.load_model(self.path("same.keras"))
        self.results["round trip"] = equal(before, same.optimizer.variables)

        # Legacy and weights-only files.
        self.tool("mpc-convert", self.path("model.keras"), *loss_scale, "-o", self.path("legacy.h5"))
        old = keras.models.load_model(self.path("legacy.h5"), compile=False)
        reference = keras.models.load_model(self.path("model.keras"))
        self.results["legacy file"] = equal(old.variables, reference.variables)
        self.tool("mpc-convert", self.path("model.keras"), *loss_scale, "-o", self.path("only.weights.h5"))
        fresh = make_model(self.kind)
        fresh.load_weights(self.path("only.weights.h5"))
        self.results["weights file"] = equal(fresh.variables, reference.variables)
        wrong = [what for what, good in self.results.items() if not good]
        if wrong:
            raise RuntimeError("; ".join(wrong))
        return f"({'; '.join(self.results)})"


# Options of mpcc, and what Keras shall have of them: the optimizer's class, that inside of it, and the rate.
NAMED = [
    (["--optimizer=AdamW", "--learning-rate=0.25"], "AdamW", None, 0.25),
    (["--optimizer=sgd"], "SGD", None, 0.01),
    (["--optimizer=schedulefreeadamw", "--learning-rate=0.5"], "ScheduleFreeAdamW", None, 0.5),
    (["--optimizer=rmsprop", "--loss-scale=fixed:16"], "RMSprop", None, 0.001),
    (["--optimizer=adam", "--learning-rate=0.125", "--loss-scale=dynamic:1024:10"], "LossScaleOptimizer", "Adam", 0.125),
    (["--learning-rate=0.5"], "Adam", None, 0.5),
]


def check_named(tools, folder):
    """Optimizers that options name are objects which Keras finds, in every format."""
    path = os.path.join(folder, "plain.keras")
    make_model("float32").save(path)
    for number, (options, name, inner, rate) in enumerate(NAMED):
        for suffix in ("keras", "h5"):
            written = os.path.join(folder, f"named{number}.{suffix}")
            run(os.path.join(tools, "mpc-convert"), path, "--model", path, "--loss=sparse_categorical_crossentropy",
                *([] if any("loss-scale" in option for option in options) else ["--loss-scale=none"]), *options, "-o", written)  # fmt: skip
            optimizer = keras.models.load_model(written).optimizer
            found = type(getattr(optimizer, "inner_optimizer", None)).__name__ if inner else None
            if (type(optimizer).__name__, found) != (name, inner) or abs(float(optimizer.learning_rate) - rate) > 1e-6:
                raise RuntimeError(f"{options} as {suffix}: {type(optimizer).__name__}, {found}, {float(optimizer.learning_rate)}")
    return f"({2 * len(NAMED)} files)"


def main():
    tools = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        tests = {kind: Case(kind, tools, folder).check for kind in TOLERANCES}
        return named_tests.run({**tests, "optimizers that options name": lambda: check_named(tools, folder)})


if __name__ == "__main__":
    sys.exit(main())
