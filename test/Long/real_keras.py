# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random models, losses, metrics and optimizers with random options, trained by real Keras and by mpc.

Each model is saved by Keras, compiled by mpcc and compared: predictions, and after a few steps the
losses, metrics, weights and optimizer variables. Case N is the same in every run.
Usage: real_keras.py BIN [MODELS [FIRST]] [--keep FOLDER]
"""

import argparse
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
from keras import layers, losses, metrics, optimizers

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import schedule_free  # noqa: E402

bfloat16_products.round_once()
schedule_free.read_momentum_before_update()

ACTIVATIONS = ["relu", "tanh", "sigmoid", "linear", "elu", "selu", "softplus", "silu", "gelu"]
# Relative to the root mean square of the array; a few ulp per layer, as in the fixtures. Weights are
# held against how far training moved them.
TOLERANCES = {"float32": 1e-4, "mixed_bfloat16": 8e-2, "mixed_float16": 1e-2}
MOVED = {"float32": 2e-3, "mixed_bfloat16": 2e-1, "mixed_float16": 5e-2}
CLASSES = 5


def hidden_layers(generator, x):
    for _ in range(generator.randrange(1, 4)):
        units = generator.randrange(3, 48)
        kind = generator.randrange(6)
        if kind == 0:
            a = layers.Dense(units, activation=generator.choice(ACTIVATIONS))(x)
            b = layers.Dense(units, use_bias=False)(x)
            x = generator.choice([layers.Add, layers.Multiply, layers.Maximum, layers.Average])()([a, b])
        elif kind == 1:
            x = layers.Concatenate()([layers.Dense(units)(x), x])
        elif kind == 2:
            x = layers.Reshape((2, units))(layers.Dense(2 * units)(x))
            x = layers.Flatten()(layers.Permute((2, 1))(x))
        elif kind == 3:
            # A bias linearly in front of a BatchNormalization has no gradient; optimizers make steps of its rounding noise.
            x = layers.Dense(units, use_bias=False)(layers.Activation("tanh")(x))
            x = generator.choice([layers.BatchNormalization, layers.LayerNormalization])()(x)
        elif kind == 4:
            regularizer = generator.choice([keras.regularizers.L2(0.01), keras.regularizers.L1(0.003), keras.regularizers.L1L2(0.001, 0.01)])
            constraint = generator.choice([None, None, keras.constraints.MaxNorm(1.0), keras.constraints.UnitNorm()])
            x = layers.Dense(units, kernel_regularizer=regularizer, kernel_constraint=constraint, activation="tanh")(x)
        else:
            x = layers.Dense(units)(x)
            x = generator.choice([layers.LeakyReLU, layers.ELU, layers.PReLU, layers.ReLU])()(x)
    return x


def random_head(generator):
    """(kind of target, output activation, loss, metrics)."""
    logits = generator.random() < 0.5
    kind = generator.choice(["labels", "one_hot", "binary", "real"])
    if kind == "labels":
        chosen = [metrics.SparseCategoricalAccuracy(), metrics.SparseTopKCategoricalAccuracy(k=2),
                  metrics.SparseCategoricalCrossentropy(from_logits=logits)]  # fmt: skip
        if generator.random() < 0.3:
            return kind, "softmax", losses.CategoricalGeneralizedCrossEntropy(q=0.5), chosen[:2]
        return kind, None if logits else "softmax", losses.SparseCategoricalCrossentropy(from_logits=logits), chosen
    if kind == "one_hot":
        loss = generator.choice([
            losses.CategoricalCrossentropy(from_logits=logits, label_smoothing=generator.choice([0.0, 0.1])),
            losses.CategoricalFocalCrossentropy(from_logits=logits, gamma=generator.choice([2.0, 1.5])),
            losses.KLDivergence(), losses.CategoricalHinge(),
        ])  # fmt: skip
        if not isinstance(loss, (losses.CategoricalCrossentropy, losses.CategoricalFocalCrossentropy)):
            logits = False
        chosen = [metrics.CategoricalAccuracy(), metrics.TopKCategoricalAccuracy(k=3), metrics.F1Score(average=generator.choice([None, "macro", "micro"])),
                  metrics.OneHotMeanIoU(CLASSES), metrics.CategoricalCrossentropy(from_logits=logits)]  # fmt: skip
        return kind, None if logits else "softmax", loss, chosen
    if kind == "binary":
        loss = generator.choice([
            losses.BinaryCrossentropy(from_logits=logits, label_smoothing=generator.choice([0.0, 0.2])),
            losses.BinaryFocalCrossentropy(from_logits=logits, apply_class_balancing=generator.random() < 0.5),
            losses.Hinge(), losses.SquaredHinge(), losses.Dice(), losses.Tversky(alpha=0.3, beta=0.6),
        ])  # fmt: skip
        if not isinstance(loss, (losses.BinaryCrossentropy, losses.BinaryFocalCrossentropy)):
            logits = False
        chosen = [metrics.BinaryAccuracy(threshold=0.5), metrics.Precision(thresholds=0.4), metrics.Recall(), metrics.AUC(num_thresholds=20),
                  metrics.FalsePositives(), metrics.BinaryIoU(), metrics.PrecisionAtRecall(0.5, num_thresholds=10)]  # fmt: skip
        return kind, None if logits else "sigmoid", loss, [] if logits else chosen
    loss = generator.choice([
        losses.MeanSquaredError(), losses.MeanAbsoluteError(), losses.Huber(delta=generator.choice([1.0, 0.3])), losses.LogCosh(),
        losses.MeanAbsolutePercentageError(), losses.MeanSquaredLogarithmicError(), losses.CosineSimilarity(axis=-1), losses.Poisson(),
    ])  # fmt: skip
    positive = isinstance(loss, (losses.MeanSquaredLogarithmicError, losses.Poisson))
    chosen = [metrics.MeanSquaredError(), metrics.RootMeanSquaredError(), metrics.R2Score(), metrics.MeanAbsoluteError(), metrics.CosineSimilarity(),
              metrics.LogCoshError(), metrics.PearsonCorrelation(), metrics.ConcordanceCorrelation()]  # fmt: skip
    return kind, "softplus" if positive else None, loss, chosen


def random_schedule(generator, rate):
    s = optimizers.schedules
    return generator.choice([
        lambda: rate, lambda: rate, lambda: rate, lambda: s.ExponentialDecay(rate, 2, 0.7, staircase=generator.random() < 0.5),
        lambda: s.PiecewiseConstantDecay([2, 4], [rate, rate / 2, rate / 4]), lambda: s.PolynomialDecay(rate, 4, rate / 10, power=2.0),
        lambda: s.InverseTimeDecay(rate, 2, 0.5), lambda: s.CosineDecay(rate, 5, alpha=0.1, warmup_target=rate * 2, warmup_steps=2),
        lambda: s.CosineDecayRestarts(rate, 3),
    ])()  # fmt: skip


def random_optimizer(generator, policy):
    g = generator
    kind = g.choice(["SGD", "RMSprop", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl", "Lion", "Lamb", "Adafactor", "Muon", "ScheduleFreeAdamW"])
    if kind == "Lion" and policy != "float32":
        kind = "Adam"  # Lion's step is the sign of a gradient, also of one that is only rounding
    rate = {"SGD": 0.05, "Adadelta": 0.5, "Adagrad": 0.05, "Ftrl": 0.05}.get(kind, 0.005)
    options = {"learning_rate": random_schedule(g, rate)}
    options.update({
        "SGD": lambda: dict(momentum=g.choice([0.0, 0.9]), nesterov=g.random() < 0.5),
        "RMSprop": lambda: dict(rho=0.8, momentum=g.choice([0.0, 0.5]), centered=g.random() < 0.5, epsilon=1e-5),
        "Adam": lambda: dict(beta_1=0.8, beta_2=0.99, amsgrad=g.random() < 0.5),
        "AdamW": lambda: dict(weight_decay=0.05, amsgrad=g.random() < 0.3),
        "Adagrad": lambda: dict(initial_accumulator_value=0.2), "Adadelta": lambda: dict(rho=0.9, epsilon=1e-5),
        "Ftrl": lambda: dict(l1_regularization_strength=0.01, l2_regularization_strength=0.02, beta=0.1),
        "Lion": lambda: dict(beta_1=0.8, beta_2=0.95), "Muon": lambda: dict(ns_steps=3),
        "ScheduleFreeAdamW": lambda: dict(beta_1=0.8, warmup_steps=g.choice([0, 3]), epsilon=1e-5),
    }.get(kind, dict)())  # fmt: skip
    extra = g.randrange(9)
    if extra == 0:
        options["clipnorm"] = 0.5
    elif extra == 1:
        options["clipvalue"] = 0.05
    elif extra == 2:
        options["global_clipnorm"] = 0.8
    elif extra == 3 and kind != "AdamW":
        options["weight_decay"] = 0.02
    elif extra == 4:
        options.update(use_ema=True, ema_momentum=0.9, ema_overwrite_frequency=g.choice([None, 2]))
    elif extra == 5:
        options["gradient_accumulation_steps"] = 2
    return getattr(optimizers, kind)(**options)


def random_model(generator, policy):
    keras.utils.set_random_seed(generator.randrange(2**31))
    keras.config.set_dtype_policy(policy)
    inputs = keras.Input(shape=(generator.randrange(3, 40),), name="x")
    x = hidden_layers(generator, inputs)
    kind, activation, loss, every = random_head(generator)
    outputs = layers.Dense(CLASSES, activation=activation, dtype="float32")(x)
    model = keras.Model(inputs, outputs)
    chosen = generator.sample(every, min(len(every), 2))
    weighted = generator.random() < 0.3
    model.compile(random_optimizer(generator, policy), loss=loss, metrics=[] if weighted else chosen,
                  weighted_metrics=chosen if weighted else [], run_eagerly=True)  # fmt: skip
    return model, kind, generator.random() < 0.4


def targets_of(kind, rows, numbers):
    labels = numbers.randint(0, CLASSES, size=rows).astype("int32")
    if kind == "labels":
        return labels
    if kind == "one_hot":
        return numpy.eye(CLASSES, dtype="float32")[labels]
    if kind == "binary":
        return numbers.randint(0, 2, size=(rows, CLASSES)).astype("float32")
    return (numpy.abs(numbers.randn(rows, CLASSES)) + 0.1).astype("float32")


def difference(got, expected, scale=None, norm=numpy.max):
    got, expected = numpy.float64(got), numpy.float64(expected)
    if got.shape != expected.shape or not numpy.array_equal(numpy.isfinite(got), numpy.isfinite(expected)):
        return float("inf")
    finite = numpy.isfinite(expected)
    if not finite.any():
        return 0.0
    scale = scale or numpy.sqrt(numpy.mean(expected[finite] ** 2)) or 1.0
    return float(norm(numpy.abs(got - expected)[finite])) / scale


def root_mean_square(values):
    return numpy.sqrt(numpy.mean(values**2))


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if result.returncode:
        raise RuntimeError(f"{os.path.basename(command[0])}: exit {result.returncode}\n{result.stderr.strip()[-900:]}")


def arrays(data, kind, part=slice(None)):
    """x0, x1, ... or y0, y1, ... as Keras takes them."""
    found = [data[f"{kind}{i}"][part] for i in range(len(data)) if f"{kind}{i}" in data]
    return found if len(found) > 1 else found[0]


def given(model, data, kind, part=slice(None)):
    """The same; by their names where the model's inputs or outputs are a dictionary."""
    structure = model.input if kind == "x" else model.output
    return {name: data[name][part] for name in structure} if isinstance(structure, dict) else arrays(data, kind, part)


