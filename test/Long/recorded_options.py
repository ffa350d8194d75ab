# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Operations of keras.ops with options, run by real Keras and by mpc in the same way.

Signals, columns, views of images, small matrices, quantiles. Usage: recorded_options.py BIN [CASES [FIRST]] [--only REGEX] [--keep FOLDER]
"""

import sys

import keras
import layer_options
import numpy
from keras import layers, ops


def is_float64():
    """Then what has constants of float32 is refused; the weights of scale_and_translate are float32 in Keras, too, as near as its sums are."""
    return keras.config.dtype_policy().name == "float64"


def widened(x):
    """TensorFlow has many of these operations in float32 and float64 alone."""
    return x if is_float64() else ops.cast(x, "float32")


def learned(parts):
    """A row for each sample, of all parts."""
    flat = [layers.Flatten()(part) for part in parts]
    return layers.Dense(2)(flat[0] if len(flat) == 1 else ops.concatenate(flat, axis=1))


def recorded_signals(d):
    rows, length = d.size(1, 5), d.choice([d.size(2, 40), d.size(65, 150)])
    points, frame = d.choice([None, d.size(1, 150)]), d.size(2, 20)
    stride, window, center = d.size(1, frame), d.choice(["hann", "hamming", None]), d.flag()
    size = frame + d.size(0, 5)
    samples = max(length, size + 3)
    frames = dict(sequence_length=frame, sequence_stride=stride, fft_length=size, window=window, center=center)
    even = max(2, 2 * (samples - 1))
    # Where windows leave a place out, Keras divides by 0.
    back = {**frames, "window": None, "length": d.choice([None, size])}
    numbers = lambda x, y: [ops.view_as_real(x), ops.angle(y), ops.imag(x)]  # noqa: E731
    operation = numbers if is_float64() else d.choice([
        lambda x, y: ops.fft((x, y)), lambda x, y: ops.fft2((x, y)), lambda x, y: ops.ifft2((x, y)), lambda x, y: ops.rfft(x, fft_length=points),
        lambda x, y: [ops.irfft((x, y), fft_length=points or even)], lambda x, y: ops.stft(x, **frames),
        lambda x, y: [ops.istft(ops.stft(x, **frames), **back)], numbers,
    ])  # fmt: skip

    def build(x):
        x = widened(x)
        return learned(operation(x, ops.flip(ops.tanh(x), axis=-1)))

    return build, [(rows, samples)]


def recorded_columns(d):
    shape = (d.size(1, 3), d.size(6, 9), d.size(6, 9))
    options = dict(kernel_size=d.dims(2, 1, 3), dilation=d.size(1, 2), padding=d.choice([0, d.size(0, 2), d.dims(2, 0, 2)]), stride=d.choice([1, d.dims(2, 1, 3)]))
    if d.flag():
        return (lambda x: learned([ops.nn.unfold(x, **options)])), [shape]
    return (lambda x: learned([ops.nn.fold(ops.nn.unfold(x, **options), shape[1:], **options)])), [shape]


def recorded_views(d):
    first = d.flag()
    height, width, channels = d.size(4, 9), d.size(4, 9), d.size(1, 4)
    form = "channels_first" if first else "channels_last"
    size, scale, shift = (d.size(1, 4), d.size(1, 4)), d.uniform(0.3, 2.5), d.uniform(-2, 2)
    method, filter_size, antialias = d.choice(["linear", "cubic", "lanczos3", "lanczos5"]), d.size(1, 4), d.flag()
    places = d.size(2, 12)

    def constant(*numbers):
        return numpy.array(numbers, "float32")

    def turned(x):
        return ops.transpose(x, (0, 3, 1, 2)) if first else x

    def colours(x):
        return turned(0.5 + 0.4 * ops.tanh(ops.concatenate([x[..., :1], x[..., :1] * 0.3 + 0.2, 0.1 - x[..., :1]], axis=-1)))

    narrow = [
        lambda x: ops.image.gaussian_blur(turned(x), size, (scale, 0.5 * scale), data_format=form),
        lambda x: ops.image.ssim(turned(ops.tanh(x)), turned(ops.tanh(x * 0.5 + 0.1)), filter_size=filter_size, data_format=form),
        lambda x: ops.image.scale_and_translate(x, (None, places, width, channels), constant(scale), constant(shift), (1,), method, antialias=antialias),
        lambda x: ops.image.scale_and_translate(x, (None, height, places, channels), constant(scale), constant(shift), (-2,), method, antialias=antialias),
    ]  # fmt: skip
    operation = d.choice(([] if is_float64() else narrow) + [
        lambda x: ops.image.sobel_edges(turned(x), data_format=form), lambda x: ops.image.rgb_to_hsv(colours(x), data_format=form),
    ])  # fmt: skip

    def build(x):
        y = operation(widened(x))
        return learned([y if y.ndim > 1 else ops.expand_dims(y, 1)])

    return build, [(height, width, channels)]


def recorded_numbers(d):
    rows, columns = d.size(2, 6), d.size(1, 5)
    axis, keep, quantile = d.choice([1, 2, (1, 2)]), d.flag(), round(d.uniform(0, 1), 3)
    method, lower = d.choice(["linear", "lower", "higher", "midpoint", "nearest"]), d.flag()

    def holes(x):
        return ops.where(x > 0.8, ops.log(-1.0 - x * x), x)

    def regular(x):
        return ops.matmul(x, ops.transpose(x, (0, 2, 1))) * 0.1 + 2.0 * ops.eye(rows, dtype=x.dtype)

    narrow = [
        lambda x: ops.nan_to_num(ops.nanquantile(holes(x), quantile, axis=axis, method=method, keepdims=keep)), lambda x: ops.nan_to_num(ops.nanmedian(holes(x), axis=axis, keepdims=keep)),
        lambda x: ops.nan_to_num(ops.nanpercentile(holes(x), 100 * quantile, axis=axis, method=method)),
    ]  # fmt: skip
    operation = d.choice(([] if is_float64() else narrow) + [
        lambda x: ops.erfinv(0.9 * ops.tanh(x)), lambda x: ops.i0(x),
        lambda x: ops.linalg.solve_triangular(regular(x), x, lower=lower), lambda x: ops.linalg.cholesky_inverse(regular(x), upper=lower),
        lambda x: ops.linalg.qr(x + ops.eye(rows, columns, dtype=x.dtype))[0], lambda x: ops.linalg.qr(regular(x))[1],
    ])  # fmt: skip

    def build(x):
        y = operation(widened(x))
        return learned([y if y.ndim > 1 else ops.expand_dims(y, 1)])

    return build, [(rows, columns)]


FAMILIES = {"recorded_signals": recorded_signals, "recorded_columns": recorded_columns, "recorded_views": recorded_views, "recorded_numbers": recorded_numbers}


if __name__ == "__main__":
    layer_options.FAMILIES = FAMILIES
    layer_options.__doc__ = __doc__
    sys.exit(layer_options.main())
