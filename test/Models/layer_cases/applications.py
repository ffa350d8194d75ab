# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of Keras's own models."""

import keras
from keras import layers
from layer_cases.registry import case, chain


@case("gradient")
def application_layers():
    from keras.src.applications.convnext import LayerScale, StochasticDepth
    from keras.src.applications.inception_resnet_v2 import CustomScaleLayer

    x = keras.Input((5, 4, 3), name="x")
    y = StochasticDepth(0.0)(LayerScale(0.3, 3)(layers.Dense(3, activation="gelu")(x)))
    z = LayerScale(1e-6, 3)(CustomScaleLayer(0.17)([x, y]))
    return keras.Model(x, layers.Dense(2)(z))


@case("forward")
def augmentations():
    """Inference hands images on."""
    return chain((6, 5, 3), layers.AugMix(), layers.RandAugment(), layers.CutMix(), layers.MixUp(), layers.RandomElasticTransform(), layers.Solarization(0.5, 0.5),
                 layers.Conv2D(2, 3))