def reference(model, data, steps, batch):
    """What Keras gives: predictions, per step the logs, afterwards the variables; and how far each moved."""
    before = {v.path: numpy.float64(v.numpy()) for v in model.variables}
    # As predict does, which calls every layer so, whatever the model's own calls say.
    outputs = model(given(model, data, "x"), training=False)
    predictions, logs = [output.numpy() for output in keras.tree.flatten(outputs)], []
    for step in range(steps):
        part = slice(step * batch, (step + 1) * batch)
        weights = data["sample_weight"][part] if "sample_weight" in data else None
        model.reset_metrics()
        logs.append(model.train_on_batch(given(model, data, "x", part), given(model, data, "y", part), sample_weight=weights, return_dict=True))
    after = {v.path: v.numpy() for v in model.variables}
    moved = {path: float(numpy.max(numpy.abs(after[path] - before[path]))) if after[path].dtype.kind in "fV" else 0 for path in after}
    return predictions, logs, after, moved


def judge(got, predictions, logs, after, moved, limits):
    """For each array how far it is from Keras's, as a part of the tolerance."""
    limit = TOLERANCES[limits]
    errors = {f"out{i}": difference(got[f"out{i}"], value) / limit for i, value in enumerate(predictions)}
    for step, values in enumerate(logs):
        for name, value in values.items():
            key = "loss" if name == "loss" else f"metric:{name}"
            scale = max(float(numpy.max(numpy.abs(value))), 0.05)
            errors[f"{key}@{step}"] = difference(got[key][step], value, scale) / (limit * 5) if key in got else float("inf")
            # Rounding may move one sample across a threshold or rank.
            if limits != "float32" and key != "loss" and "error" not in name and "crossentropy" not in name:
                del errors[f"{key}@{step}"]
    for name, value in after.items():
        if name.endswith("seed_generator_state") and f"final:{name}" not in got:
            continue  # of a layer that draws nothing
        # Adam and its kind make a whole step of the rounding noise where a 16-bit gradient is nearly nothing.
        norm = numpy.max if limits == "float32" else root_mean_square
        errors[f"final:{name}"] = difference(got[f"final:{name}"], value, max(moved[name], 1e-5), norm) / MOVED[limits]
    return errors


