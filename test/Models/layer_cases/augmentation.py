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


COLOURS = (5, 4, 3)


def coloured(*stack, policy="float32"):
    """Colours in [0, 1] and some beside it, from a layer without weights."""
    return chain(COLOURS, layers.Rescaling(0.2, 0.5), *half(policy, *stack), layers.Conv2D(2, 3))


UNIT = dict(value_range=(0, 1))


@case("gradient")
def augmented_hue():
    """Half a turn, to either side; another range; none."""
    return coloured(layers.RandomHue((1.0, 1.0), **UNIT), layers.RandomHue((1.0, 1.0), value_range=(-1, 2)), layers.RandomHue(0.0, **UNIT))


@case("gradient")
def augmented_saturation():
    return coloured(layers.ReLU(), layers.RandomSaturation((0.7, 0.7), **UNIT), layers.RandomSaturation((0.2, 0.2)), layers.RandomSaturation((0.95, 0.95)))


@case("gradient")
def augmented_gray():
    return coloured(layers.RandomColorDegeneration((0.4, 0.4), value_range=(0, 0.9)), layers.RandomGrayscale(1.0), layers.RandomGrayscale(0.0))


@case("gradient")
def augmented_inverted():
    return coloured(layers.RandomInvert((1.0, 1.0), **UNIT), layers.RandomInvert((0.0, 0.0)), layers.Solarization(0.0, 0.0, value_range=(-1, 1)))


@case("gradient")
def augmented_jitter():
    jitter = layers.RandomColorJitter(value_range=(0, 1), brightness_factor=(0.1, 0.1), contrast_factor=(-0.2, 0.2), saturation_factor=(0.6, 0.6),
                                      hue_factor=(1.0, 1.0))  # fmt: skip
    return coloured(jitter, layers.RandomColorJitter(value_range=(0, 1), brightness_factor=(-0.1, -0.1)))


@case("gradient")
def augmented_posterized():
    """Of 8-bit colours, and in the range of another size."""
    return chain(COLOURS, layers.Rescaling(40.0, 128.0), layers.RandomPosterization((3, 3)), layers.Rescaling(1 / 255.0), layers.ReLU(),
                 layers.RandomPosterization((5, 5), **UNIT), layers.Conv2D(2, 3))  # fmt: skip


@case("gradient")
def augmented_erased():
    """Whole images, with a number and one for each channel; a part of the channels' sum stays where nothing is erased."""
    x = keras.Input(COLOURS, name="x")
    parts = [layers.RandomErasing((1.0, 1.0), scale=(1.0, 1.0), fill_value=0.3, value_range=(0, 1))(x),
             layers.RandomErasing((1.0, 1.0), scale=(1.0, 1.0), fill_value=[0.1, 0.2, 3.0], value_range=(0, 1))(x),
             layers.RandomErasing((0.0, 0.0), fill_value=0.3)(x)]  # fmt: skip
    return keras.Model(x, layers.Conv2D(2, 3)(layers.Concatenate()(parts)))


@case("gradient")
def augmented_filters():
    return coloured(layers.RandomSharpness((0.8, 0.8), **UNIT), layers.RandomGaussianBlur((1.0, 1.0), (3, 5), (0.7, 0.7), value_range=(0, 1)),
                    layers.RandomSharpness((0.1, 0.1), **UNIT), layers.RandomGaussianBlur((0.0, 0.0), value_range=(0, 0.8)))  # fmt: skip


@case("gradient")
def augmented_colours_inside():
    """Behind a layer with weights, whose gradient goes through. TensorFlow has no derivative of what leads back from hue."""
    return chain(COLOURS, layers.Conv2D(3, 2), layers.RandomSharpness((0.7, 0.7), value_range=(-1, 1)), layers.RandomGaussianBlur((1.0, 1.0), 3, (0.5, 0.5), value_range=(-1, 1)),
                 layers.RandomColorDegeneration((0.3, 0.3), value_range=(-9, 9)), layers.RandomInvert((1.0, 1.0), **UNIT), layers.Dense(2))  # fmt: skip


