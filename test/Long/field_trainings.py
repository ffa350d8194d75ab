# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trainings of field_models.py: parts that are frozen, nested, or shared; masks and weights; optimizers."""

import keras
import numpy
from gallery import ROWS, classes, images, labelled, momentum, softmax, tokens
from keras import constraints, layers, losses, metrics, optimizers, regularizers
from keras.optimizers import schedules


def numbers(*shape):
    return numpy.random.normal(size=(ROWS, *shape)).astype("float32")


# ---- Parts --------------------------------------------------------------------------------------


def convolutional_base():
    return keras.Sequential([keras.Input((8, 8, 3)), layers.Conv2D(6, 3, use_bias=False), layers.BatchNormalization(momentum=0.7), layers.ReLU(), layers.Dropout(0.0)])


def frozen_statistics():
    """One normalisation of a base that trains is frozen."""
    base = keras.Sequential([keras.Input((8, 8, 3)), layers.Conv2D(6, 3, use_bias=False), layers.BatchNormalization(momentum=0.7), layers.ReLU(),
                             layers.Conv2D(4, 3, use_bias=False), layers.BatchNormalization(momentum=0.7)])  # fmt: skip
    base.layers[1].trainable = False
    inputs = keras.Input((8, 8, 3))
    return labelled(keras.Model(inputs, softmax(layers.Flatten()(layers.BatchNormalization()(base(inputs))))), images(8))


def base_that_infers():
    """Keras 3's fit trains it nevertheless."""
    base, inputs = convolutional_base(), keras.Input((8, 8, 3))
    return labelled(keras.Model(inputs, softmax(layers.Flatten()(base(inputs, training=False)))), images(8))


def statistics_as_called():
    inputs = keras.Input((8, 8, 3))
    x = layers.BatchNormalization(momentum=0.7)(layers.Conv2D(6, 3, use_bias=False)(inputs), training=True)
    x = layers.BatchNormalization(momentum=0.7)(layers.ReLU()(x), training=False)
    return labelled(keras.Model(inputs, softmax(layers.Flatten()(x))), images(8))


def pretrained_base():
    base = keras.applications.MobileNetV3Small(input_shape=(32, 32, 3), include_top=False, weights=None, pooling="avg")
    base.trainable = False
    inputs = keras.Input((32, 32, 3))
    return labelled(keras.Model(inputs, softmax(base(inputs, training=False))), images(32) * 255)


def encoder_of_pairs():
    """An encoder with a loss of its own, called twice in a model that is called twice."""
    features = keras.Input((6,))
    x = layers.Dense(8, activation="relu", kernel_regularizer="l2", activity_regularizer="l1")(features)
    encoder = keras.Model(features, layers.BatchNormalization(momentum=0.5)(x))
    a, b = keras.Input((6,)), keras.Input((6,))
    pair = keras.Model([a, b], layers.Concatenate()([encoder(a), encoder(b)]))
    c, d, e = [keras.Input((6,)) for _ in range(3)]
    x = layers.Add()([pair([c, d]), pair([d, e])])
    return labelled(keras.Model([c, d, e], softmax(x)), numbers(6), numbers(6), numbers(6))


def middle_of_a_model():
    image = keras.Input((8, 8, 3))
    first = layers.Conv2D(4, 3)(image)
    base = keras.Model(image, layers.Conv2D(6, 3)(layers.ReLU()(layers.BatchNormalization()(first))))
    features = keras.Model(base.input, [base.layers[1].output, base.output])
    inputs = keras.Input((8, 8, 3))
    one, two = features(inputs)
    return labelled(keras.Model(inputs, softmax(layers.concatenate([layers.GlobalAveragePooling2D()(one), layers.GlobalMaxPooling2D()(two)]))), images(8))


def distillation():
    inputs = keras.Input((8,))
    teacher = keras.Sequential([keras.Input((8,)), layers.Dense(16, activation="relu"), layers.Dense(4)])
    teacher.trainable = False
    student = layers.Dense(4, dtype="float32")(layers.Dense(6, activation="relu")(inputs))
    wanted = keras.ops.softmax(keras.ops.cast(teacher(inputs), "float32") / 3.0)
    divergence = keras.ops.sum(keras.ops.stop_gradient(wanted) * (keras.ops.log(wanted) - keras.ops.log_softmax(student / 3.0)), axis=-1, keepdims=True) * 9.0
    model = keras.Model(inputs, [student, divergence])
    model.compile(momentum(), [losses.SparseCategoricalCrossentropy(from_logits=True), "mae"], loss_weights=[0.3, 0.7])
    return model, {"x0": numbers(8), "y0": classes(4), "y1": numpy.zeros((ROWS, 1), "float32")}


