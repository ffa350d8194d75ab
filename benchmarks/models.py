# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmarks' models and data: models.py WORKLOAD-JSON POLICY,POLICY FOLDER writes model.keras and data.npz into FOLDER/POLICY."""

import json
import pathlib
import sys

import keras
import numpy
from examples import CLASSES, EXAMPLES
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


def build(name):
    """The inputs, the outputs, and the loss, or none where the model is not trained."""
    if name in EXAMPLES:
        return EXAMPLES[name]()
    inputs, outputs = MODELS[name]() if name in MODELS else application(name)
    # The sweeps compute no logits of classes.
    if name in ("elementwise", "reductions"):
        return inputs, layers.Activation("linear", dtype="float32")(outputs), None
    return inputs, layers.Activation("softmax", dtype="float32")(outputs), CLASSES


def sample(random, batch, inputs, outputs, loss, model):
    """Rows of inputs and targets as the arrays of data.npz."""
    shape = (batch, *inputs.shape[1:])
    if inputs.dtype == "int32":
        rows = min(layer.input_dim for layer in model.layers if isinstance(layer, layers.Embedding))
        x = random.randint(0, rows, size=shape).astype("int32")
    else:
        x = random.uniform(size=shape).astype("float32")
    if loss in (CLASSES, None):
        return {"x": x, "y0": random.randint(0, min(10, outputs.shape[-1]), size=(batch, *outputs.shape[1:-1])).astype("int32")}
    return {"x": x, "y0": random.uniform(size=(batch, *outputs.shape[1:])).astype("float32")}


def write(workload, policy, folder):
    keras.utils.set_random_seed(1)
    keras.config.set_dtype_policy(policy)
    inputs, outputs, loss = build(workload["model"])
    model = keras.Model(inputs, outputs)
    if loss:
        # Large steps would take the loss to where Keras's backends differ: TensorFlow's alone does not clip probabilities.
        optimizer = keras.optimizers.get(workload.get("optimizer", "rmsprop"))
        optimizer.learning_rate = 1e-4
        model.compile(optimizer, loss=loss)
    folder.mkdir()
    model.save(folder / "model.keras")
    numpy.savez(folder / "data.npz", **sample(numpy.random.RandomState(1), workload["batch"], inputs, outputs, loss, model))


def main():
    for policy in sys.argv[2].split(","):
        write(json.loads(sys.argv[1]), policy, pathlib.Path(sys.argv[3]) / policy)


if __name__ == "__main__":
    main()
