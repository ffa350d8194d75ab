# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmarks' models and data: models.py WORKLOAD-JSON POLICY,POLICY FOLDER writes model.keras and data.npz into FOLDER/POLICY."""

import json
import pathlib
import sys

import keras
import numpy
from keras import layers


def mlp():
    """The mixed precision guide's model."""
    inputs = keras.Input((784,), name="x")
    x = layers.Dense(4096, activation="relu")(layers.Dense(4096, activation="relu")(inputs))
    return inputs, layers.Dense(10)(x)


def cnn():
    inputs = keras.Input((32, 32, 3), name="x")
    x = inputs
    for filters, strides in ((32, 1), (64, 2), (128, 2)):
        x = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    return inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x))


def lstm():
    inputs = keras.Input((128, 32), name="x")
    return inputs, layers.Dense(10)(layers.LSTM(128)(inputs))


def transformer(widen=lambda x: layers.Dense(1024, activation="relu")(x)):
    inputs = keras.Input((128, 256), name="x")
    attended = layers.MultiHeadAttention(8, 32)(inputs, inputs)
    x = layers.LayerNormalization()(layers.Add()([inputs, attended]))
    y = layers.Dense(256)(widen(x))
    x = layers.LayerNormalization()(layers.Add()([x, y]))
    return inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x))


def gelu_transformer():
    """gelu in the form with tanh, which Keras has as an operation."""
    return transformer(lambda x: keras.ops.gelu(layers.Dense(1024)(x)))


def elementwise():
    inputs = keras.Input((1024,), name="x")
    gated = layers.Multiply()([layers.Activation("gelu")(inputs), inputs])
    return inputs, layers.Add()([gated, layers.Activation("tanh")(inputs)])


def reductions():
    """Along rows (variances, softmax) and across them (mean, largest)."""
    inputs = keras.Input((128, 256), name="x")
    shares = layers.Softmax()(layers.LayerNormalization()(inputs))
    return inputs, layers.Add()([layers.GlobalAveragePooling1D()(shares), layers.GlobalMaxPooling1D()(shares)])


def deep():
    inputs = x = keras.Input((64,), name="x")
    for _ in range(100):
        x = layers.Dense(64, activation="relu")(x)
    return inputs, layers.Dense(10)(x)


def residual():
    """136 layers."""
    inputs = keras.Input((32, 32, 3), name="x")
    x = layers.Conv2D(16, 3, padding="same")(inputs)
    for _ in range(33):
        y = layers.BatchNormalization()(layers.Conv2D(16, 3, padding="same", use_bias=False)(x))
        x = layers.Add()([x, layers.ReLU()(y)])
    return inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x))


def application(name):
    """A model of keras.applications, by the name of its function."""
    model = getattr(keras.applications, name)(weights=None, input_tensor=keras.Input((224, 224, 3), name="x"), classifier_activation=None)
    return model.inputs[0], model.outputs[0]


MODELS = {"deep": deep, "residual": residual, "mlp": mlp, "cnn": cnn, "lstm": lstm, "transformer": transformer, "gelu_transformer": gelu_transformer, "elementwise": elementwise, "reductions": reductions}


def write(workload, policy, folder):
    keras.utils.set_random_seed(1)
    keras.config.set_dtype_policy(policy)
    name = workload["model"]
    inputs, outputs = MODELS[name]() if name in MODELS else application(name)
    # What the sweeps compute is no class's logit.
    classifies = name not in ("elementwise", "reductions")
    model = keras.Model(inputs, layers.Activation("softmax" if classifies else "linear", dtype="float32")(outputs))
    if classifies:
        # Large steps would take the loss to where Keras's backends differ: TensorFlow's alone does not clip probabilities.
        optimizer = keras.optimizers.get(workload.get("optimizer", "rmsprop"))
        optimizer.learning_rate = 1e-4
        model.compile(optimizer, loss="sparse_categorical_crossentropy")
    folder.mkdir()
    model.save(folder / "model.keras")
    random = numpy.random.RandomState(1)
    x = random.uniform(size=(workload["batch"], *inputs.shape[1:])).astype("float32")
    numpy.savez(folder / "data.npz", x=x, y0=random.randint(0, 10, size=workload["batch"]).astype("int32"))


def main():
    for policy in sys.argv[2].split(","):
        write(json.loads(sys.argv[1]), policy, pathlib.Path(sys.argv[3]) / policy)


if __name__ == "__main__":
    main()
