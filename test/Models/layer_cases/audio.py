# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Spectrograms, by kernels that are weights and by Fourier transforms."""

import keras
from keras import layers
from layer_cases.registry import case, chain


def spectrograms(shape, *options, policy=None):
    x = keras.Input(shape, name="x")
    return keras.Model(x, [layers.STFTSpectrogram(dtype=policy, **option)(x) for option in options])


@case("forward")
def stft_modes():
    modes = ("log", "magnitude", "psd", "real", "imag", "angle", "stft")
    return spectrograms((50, 1), *[dict(mode=mode, frame_length=12, frame_step=5) for mode in modes])


@case("forward")
def stft_channels():
    return spectrograms(
        (40, 3), dict(frame_length=8, fft_length=16), dict(frame_length=9, frame_step=4, padding="same", expand_dims=True, mode="psd"),
        dict(frame_length=8, frame_step=8, mode="stft", expand_dims=True), dict(frame_length=3, padding="same", mode="real"))  # fmt: skip


@case("forward", reference="channels_last")
def stft_channels_first(data_format="channels_first"):
    """By what the layer does between two transpositions: TensorFlow's convolutions on a CPU are channels last."""
    def layer(axes, **options):
        first = layers.STFTSpectrogram(frame_length=8, frame_step=3, data_format=data_format, **options)
        if data_format == "channels_first":
            return first
        return lambda x: layers.Permute(axes)(first(layers.Permute((2, 1))(x)))

    x = keras.Input((2, 40), name="x")
    return keras.Model(x, [layer((2, 1))(x), layer((3, 1, 2), mode="psd", expand_dims=True)(x)])


@case("forward")
def stft_float16():
    return spectrograms((50, 2), *[dict(mode=mode, frame_length=12, frame_step=5) for mode in ("log", "psd", "real")], policy="mixed_float16")


@case("gradient")
def stft_gradient():
    return chain((60, 2), layers.STFTSpectrogram(frame_length=16, frame_step=6, mode="magnitude"), layers.Dense(3))


@case("train", optimizer="sgd", steps=3)
def stft_steps():
    return chain((60, 1), layers.Dense(1), layers.STFTSpectrogram(frame_length=16, frame_step=8, trainable=False), layers.Dense(2))


def mel(shape, *options):
    x = keras.Input(shape, name="x")
    return keras.Model(x, [layers.MelSpectrogram(**option)(x) for option in options])


@case("forward", rows=2)
def mel_spectrogram():
    return mel((4096,), {}, dict(fft_length=512, sequence_stride=160, sequence_length=400, num_mel_bins=64, sampling_rate=8000, max_freq=3800),
               dict(fft_length=1000, sequence_stride=250, num_mel_bins=40, power_to_db=False, mag_exp=1.0, window="hamming"))  # fmt: skip


@case("forward")
def mel_options():
    """Lengths that one product and two transform, odd ones, strides that share no factor with them, powers, references."""
    return mel((600,), dict(fft_length=64, sequence_stride=17, num_mel_bins=12, window=None, power_to_db=False, mag_exp=0.7),
               dict(fft_length=81, sequence_stride=81, sequence_length=33, num_mel_bins=10, ref_power=0.3, top_db=30.0, min_power=1e-3),
               dict(fft_length=254, sequence_stride=100, num_mel_bins=9, min_freq=0.0, mag_exp=1.5, sampling_rate=22050),
               dict(fft_length=384, sequence_stride=96, sequence_length=301, num_mel_bins=20, window="hamming"))  # fmt: skip


@case("forward")
def mel_bfloat16():
    return mel((600,), dict(fft_length=128, sequence_stride=32, num_mel_bins=12, dtype="mixed_bfloat16"),
               dict(fft_length=128, sequence_stride=32, num_mel_bins=12, power_to_db=False, dtype="mixed_float16"))  # fmt: skip


@case("gradient")
def mel_gradient():
    """Behind a layer with weights."""
    return chain((30, 8), layers.Dense(8), layers.Flatten(), layers.MelSpectrogram(fft_length=96, sequence_stride=24, num_mel_bins=8), layers.Dense(2))
