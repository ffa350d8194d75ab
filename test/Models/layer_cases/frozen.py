# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Frozen models and wrappers with trainable layers inside, and the other way round: each layer's own
flag counts, and the whole model's."""

import keras
from keras import layers
from layer_cases.registry import case, chain
from layer_cases.training import OPTIMIZERS

OPTIMIZERS["momentum"] = lambda: keras.optimizers.SGD(0.1, momentum=0.9)


def base(functional):
    stack = [layers.Dense(4, name="first", kernel_regularizer="l2"), layers.BatchNormalization(name="still"), layers.BatchNormalization(name="moving"),
             layers.Dense(3, name="last", kernel_regularizer="l2")]
    model = chain((5,), *stack) if functional else keras.Sequential([keras.Input((5,)), *stack])
    model.trainable = False
    model.get_layer("moving").trainable = model.get_layer("last").trainable = True
    return model


def tuned(functional):
    return chain((5,), base(functional), layers.Dense(2))


@case("train", steps=3, optimizer="momentum")
def frozen_base():
    return tuned(functional=False)


@case("train", steps=3, optimizer="momentum")
def frozen_base_functional():
    return tuned(functional=True)


@case("train", steps=3, optimizer="momentum", suffix=".h5", reads=False)
def frozen_base_legacy():
    return tuned(functional=True)


@case("forward", suffix=".h5", reads=False)
def frozen_base_legacy_sequential():
    """Keras writes a frozen model's weights in the order of its layers, but forgets of a Sequential one that it is frozen, and cannot read them."""
    return tuned(functional=False)


@case("train", steps=3, optimizer="momentum")
def frozen_whole():
    """Nothing learns, but the normalization, whose own flag says so, still follows the batches."""
    model = chain((5,), layers.Dense(4), layers.BatchNormalization(), layers.Dense(2, kernel_regularizer="l2"))
    model.trainable = False
    for layer in model.layers[2:]:
        layer.trainable = True
    return model


@case("train", steps=3, optimizer="momentum")
def frozen_wrappers():
    steps, moving = layers.TimeDistributed(layers.Dense(4, use_bias=False)), layers.TimeDistributed(layers.BatchNormalization())
    both = layers.Bidirectional(layers.GRU(3, return_sequences=True))
    inner = keras.Sequential([keras.Input((6,)), layers.Dense(3, name="shut"), layers.Dense(3, name="open")])
    around = layers.TimeDistributed(inner)
    cell, stack = layers.RNN(layers.LSTMCell(3), return_sequences=True), layers.RNN([layers.SimpleRNNCell(3), layers.GRUCell(2)])
    model = chain((4, 3), steps, moving, both, around, cell, stack)
    for layer in model.layers:
        layer.trainable = False
    for layer in (steps.layer, moving.layer, both.forward_layer, inner.get_layer("open"), cell.cell, stack.cell.cells[1]):
        layer.trainable = True
    return model


@case("train", steps=3, optimizer="momentum")
def frozen_inside_wrappers():
    """The wrapper is trainable, what it wraps is not."""
    steps, moving = layers.TimeDistributed(layers.Dense(4)), layers.TimeDistributed(layers.BatchNormalization())
    norm = layers.SpectralNormalization(layers.Dense(3))
    cell = layers.RNN(layers.LSTMCell(3, dtype="float32"), return_sequences=True)
    model = chain((4, 3), steps, moving, norm, cell, layers.Dense(2))
    for layer in (steps.layer, moving.layer, norm.layer, cell.cell):
        layer.trainable = False
    return model
