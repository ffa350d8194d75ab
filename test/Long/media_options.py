# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of layers that prepare images and sound, for unusual_options.py."""

import keras
from keras import layers
from layer_options import data_format, image


def spectrogram(d):
    """Fourier transforms of all lengths, and kernels of STFTSpectrogram."""
    samples = d.size(150, 400)
    if d.flag() or keras.config.dtype_policy().name == "float64":  # MelSpectrogram is float32 at most
        length = d.size(2, 40)
        step = d.choice([None, d.size(1, length)])
        layer = layers.STFTSpectrogram(d.choice(["log", "magnitude", "psd", "real", "imag", "stft"]), length, step, d.choice([None, length, length + d.size(0, 9)]),
                                       padding=d.choice(["valid", "same"]), expand_dims=d.flag())  # fmt: skip
        return layer, [(samples, d.size(1, 3))]
    length = d.size(2, 140)
    layer = layers.MelSpectrogram(length, d.size(1, length), d.choice([None, d.size(1, length)]), d.choice(["hann", "hamming", None]), num_mel_bins=d.size(1, 9),
                                  power_to_db=d.flag(), mag_exp=d.choice([1.0, 2.0, 1.3]), min_freq=d.choice([0.0, 20.0, 300.0]))  # fmt: skip
    return layer, [(samples,)]


def augmented(d):
    """Random layers at inference; what they draw in training are other numbers."""
    layer = d.choice([layers.RandomFlip(), layers.RandomRotation(0.2), layers.RandomZoom(0.2), layers.RandomTranslation(0.1, 0.1),
                      layers.RandomContrast(0.2), layers.RandomBrightness(0.2)])  # fmt: skip
    return (lambda x: layers.Conv2D(2, 2)(layers.Rescaling(0.5)(layer(x)))), [image(d, 2, "channels_last")]


def augmented_in_training(d):
    """Both ends of a range are one number, so that nothing is left to chance."""
    if d.flag():
        return coloured_in_training(d)
    form = data_format(d)

    def fixed(low=-0.9, high=0.9):
        number = round(d.uniform(low, high), 3)
        return (number, number)

    options = dict(fill_mode=d.choice(["reflect", "wrap", "constant", "nearest"]), fill_value=d.choice([0.0, -1.3]),
                   interpolation=d.choice(["bilinear", "bilinear", "nearest"]), data_format=form)  # fmt: skip
    contrast = round(d.uniform(0, 0.8), 3)
    stack = [d.choice([
        lambda: layers.RandomRotation(fixed(), **options), lambda: layers.RandomTranslation(fixed(), fixed(), **options),
        lambda: layers.RandomZoom(fixed(), d.choice([None, fixed()]), **options), lambda: layers.RandomShear((0.0, 0.0), (0.0, 0.0), **options),
        lambda: layers.RandomContrast((-contrast, contrast), value_range=(-1, d.size(1, 3)), data_format=form),
        lambda: layers.RandomBrightness(fixed(), value_range=(-d.size(1, 3), 1)),
    ])() for _ in range(d.size(1, 2))]  # fmt: skip

    def build(x):
        for layer in stack:
            x = layer(x)
        return layers.Dense(2)(layers.Flatten()(x))

    return build, [image(d, 2, form, 1, 9)]


def coloured_in_training(d):
    """The same of colours, of what is erased and of filters. Half a turn of the hue is the same to both sides."""
    form = data_format(d)
    unit = dict(value_range=(0, 1), data_format=form)

    def fixed(low, high):
        number = round(d.uniform(low, high), 3)
        return (number, number)

    stack = [d.choice([
        lambda: layers.RandomHue((1.0, 1.0), **unit), lambda: layers.RandomSaturation(fixed(0.05, 0.8), **unit),
        lambda: layers.RandomColorDegeneration(fixed(-0.9, 0.9), **unit), lambda: layers.RandomGrayscale(d.choice([0.0, 1.0]), data_format=form),
        lambda: layers.RandomInvert(d.choice([(0.0, 0.0), (1.0, 1.0)]), **unit), lambda: layers.Solarization(0.0, 0.0, **unit),
        lambda: layers.RandomSharpness(fixed(0, 1), **unit),
        lambda: layers.RandomGaussianBlur((1.0, 1.0), (2 * d.size(0, 3) + 1, 2 * d.size(0, 3) + 1), fixed(0.2, 1), **unit),
        lambda: layers.RandomErasing(d.choice([(0.0, 0.0), (1.0, 1.0)]), scale=(1.0, 1.0), fill_value=fixed(-0.5, 1.5)[0], **unit),
        lambda: layers.RandomColorJitter(brightness_factor=fixed(-0.3, 0.3), contrast_factor=(-0.2, 0.2), saturation_factor=d.choice([None, fixed(0.1, 0.8)]),
                                         hue_factor=d.choice([None, (1.0, 1.0)]), value_range=(0, 1)),
    ])() for _ in range(d.size(1, 3))]  # fmt: skip

    def build(x):
        x = layers.Rescaling(0.2, 0.5)(x)
        for layer in stack:
            x = layer(x)
        return layers.Dense(2)(layers.Flatten()(x))

    return build, [image(d, 2, form, 1, 9, channels=3)]
