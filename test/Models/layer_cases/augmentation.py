# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers that change images in training. Where both ends of a range are one number nothing is left to chance, and what
Keras computes can be compared."""

import keras
from keras import layers
from layer_cases.registry import case, chain

SHAPE = (7, 6, 2)


def trained(*stack, shape=SHAPE):
    return chain(shape, *stack, layers.Conv2D(2, 3))


@case("gradient")
def augmented_translation():
    return trained(layers.RandomTranslation((0.21, 0.21), (-0.3, -0.3)))


@case("gradient")
def augmented_rotation():
    return trained(layers.RandomRotation((0.07, 0.07)), layers.RandomRotation((-0.3, -0.3), fill_mode="wrap"))


@case("gradient")
def augmented_zoom():
    return trained(layers.RandomZoom((-0.4, -0.4), fill_mode="constant", fill_value=0.5), layers.RandomZoom((0.3, 0.3), (-0.2, -0.2), fill_mode="nearest"))


@case("gradient")
def augmented_nearest():
    """The nearest place, with every way to fill; the last ones reach far outside."""
    return trained(*[layer for mode in ("reflect", "wrap", "constant", "nearest") for layer in (
        layers.RandomRotation((0.11, 0.11), fill_mode=mode, fill_value=-1.0, interpolation="nearest"),
        layers.RandomTranslation((0.9, 0.9), (-1.0, -1.0), fill_mode=mode, fill_value=2.0, interpolation="nearest"))])  # fmt: skip


@case("gradient")
def augmented_fills():
    return trained(*[layer for mode in ("reflect", "wrap", "nearest") for layer in (
        layers.RandomTranslation((0.97, 0.97), (-0.9, -0.9), fill_mode=mode), layers.RandomZoom((1.0, 1.0), fill_mode=mode))])  # fmt: skip


@case("gradient")
def augmented_values():
    return trained(layers.RandomContrast((-0.5, 0.5), value_range=(-2, 2)), layers.RandomBrightness((0.2, 0.2), value_range=(-1.5, 1.5)))


@case("gradient")
def augmented_inside():
    """Behind a layer with weights, whose gradient goes through. Not of what moves places: TensorFlow takes the transformation
    backwards for its derivative, which it is not."""
    return chain(SHAPE, layers.Conv2D(3, 2), layers.RandomContrast((-0.3, 0.3), value_range=(-9, 9)), layers.RandomBrightness((0.2, 0.2), value_range=(-1, 1)),
                 layers.Dense(2))  # fmt: skip


@case("masks")
def augmented_draws():
    """What chance decides, sample by sample."""
    x = keras.Input((4, 5, 1), name="x")
    return keras.Model(x, [layers.RandomFlip("horizontal")(x), layers.RandomBrightness((-0.1, 0.3), value_range=(-10, 10))(x)])


@case("gradient")
def augmented_shear():
    """Of no slant: the sign is drawn."""
    return trained(layers.RandomShear((0.0, 0.0), (0.0, 0.0)))


def half(policy, *stack):
    for layer in stack:
        layer.dtype_policy = keras.DTypePolicy(policy)
    return stack


@case("gradient")
def augmented_bfloat16():
    return trained(*half("mixed_bfloat16", layers.RandomRotation((0.07, 0.07)), layers.RandomTranslation((0.21, 0.21), (-0.3, -0.3)),
                         layers.RandomContrast((-0.5, 0.5), value_range=(-2, 2)), layers.RandomBrightness((0.2, 0.2), value_range=(-2, 2))))  # fmt: skip


@case("train", optimizer="sgd", steps=3)
def augmented_steps():
    return chain(SHAPE, layers.RandomTranslation((0.21, 0.21), (0.1, 0.1)), layers.RandomZoom((0.1, 0.1)), layers.Flatten(), layers.Dense(2))
