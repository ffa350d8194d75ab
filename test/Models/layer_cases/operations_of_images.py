# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What keras.ops.image records in a graph."""

import keras
import numpy as np
from keras import layers
from layer_cases.operations_of_signals import flatten
from layer_cases.registry import case

AFFINE = np.array([1.2, -0.1, -0.7, 0.2, 0.8, 0.3, 0.0, 0.0], "float32")
START, END = np.array([[0, 0], [0, 5], [4, 0], [4, 5]], "float32"), np.array([[0.5, 0.3], [-0.4, 4.6], [3.2, 0.4], [4.3, 5.5]], "float32")


def colours(x):
    """Away from where two channels are equal."""
    return 0.5 + 0.4 * keras.ops.tanh(x)


@case("gradient")
def recorded_filters():
    x = keras.Input((6, 5, 3), name="x")
    image = keras.ops.image
    y = layers.Dense(3)(x)
    turned = keras.ops.transpose(y, (0, 3, 1, 2))
    parts = [image.gaussian_blur(y), image.gaussian_blur(y, (3, 5), (0.7, 1.3)), image.gaussian_blur(y, (2, 4), (0.7, 1.3)), image.gaussian_blur(turned, (3, 3), (0.5, 0.5), data_format="channels_first"),
             image.sobel_edges(y), image.sobel_edges(turned, data_format="channels_first")]
    return keras.Model(x, flatten(parts))


@case("gradient")
def recorded_similarity():
    x = keras.Input((12, 13, 2), name="x")
    ops = keras.ops
    y, z = colours(layers.Dense(2)(x)), colours(x)
    turned = [ops.transpose(t, (0, 3, 1, 2)) for t in (y, z)]
    parts = [ops.image.ssim(y, z), ops.image.ssim(y, z, filter_size=4, filter_sigma=0.8, max_val=2.0), ops.image.ssim(*turned, filter_size=1, k1=0.1, k2=0.2, data_format="channels_first")]
    return keras.Model(x, ops.stack(parts, axis=1))


@case("gradient")
def recorded_hues():
    """TensorFlow has no derivative of hsv_to_rgb."""
    x = keras.Input((4, 5, 3), name="x")
    y = colours(layers.Dense(3)(x))
    turned = keras.ops.transpose(y, (0, 3, 1, 2))
    return keras.Model(x, flatten([keras.ops.image.rgb_to_hsv(y), keras.ops.image.rgb_to_hsv(turned, data_format="channels_first")]))


@case("forward")
def recorded_colours():
    x = keras.Input((4, 5, 3), name="x")
    image = keras.ops.image
    y = colours(x)
    turned = keras.ops.transpose(y, (0, 3, 1, 2))
    return keras.Model(x, [image.rgb_to_hsv(x), image.hsv_to_rgb(y), image.hsv_to_rgb(turned, data_format="channels_first"), image.hsv_to_rgb(image.rgb_to_hsv(y))])


@case("forward")
def recorded_projections():
    x = keras.Input((5, 6, 2), name="x")
    ops = keras.ops
    turned = ops.transpose(x, (0, 3, 1, 2))
    own = ops.reshape(ops.tanh(x), (-1, 60))[:, :8] * np.array([0.2, 0.2, 1, 0.2, 0.2, 1, 0.02, 0.02], "float32") + np.array([1, 0, 0, 0, 1, 0, 0, 0], "float32")
    outputs = [ops.image.affine_transform(x, AFFINE, fill_mode=mode, interpolation=kind, fill_value=0.7) for mode in ("constant", "nearest", "wrap", "reflect") for kind in ("nearest", "bilinear")]
    outputs += [ops.image.affine_transform(x, own), ops.image.affine_transform(turned, AFFINE[None], data_format="channels_first"),
                ops.image.affine_transform(x, np.array([1, 0, 1, 0, 1, 0, -0.5, 0], "float32"), fill_value=-2.0, fill_mode="nearest"),
                ops.image.affine_transform(x, np.array([0, 0, 1.5, 0, 0, 2.25, 0, 0], "float32")),
                ops.image.perspective_transform(x, START, END), ops.image.perspective_transform(x, START[None], END[None], interpolation="nearest", fill_value=0.25),
                ops.image.perspective_transform(turned, END, START, data_format="channels_first")]
    return keras.Model(x, outputs)


def scaled(x):
    move, kinds = keras.ops.image.scale_and_translate, ("linear", "cubic", "lanczos3", "lanczos5")
    scale, translation = np.array([1.7, 0.6], "float32"), np.array([-0.8, 0.45], "float32")
    return [move(x, (None, 8, 4, 2), scale, translation, (1, 2), kind) for kind in kinds] + [
        move(x, (None, 5, 4, 2), scale[1:], translation[1:], (-2,), kind, antialias=False) for kind in kinds] + [
        move(x, (None, 9, 6, 2), np.array([0.4], "float32"), np.array([3.0], "float32"), (1,), "bilinear")]  # fmt: skip


@case("gradient")
def recorded_scales():
    x = keras.Input((5, 6, 2), name="x")
    return keras.Model(x, flatten(scaled(layers.Dense(2)(x))))


@case("forward")
def recorded_views_bfloat16():
    x = keras.Input((5, 6, 3), name="x")
    image = keras.ops.image
    y = layers.Identity(dtype="bfloat16")(colours(x))
    return keras.Model(x, [image.sobel_edges(y), image.gaussian_blur(y), image.scale_and_translate(y, (None, 8, 6, 3), np.array([1.5], "float32"), np.array([0.2], "float32"), (1,), "linear")])


@case("forward")
def recorded_views_float16():
    x = keras.Input((5, 6, 3), name="x")
    image = keras.ops.image
    y = layers.Identity(dtype="float16")(colours(x))
    return keras.Model(x, [image.affine_transform(y, AFFINE, fill_mode="reflect"), image.rgb_to_hsv(y)])
