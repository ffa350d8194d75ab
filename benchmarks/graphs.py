# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Graphs of a kind and a size, for times of compilation: graphs.py [KIND SIZE FILE]... writes architectures as JSON."""

import pathlib
import sys

import keras
from keras import layers, ops


def dense(size):
    """Layers behind each other."""
    inputs = x = keras.Input((64,), name="x")
    for _ in range(size):
        x = layers.Dense(64, activation="relu")(x)
    return inputs, layers.Dense(10)(x)


def stack(size):
    """Steps of a sequence, one by one, and together again."""
    inputs = keras.Input((size, 4), name="x")
    x = ops.stack([ops.tanh(step) for step in ops.unstack(inputs, size, axis=1)], axis=1)
    return inputs, layers.Dense(10)(layers.Flatten()(x))


def slices(size):
    """Columns of a product, and their concatenation."""
    inputs = keras.Input((16,), name="x")
    x = layers.Dense(size, activation="relu")(inputs)
    x = ops.concatenate([x[:, i : i + 1] for i in range(size)], axis=-1)
    return inputs, layers.Dense(10)(x)


def reductions(size):
    """Over the batch, each with an op on what it reduced."""
    inputs = keras.Input((16,), name="x")
    x = layers.Dense(16)(inputs)
    for _ in range(size):
        x = ops.subtract(x, ops.max(x, axis=0, keepdims=True))
    return inputs, layers.Dense(10)(x)


def elementwise(size):
    """A chain of functions of each element."""
    inputs = keras.Input((64,), name="x")
    x = layers.Dense(64)(inputs)
    for i in range(size):
        x = (ops.tanh, ops.sin, ops.square)[i % 3](x)
    return inputs, layers.Dense(10)(x)


def residual(size):
    """Blocks of a convolutional network."""
    inputs = keras.Input((32, 32, 3), name="x")
    x = layers.Conv2D(16, 3, padding="same")(inputs)
    for _ in range(size):
        y = layers.BatchNormalization()(layers.Conv2D(16, 3, padding="same", use_bias=False)(x))
        x = layers.Add()([x, layers.ReLU()(y)])
    return inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x))


def transformer(size):
    """Blocks of attention and two products."""
    inputs = x = keras.Input((32, 64), name="x")
    for _ in range(size):
        x = layers.LayerNormalization()(layers.Add()([x, layers.MultiHeadAttention(4, 16)(x, x)]))
        y = layers.Dense(64)(layers.Dense(256, activation="gelu")(x))
        x = layers.LayerNormalization()(layers.Add()([x, y]))
    return inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x))


def recurrent(size):
    """LSTM layers on each other."""
    inputs = x = keras.Input((16, 32), name="x")
    for _ in range(size):
        x = layers.LSTM(32, return_sequences=True)(x)
    return inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x))


def outputs(size):
    """Heads of one layer."""
    inputs = keras.Input((64,), name="x")
    x = layers.Dense(64, activation="relu")(inputs)
    return inputs, [layers.Dense(4, name=f"head_{i}")(x) for i in range(size)]


def guide(_):
    """The mixed precision guide's model."""
    inputs = keras.Input((784,), name="x")
    x = layers.Dense(4096, activation="relu")(layers.Dense(4096, activation="relu")(inputs))
    return inputs, layers.Dense(10)(x)


def application(name):
    """A network of keras.applications, which has one size."""

    def build(_):
        model = getattr(keras.applications, name)(weights=None)
        return model.inputs, model.outputs

    return build


KINDS = {"Dense layers": dense, "stack of steps": stack, "concatenation of slices": slices, "reduce and subtract": reductions, "elementwise chain": elementwise,
         "residual blocks": residual, "transformer blocks": transformer, "LSTM layers": recurrent, "outputs": outputs, "guide's model": guide,
         **{name: application(name) for name in ("ResNet50", "EfficientNetB0")}}  # fmt: skip

if __name__ == "__main__":
    # Keras follows a graph from its outputs by recursion, several calls for a layer.
    sys.setrecursionlimit(200_000)
    for kind, size, file in zip(*[iter(sys.argv[1:])] * 3):
        # Names of layers count from the start in each of them.
        keras.utils.clear_session()
        pathlib.Path(file).write_text(keras.Model(*KINDS[kind](int(size))).to_json())