def within_keras(errors, path, data, steps, batch, predictions, logs, after, moved, limits):
    """The errors, of arrays that Keras compiled by XLA gives otherwise than eager Keras as parts of twice that difference, as
    the tolerances of the fixtures were chosen (keras/README.md among the fixtures)."""
    model = keras.saving.load_model(path)
    model.run_eagerly, model.jit_compile = False, True
    outputs, others, finals, _ = reference(model, data, steps, batch)
    other = {f"out{i}": value for i, value in enumerate(outputs)}
    for name in others[0]:
        other["loss" if name == "loss" else f"metric:{name}"] = [values[name] for values in others]
    other.update({f"final:{name}": value for name, value in finals.items()})
    spread = judge(other, predictions, logs, after, moved, limits)
    return {name: error / max(1, 2 * spread[name]) if numpy.isfinite(error) else error for name, error in errors.items()}


class OtherReference(Exception):
    """This process has no reference for the case."""


def sums_in_float16():
    """Whether TensorFlow's oneDNN sums float16 products in float16, as it does on CPUs with float16 arithmetic alone."""
    with open("/proc/cpuinfo", encoding="utf-8") as about:
        return os.environ.get("TF_ENABLE_ONEDNN_OPTS") != "0" and re.search(r"\bavx512_fp16\b", about.read()) is not None


