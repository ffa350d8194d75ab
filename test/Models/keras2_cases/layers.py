# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Options of layers that Keras 2 alone has."""

import tensorflow as tf
import tf_keras as keras

from .registry import case, normal

L = keras.layers


@case(form="h5")
def batch_normalization_of_virtual_batches():
    """Predictions alone."""
    x, y = L.Input((4, 6), name="x"), L.Input((3, 4, 2), name="y")
    outputs = [L.BatchNormalization(virtual_batch_size=2)(x), L.BatchNormalization(axis=1, virtual_batch_size=2, scale=False)(y)]
    return keras.Model([x, y], outputs), [normal(4, 4, 6), normal(4, 3, 4, 2)]


@case()
def batch_renormalization():
    x = L.Input((6,), name="x")
    y = L.BatchNormalization(renorm=True, renorm_clipping={"rmax": 2.0, "rmin": 0.5, "dmax": 0.3}, renorm_momentum=0.9)(x)
    model = keras.Model(x, L.Dense(2)(y))
    model.compile(keras.optimizers.SGD(0.1), "mse")
    return model, [normal(8, 6)]


@case()
def sparse_local_convolutions():
    x, y, z = L.Input((7, 3), name="x"), L.Input((2, 6, 5), name="y"), L.Input((4, 5, 2), name="z")
    outputs = [L.LocallyConnected1D(4, 3, strides=2, implementation=3)(x), L.LocallyConnected1D(3, 2, padding="same", implementation=3)(x)]
    outputs += [L.LocallyConnected2D(3, (3, 2), data_format="channels_first", implementation=3)(y)]
    outputs += [L.LocallyConnected2D(2, 3, padding="same", use_bias=False, activation="relu", implementation=3)(z)]
    model = keras.Model([x, y, z], [L.Flatten()(output) for output in outputs])
    model.compile(keras.optimizers.Adam(0.01), "mse")
    return model, [normal(4, 7, 3), normal(4, 2, 6, 5), normal(4, 4, 5, 2)]


@case()
def resized_images():
    """By every kernel that samples."""
    x = L.Input((9, 8, 3), name="x")
    outputs = [L.Resizing(5, 12, interpolation=name)(x) for name in ("gaussian", "mitchellcubic")]
    outputs += [L.UpSampling2D((2, 3), interpolation=name)(x) for name in ("area", "bicubic", "gaussian", "lanczos3", "lanczos5", "mitchellcubic")]
    outputs += [tf.image.resize(x, (4, 7), method=name, antialias=antialias) for name in ("gaussian", "mitchellcubic") for antialias in (False, True)]
    return keras.Model(x, outputs), [normal(2, 9, 8, 3)]