def constrained():
    inputs = keras.Input((8, 8, 3))
    x = layers.Conv2D(4, 3, kernel_constraint=constraints.MinMaxNorm(0.2, 0.6, rate=0.5, axis=[0, 1, 2]), bias_constraint=constraints.NonNeg())(inputs)
    x = layers.DepthwiseConv2D(3, depthwise_constraint=constraints.UnitNorm(axis=[0, 1]))(x)
    x = layers.SeparableConv2D(5, 3, depthwise_constraint=constraints.MaxNorm(0.5), pointwise_constraint=constraints.NonNeg(), depthwise_regularizer="l2",
                               pointwise_regularizer="l1", use_bias=False)(x)  # fmt: skip
    x = layers.PReLU(shared_axes=[1, 2], alpha_constraint=constraints.MaxNorm(0.1))(layers.BatchNormalization(beta_regularizer=regularizers.L2(0.1))(x))
    return labelled(keras.Model(inputs, softmax(layers.Flatten()(x))), images(8))


def films():
    """A tower with statistics on every frame, and tubelets."""
    inputs = keras.Input((4, 8, 8, 2))
    tower = keras.Sequential([keras.Input((8, 8, 2)), layers.Conv2D(4, 3, strides=2, use_bias=False), layers.LayerNormalization(), layers.ReLU(), layers.GlobalAveragePooling2D()])
    x = layers.GRU(5)(layers.TimeDistributed(tower)(inputs))
    y = layers.Conv3D(4, (3, 1, 1), padding="same", activation="relu")(layers.Conv3D(4, (1, 3, 3), padding="same")(inputs))
    y = layers.Reshape((-1, 6))(layers.Conv3D(6, (2, 4, 4), (2, 4, 4))(y))
    y = layers.GlobalAveragePooling1D()(y + layers.Embedding(8, 6)(keras.ops.arange(8)))
    return labelled(keras.Model(inputs, softmax(layers.concatenate([x, y]))), numbers(4, 8, 8, 2))


def bytes_of_images():
    inputs = keras.Input((20, 20, 3), dtype="uint8")
    x = layers.Resizing(12, 12, interpolation="bicubic", crop_to_aspect_ratio=True)(inputs)
    x = layers.CenterCrop(10, 10)(layers.Rescaling(1 / 127.5, offset=-1)(x))
    x = layers.Conv2D(6, 3, activation="relu")(layers.Normalization(mean=[0.1, 0.2, 0.3], variance=[1.0, 2.0, 0.5])(x))
    return labelled(keras.Model(inputs, softmax(layers.GlobalAveragePooling2D()(x))), numpy.random.randint(0, 256, (ROWS, 20, 20, 3)).astype("uint8"))


# ---- Masks and weights --------------------------------------------------------------------------


def masked_loss():
    inputs = keras.Input((7,), dtype="int32")
    x = layers.LSTM(6, return_sequences=True)(layers.Embedding(12, 6, mask_zero=True)(inputs))
    model = keras.Model(inputs, layers.Dense(12, activation="softmax", dtype="float32")(layers.Dense(8, activation="relu")(x)))
    model.compile(momentum(), "sparse_categorical_crossentropy", metrics=["accuracy"], weighted_metrics=["sparse_categorical_crossentropy"])
    return model, {"x0": tokens(7, 12), "y0": classes(12, (7,)), "sample_weight": numpy.random.uniform(0.1, 2, (ROWS, 7)).astype("float32")}


def masked_outputs():
    inputs = keras.Input((7, 4))
    x = layers.GRU(6, return_sequences=True)(layers.Masking(0.0)(inputs))
    outputs = [layers.TimeDistributed(layers.Dense(3, activation="softmax", dtype="float32"))(x), layers.GRU(2, dtype="float32")(x)]
    model = keras.Model(inputs, outputs)
    model.compile(momentum(), ["categorical_crossentropy", losses.MeanSquaredError(reduction="sum")], metrics=[["categorical_accuracy"], ["mae"]])
    x0 = numbers(7, 4)
    x0[::2, 4:] = 0
    return model, {"x0": x0, "y0": numpy.eye(3, dtype="float32")[classes(3, (7,))], "y1": numbers(2)}