def compare_without_onednn(arguments, number):
    """The case in a process of its own, in which TensorFlow sums float16 in float32."""
    command = [sys.executable, sys.argv[0], arguments.bin, "1", str(number)]
    child = subprocess.run(command, env={**os.environ, "TF_ENABLE_ONEDNN_OPTS": "0"}, stdout=subprocess.PIPE, text=True)
    print("".join(line for line in child.stdout.splitlines(keepends=True) if line.startswith(("ok ", "FAIL "))), end="")
    return child.returncode == 0


def compare(model, data, limits, what, tools, folder, steps, batch, options=()):
    """True, False or None (Keras refuses the combination); `options` are for mpcc."""
    path, npz = os.path.join(folder, "model.keras"), os.path.join(folder, "data.npz")
    if isinstance(model.optimizer, optimizers.ScheduleFreeAdamW):
        # Else load_model would build it, and copy the weights, before it has read them.
        model.optimizer.build(model.trainable_variables)
    model.save(path)
    try:
        model = keras.saving.load_model(path)
        model.run_eagerly = True
        predictions, logs, after, moved = reference(model, data, steps, batch)
    except Exception as error:  # Keras's refusals have many types
        print(f"skip {what}: Keras: {str(error).strip().splitlines()[-1][:150]}")
        return None
    numpy.savez(npz, **data)
    compiled = os.path.join(folder, "model.mpc")
    mpcc, mpc_run = os.path.join(tools, "mpcc"), os.path.join(tools, "mpc-run")
    run(mpcc, path, *options, "--output-guard=off", "--march=native", "--name=model", "-o", compiled)
    output, trace = os.path.join(folder, "out.npz"), os.path.join(folder, "trace.npz")
    run(mpc_run, "predict", compiled, "--inputs", npz, "--outputs", output)
    run(mpc_run, "train", compiled, "--data", npz, "--shuffle=off", "--batch-size", str(batch), "--steps", str(steps), "--trace", trace)
    got = dict(numpy.load(output))
    got.update(numpy.load(trace))
    errors = judge(got, predictions, logs, after, moved, limits)
    if max(errors.values()) > 1:
        errors = within_keras(errors, path, data, steps, batch, predictions, logs, after, moved, limits)
    worst = max(errors, key=errors.get)
    good = bool(errors[worst] <= 1)
    if not good and limits == "mixed_float16" and sums_in_float16():
        raise OtherReference()
    print(f"{'ok  ' if good else 'FAIL'} {what}: {worst} at {errors[worst]:.2g} of the tolerance")
    if not good:
        print(f"     {keras.saving.serialize_keras_object(model.optimizer)['config']}")
    return good


