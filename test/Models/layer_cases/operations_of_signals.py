# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Fourier transforms and windows that keras.ops records in a graph."""

import keras
import numpy as np
from keras import layers
from layer_cases.registry import case


def flatten(parts):
    """What is to be learned of all of them."""
    return layers.Dense(2)(keras.ops.concatenate([layers.Flatten()(part) for part in parts], axis=1))


@case("forward")
def recorded_transforms():
    x = keras.Input((6, 96), name="x")
    ops = keras.ops
    y = ops.flip(x, axis=1) * 0.5
    parts = [*ops.fft((x, y)), *ops.rfft(x), *ops.rfft(x[:, :, :25]), *ops.rfft(x, fft_length=70), *ops.rfft(x, fft_length=128), *ops.fft2((x, y)), *ops.ifft2((x, y)),
             ops.irfft((x, y)), ops.irfft((x, y), fft_length=41), ops.irfft((x, y), fft_length=81), ops.irfft((x[:, :, :3], y[:, :, :3]), fft_length=16)]
    return keras.Model(x, parts)


@case("gradient")
def recorded_transforms_gradient():
    x = keras.Input((5, 8), name="x")
    ops = keras.ops
    y = layers.Dense(8)(x)
    z = ops.tanh(y)
    real, imaginary = ops.fft2((y, z))
    parts = [*ops.fft((y, z)), *ops.rfft(y, fft_length=11), real * imaginary, *ops.ifft2((real * real, imaginary)), ops.irfft((y, z)), ops.irfft((z, y), fft_length=81)]
    return keras.Model(x, flatten(parts))


@case("gradient")
def recorded_short_time_transforms():
    x = keras.Input((48,), name="x")
    ops = keras.ops
    y = layers.Dense(48)(x)
    frames = [ops.stft(y, 12, 4, 16), ops.stft(y, 9, 5, 9, window="hamming", center=False), ops.stft(y, 8, 3, 10, window=None)]
    parts = [part for frame in frames for part in frame]
    for frame, options in zip(frames, [dict(window="hann"), dict(window="hamming", center=False), dict(window=None, length=17)]):
        sizes = [(12, 4, 16), (9, 5, 9), (8, 3, 10)][len(parts) - 6]
        parts.append(ops.istft(frame, *sizes, **options))
    return keras.Model(x, flatten(parts))


@case("forward")
def recorded_parts_of_numbers():
    x = keras.Input((7,), name="x")
    ops = keras.ops
    y = x * ops.cast(ops.abs(x) > 0.3, "float32")
    return keras.Model(x, [ops.angle(y), ops.imag(y), ops.real(y), ops.view_as_real(y), ops.angle(ops.cast(3.0 * x, "int32")), ops.imag(ops.cast(3.0 * x, "int32"))])


@case("gradient")
def recorded_columns():
    x = keras.Input((3, 6, 7), name="x")
    ops = keras.ops
    y = ops.tanh(x) * 0.5 + layers.Dense(7)(x)
    parts = [ops.nn.unfold(y, (2, 3), padding=(1, 0), stride=(2, 1)), ops.nn.unfold(y, 2, dilation=(3, 2)), ops.nn.unfold(y, 3, padding=2, stride=2)]
    columns = layers.Dense(20)(parts[1])
    parts += [ops.nn.fold(columns, (5, 6), 2), ops.nn.fold(columns[:, :, 4:], (3, 9), 2, padding=(1, 0), stride=(1, 2), dilation=1),
              ops.nn.fold(columns[:, :, :10], (6, 7), 2, dilation=(4, 2))]
    return keras.Model(x, flatten(parts))


@case("forward")
def recorded_columns_bfloat16():
    x = keras.Input((2, 4, 6), name="x")
    y = layers.Identity(dtype="bfloat16")(x)
    columns = keras.ops.nn.unfold(y, 2, padding=1)
    return keras.Model(x, [columns, keras.ops.nn.fold(columns, (4, 6), 2, padding=1), keras.ops.nn.unfold(keras.ops.cast(3.0 * x, "int32"), 3)])


def transposed_kernel(*shape):
    return np.linspace(-1, 1, int(np.prod(shape))).reshape(shape).astype("float32")


class TransposedConvolution(layers.Layer):
    """The operation of arrays, not of symbols."""

    def __init__(self, kernel, options):
        super().__init__()
        self.kernel, self.options = kernel, options

    def call(self, inputs):
        return keras.ops.conv_transpose(inputs, self.kernel, **self.options)


@case("gradient", reference=True)
def recorded_transposed_convolution(by_layers=False):
    """By layers: Keras 3.15.1 cannot call its own operation in a graph."""
    x = keras.Input((4, 5, 3), name="x")
    y = layers.Dense(3)(x)

    def convolve(y, kernel, **options):
        return TransposedConvolution(kernel, options)(y) if by_layers else keras.ops.conv_transpose(y, kernel, **options)

    parts = [convolve(y, transposed_kernel(3, 2, 4, 3), strides=(2, 3)), convolve(y, transposed_kernel(2, 3, 2, 3), strides=2, padding="same"),
             convolve(keras.ops.reshape(y, (-1, 20, 3)), transposed_kernel(4, 2, 3), strides=3, output_padding=1)]
    return keras.Model(x, flatten(parts))


@case("gradient")
def recorded_noise_ratio():
    x = keras.Input((4, 3), name="x")
    y = layers.Dense(3)(x)
    return keras.Model(x, y + keras.ops.psnr(y, x, max_val=2.0))
