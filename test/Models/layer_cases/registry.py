# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases by name: what is recorded, the function that builds the model, options."""

import keras
from keras import layers

CASES = {}


def case(kind, **options):
    def register(build):
        CASES[build.__name__] = (kind, build, options)
        return build

    return register


def chain(shape, *stack, batch=None, dtype="float32"):
    inputs = keras.Input(shape, batch_size=batch, name="x", dtype=dtype)
    y = inputs
    for layer in stack:
        y = layer(y)
    return keras.Model(inputs, y)


def between(data_format, layer):
    """TensorFlow's CPU kernels convolve channels last only: expectations of a channels_first layer
    come from the same layer between two transpositions."""
    if data_format == "channels_first":
        return [layer]
    after = (1, 3, 2) if layer.return_sequences else (2, 1)
    return [layers.Permute((1, 3, 2)), layer, layers.Permute(after)]