@case("gradient")
def augmented_colours_bfloat16():
    return coloured(layers.RandomSaturation((0.6, 0.6), **UNIT), layers.RandomHue((1.0, 1.0), **UNIT), layers.RandomSharpness((0.8, 0.8), **UNIT),
                    layers.RandomColorDegeneration((0.4, 0.4), **UNIT), layers.RandomInvert((1.0, 1.0), **UNIT),
                    layers.RandomGaussianBlur((1.0, 1.0), 3, (0.7, 0.7), value_range=(0, 1)), policy="mixed_bfloat16")  # fmt: skip


@case("forward")
def auto_contrast():
    """Without chance, and at inference, too; channels of one value stay."""
    x = keras.Input(COLOURS, name="x")
    flat = layers.Concatenate()([layers.ReLU(max_value=0.0)(x), x])
    return keras.Model(x, [layers.AutoContrast(**UNIT)(x), layers.AutoContrast()(layers.Rescaling(50.0, 100.0)(flat)),
                           layers.AutoContrast(value_range=(-2, 1), data_format="channels_first")(x)])  # fmt: skip


@case("forward")
def auto_contrast_bfloat16():
    return chain(COLOURS, layers.AutoContrast(**UNIT, dtype="mixed_bfloat16"))


@case("gradient")
def equalized():
    """In training alone, over the whole batch; a channel in one bin stays. In float32 Keras calls it in Sequential models and pipelines."""
    x = keras.Input(COLOURS, name="x")
    y = layers.Concatenate()([layers.Pipeline([layers.Rescaling(60.0, 120.0), layers.Equalization()])(x),
                              layers.Pipeline([layers.Rescaling(0.3, 0.4), layers.Equalization(**UNIT, bins=16)])(x),
                              layers.Pipeline([layers.ReLU(max_value=0.0), layers.Equalization()])(x)])  # fmt: skip
    return keras.Model(x, layers.Conv2D(2, 3)(layers.Rescaling(0.01)(y)))


@case("forward")
def equalized_not():
    x = keras.Input(COLOURS, name="x")
    return keras.Model(x, layers.Pipeline([layers.Equalization()])(x))


@case("gradient")
def equalized_bfloat16():
    return chain(COLOURS, layers.Rescaling(60.0, 120.0), *half("mixed_bfloat16", layers.Equalization()), layers.Rescaling(0.01), layers.Conv2D(2, 3))


@case("forward")
def random_crop():
    """Keras hands images on as they are, whatever their size."""
    return chain((9, 8, 3), layers.RandomCrop(5, 4), layers.Conv2D(2, 3), layers.GlobalAveragePooling2D())


@case("gradient")
def random_crop_of_its_size():
    return chain((5, 4, 3), layers.RandomCrop(5, 4), layers.Conv2D(2, 3))


@case("masks")
def augmented_colour_draws():
    """What chance decides of colours, sample by sample."""
    x = keras.Input((8, 8, 3), name="x")
    erased = layers.RandomErasing((0.5, 0.5), scale=(0.25, 0.25), **UNIT)(x)
    return keras.Model(x, [layers.Concatenate()([layers.RandomGrayscale(0.3)(x), layers.RandomInvert((0.2, 0.6), **UNIT)(x)]),
                           layers.Concatenate()([erased, layers.RandomPosterization((2, 5), **UNIT)(x)])])  # fmt: skip


@case("gradient")
def pipeline():
    """Layers in it have paths, policies and weights of their own."""
    stack = [layers.Pipeline([layers.RandomBrightness((0.1, 0.1), value_range=(-9, 9)), layers.AutoContrast(value_range=(-3, 3))]), layers.Conv2D(3, 2),
             layers.Dense(4, activation="tanh", dtype="mixed_bfloat16"), layers.Pipeline([layers.Dense(3)]), layers.Conv2D(2, 1, name="last")]  # fmt: skip
    return chain(COLOURS, layers.Pipeline(stack), layers.Dense(2))


@case("gradient")
def augmented_gray_bfloat16():
    """A decision and nothing else, in 16 bits: what is chosen are bits."""
    return chain((7, 1, 3), layers.Rescaling(0.2, 0.5), *half("bfloat16", layers.RandomGrayscale(0.0)), layers.Flatten(), layers.Dense(2, dtype="bfloat16"))