def weights_of_a_mean():
    model, data = perceptron(optimizers.SGD(0.05), losses.MeanSquaredError(reduction="mean_with_sample_weight"), weighted_metrics=["mae", metrics.MeanSquaredError()])
    return model, {**data, "sample_weight": numpy.random.uniform(0, 2, ROWS).astype("float32")}


# ---- Optimizers ---------------------------------------------------------------------------------


def perceptron(optimizer, loss="mse", trained=0, **options):
    inputs = keras.Input((8,))
    x = layers.LayerNormalization()(layers.Dense(12, activation="tanh", name="one")(inputs))
    model = keras.Model(inputs, layers.Dense(3, dtype="float32")(layers.Dense(10, activation="silu")(x)))
    model.compile(optimizer, loss, **options)
    for _ in range(trained):
        model.train_on_batch(numbers(8), numbers(3))
    return model, {"x0": numbers(8), "y0": numbers(3)}


def cosine_restarts():
    return perceptron(optimizers.SGD(schedules.CosineDecayRestarts(0.05, 2, t_mul=1.5, m_mul=0.8, alpha=0.1), momentum=0.5, nesterov=True))


def polynomial_cycles():
    return perceptron(optimizers.RMSprop(schedules.PolynomialDecay(0.01, 2, 0.001, power=0.5, cycle=True), rho=0.7, momentum=0.3, centered=True, weight_decay=0.01, epsilon=1e-3))


def adam_with_all():
    schedule = schedules.CosineDecay(0.001, 2, alpha=0.2, warmup_target=0.01, warmup_steps=2)
    return perceptron(optimizers.Adam(schedule, amsgrad=True, weight_decay=0.05, global_clipnorm=0.7, use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=2, epsilon=1e-3))


def accumulated_averages():
    return perceptron(optimizers.SGD(0.05, momentum=0.9, gradient_accumulation_steps=3, use_ema=True, ema_overwrite_frequency=1, weight_decay=0.01))


def accumulated_schedule():
    return perceptron(optimizers.SGD(schedules.PiecewiseConstantDecay([1, 2], [0.1, 0.05, 0.01]), gradient_accumulation_steps=2))


def scaled_accumulation():
    return perceptron(optimizers.LossScaleOptimizer(optimizers.SGD(0.05, gradient_accumulation_steps=2), initial_scale=8.0, dynamic_growth_steps=1))


def scaled_twice():
    return perceptron(optimizers.LossScaleOptimizer(optimizers.SGD(0.05, loss_scale_factor=4.0), initial_scale=8.0, dynamic_growth_steps=1))


def muon_with_all():
    return perceptron(optimizers.Muon(0.01, exclude_layers=["one"], weight_decay=0.02, adam_lr_ratio=0.2, ns_steps=4, nesterov=False, momentum=0.8, rms_rate=0.3, epsilon=1e-3))


def adafactor_of_kernels():
    inputs = keras.Input((8, 8, 3))
    x = layers.DepthwiseConv2D(3)(layers.Conv2D(6, 3, activation="tanh")(inputs))
    model = keras.Model(inputs, layers.Dense(3, dtype="float32")(layers.Flatten()(x)))
    model.compile(optimizers.Adafactor(schedules.InverseTimeDecay(0.02, 2, 0.5, staircase=True)), "mse")
    return model, {"x0": images(8), "y0": numbers(3)}


def follow_the_leader():
    return perceptron(optimizers.Ftrl(0.05, learning_rate_power=-0.6, l2_shrinkage_regularization_strength=0.01, beta=0.2, l1_regularization_strength=0.002, weight_decay=0.01))


def trained_before():
    return perceptron(optimizers.AdamW(schedules.ExponentialDecay(0.01, 2, 0.9), use_ema=True, epsilon=1e-3), trained=3)


def accumulated_before():
    return perceptron(optimizers.Adam(0.01, gradient_accumulation_steps=3, epsilon=1e-3), trained=2)


def scaled_before():
    return perceptron(optimizers.LossScaleOptimizer(optimizers.Adam(0.01, epsilon=1e-3), initial_scale=2.0**14, dynamic_growth_steps=3), trained=2)


MODELS = [
    frozen_statistics, base_that_infers, statistics_as_called, pretrained_base, encoder_of_pairs, middle_of_a_model, distillation, constrained, films,
    bytes_of_images, masked_loss, masked_outputs, weights_of_a_mean, cosine_restarts, polynomial_cycles, adam_with_all, accumulated_averages,
    accumulated_schedule, scaled_accumulation, scaled_twice, muon_with_all, adafactor_of_kernels, follow_the_leader, trained_before, accumulated_before,
    scaled_before,
]  # fmt: skip
