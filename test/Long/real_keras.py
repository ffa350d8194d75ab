# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random models of the supported layers, run by real Keras and by mpc on the same inputs.

Each model is saved by Keras, compiled by mpcc and compared: predictions, and the weights after
three training steps. Seeds are fixed. Usage: real_keras.py BIN [MODELS]
"""

import os
import random
import subprocess
import sys
import tempfile

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import numpy
from keras import layers

ACTIVATIONS = ["relu", "tanh", "sigmoid", "linear", "elu", "selu", "softplus", "silu", "gelu"]
# Relative to the root mean square of the array; a few ulp per layer, as in the fixtures.
TOLERANCES = {"float32": 1e-4, "mixed_bfloat16": 8e-2, "mixed_float16": 1e-2}


def random_model(generator, policy):
    keras.utils.set_random_seed(generator.randrange(2**31))
    keras.config.set_dtype_policy(policy)
    inputs = keras.Input(shape=(generator.randrange(3, 40),), name="x")
    x = inputs
    for _ in range(generator.randrange(1, 4)):
        units = generator.randrange(3, 48)
        kind = generator.randrange(4)
        if kind == 0:
            a = layers.Dense(units, activation=generator.choice(ACTIVATIONS))(x)
            b = layers.Dense(units, use_bias=False)(x)
            x = generator.choice([layers.Add, layers.Multiply, layers.Maximum, layers.Average])()([a, b])
        elif kind == 1:
            x = layers.Concatenate()([layers.Dense(units)(x), x])
        elif kind == 2:
            x = layers.Reshape((2, units))(layers.Dense(2 * units)(x))
            x = layers.Flatten()(layers.Permute((2, 1))(x))
        else:
            x = layers.Dense(units)(x)
            x = generator.choice([layers.LeakyReLU, layers.ELU, layers.PReLU, layers.ReLU])()(x)
    outputs = layers.Dense(5, activation="softmax", dtype="float32")(x)
    model = keras.Model(inputs, outputs)
    optimizer = generator.choice(
        [keras.optimizers.SGD(0.05, momentum=0.9), keras.optimizers.Adam(0.01),
         keras.optimizers.RMSprop(0.005)]
    )  # fmt: skip
    model.compile(optimizer, loss="sparse_categorical_crossentropy", run_eagerly=True)
    return model


def difference(got, expected):
    got, expected = numpy.float64(got), numpy.float64(expected)
    scale = numpy.sqrt(numpy.mean(expected**2)) or 1.0
    return float(numpy.max(numpy.abs(got - expected))) / scale


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)}: exit {result.returncode}\n{result.stderr[-1500:]}")


def check(number, tools, folder):
    generator = random.Random(number)
    policy = list(TOLERANCES)[number % 3]
    model = random_model(generator, policy)
    rows, batch = 24, 8
    numbers = numpy.random.RandomState(number)
    x = numbers.randn(rows, model.inputs[0].shape[1]).astype("float32")
    y = numbers.randint(0, 5, size=rows).astype("int32")
    path = os.path.join(folder, f"model{number}.keras")
    model.save(path)
    data = os.path.join(folder, "data.npz")
    numpy.savez(data, x=x, y0=y)
    compiled = os.path.join(folder, f"model{number}.mpc")
    mpcc, mpc_run = os.path.join(tools, "mpcc"), os.path.join(tools, "mpc-run")
    run(mpcc, path, "--output-guard=off", "--name=model", "-o", compiled)

    output = os.path.join(folder, "out.npz")
    run(mpc_run, "predict", compiled, "--inputs", data, "--outputs", output)
    errors = {"out0": difference(numpy.load(output)["out0"], model(x).numpy())}

    for step in range(3):
        model.train_on_batch(x[step * batch : (step + 1) * batch], y[step * batch : (step + 1) * batch])
    trace = os.path.join(folder, "trace.npz")
    run(mpc_run, "train", compiled, "--data", data, "--shuffle=off", "--batch-size", str(batch),
        "--steps", "3", "--trace", trace)  # fmt: skip
    trained = numpy.load(trace)
    for variable in model.variables:
        name = f"final:{variable.path}"
        errors[name] = difference(trained[name], variable.numpy())
    worst = max(errors, key=errors.get)
    good = errors[worst] <= TOLERANCES[policy]
    print(f"{'ok  ' if good else 'FAIL'} model {number} {policy}: {worst} off by {errors[worst]:.2e}")
    return good


def main():
    tools = os.path.abspath(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(count):
            try:
                failed += not check(number, tools, folder)
            except RuntimeError as error:
                failed += 1
                print(f"FAIL model {number}: {error}")
    print(f"ran {count} tests")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