def check(number, tools, folder, steps=5, batch=8):
    generator = random.Random(number)
    policy = list(TOLERANCES)[number % 3]
    model, kind, weighted = random_model(generator, policy)
    rows = batch * steps
    numbers = numpy.random.RandomState(number)
    data = {"x0": numbers.randn(rows, model.inputs[0].shape[1]).astype("float32"), "y0": targets_of(kind, rows, numbers)}
    if weighted:
        data["sample_weight"] = numbers.uniform(0.2, 1.5, rows).astype("float32")
    optimizer = type(model.optimizer).__name__
    inner = getattr(model.optimizer, "inner_optimizer", None)
    what = f"model {number} {policy} {type(inner).__name__ if inner else optimizer} {type(model.loss).__name__} {model.loss.get_config()}"
    return compare(model, data, policy, what, tools, folder, steps, batch)


def main(check, description, models):
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("bin")
    parser.add_argument("models", nargs="?", type=int, default=models)
    parser.add_argument("first", nargs="?", type=int, default=0)
    parser.add_argument("--keep", help="folder for the files of failing models")
    arguments = parser.parse_args()
    tools = os.path.abspath(arguments.bin)
    failed = skipped = 0
    for number in range(arguments.first, arguments.first + arguments.models):
        with tempfile.TemporaryDirectory() as folder:
            try:
                good = check(number, tools, folder)
            except OtherReference:
                good = compare_without_onednn(arguments, number)
            except RuntimeError as error:
                good = False
                print(f"FAIL model {number}: {error}")
            failed += good is False
            skipped += good is None
            if good is False and arguments.keep:
                shutil.copytree(folder, os.path.join(arguments.keep, f"model{number}"), dirs_exist_ok=True)
        sys.stdout.flush()
    print(f"{failed} failed, {skipped} that Keras refuses")
    print(f"ran {arguments.models - skipped} tests")
    return 1 if failed or skipped == arguments.models else 0


if __name__ == "__main__":
    sys.exit(main(check, __doc__, 120))
