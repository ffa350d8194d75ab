# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Random models of many kinds of layers, trained by real Keras and by mpc.

Images, sequences, token ids and vectors go through random towers of convolutions, recurrences, attention, normalisations,
nested and shared models; towers meet; each layer may have a policy of its own; one to three outputs with their losses and
weights. Predictions, and after a few steps losses, weights and optimizer variables are compared. Case N is the same in
every run. Usage: composed_models.py BIN [MODELS [FIRST]] [--keep FOLDER]
"""

import os
import random
import sys

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
import numpy
import real_keras
from keras import layers, losses, optimizers

POLICIES = ["float32", "mixed_bfloat16", "mixed_float16", "float32"]


class Builder:
    """Draws layers; each call adds a few to a tensor."""

    def __init__(self, generator, policies):
        self.draw, self.policies = generator, policies

    def dtype(self):
        """Most layers have the model's policy."""
        if self.draw.random() < 0.85:
            return {}
        return {"dtype": self.draw.choice(self.policies)}

    def image(self, x):
        d = self.draw
        for _ in range(d.randrange(1, 4)):
            filters, kind = d.randrange(2, 9), d.randrange(9)
            options = dict(padding=d.choice(["same", "valid"]), **self.dtype())
            if min(x.shape[1:3]) < 4:
                options["padding"] = "same"
            if kind == 0:
                x = layers.Conv2D(filters, 3, strides=d.choice([1, 1, 2]), activation=d.choice(["relu", "tanh", None]), **options)(x)
            elif kind == 1:
                x = layers.Conv2D(filters, d.choice([1, 2, 3]), use_bias=False, **options)(x)
                x = layers.BatchNormalization(momentum=0.8, **self.dtype())(x)
                x = layers.ReLU(max_value=d.choice([None, 6.0]))(x)
            elif kind == 2:
                x = layers.SeparableConv2D(filters, 3, activation="relu", **options)(x)
            elif kind == 3:
                x = layers.DepthwiseConv2D(3, depth_multiplier=d.choice([1, 2]), **options)(x)
            elif kind == 4:
                y = layers.Conv2D(x.shape[-1], 3, padding="same", **self.dtype())(x)
                x = layers.Add(**self.dtype())([x, layers.Activation("gelu")(y)])
            elif kind == 5:
                x = d.choice([layers.MaxPooling2D, layers.AveragePooling2D])(2, padding="same", **self.dtype())(x)
            elif kind == 6:
                x = layers.Conv2DTranspose(filters, 3, strides=d.choice([1, 2]), padding="same", **self.dtype())(x)
            elif kind == 7:
                x = layers.GroupNormalization(1, **self.dtype())(layers.Conv2D(filters, 1, activation="tanh")(x))
            else:
                x = layers.ZeroPadding2D(1)(layers.Cropping2D(((1, 0), (0, 1)))(x)) if min(x.shape[1:3]) > 2 else layers.UpSampling2D(2)(x)
        return x

    def sequence(self, x):
        d = self.draw
        for _ in range(d.randrange(1, 3)):
            units, kind = d.randrange(2, 9), d.randrange(9)
            if kind == 0:
                x = layers.LSTM(units, return_sequences=True, go_backwards=d.random() < 0.2, **self.dtype())(x)
            elif kind == 1:
                x = layers.GRU(units, return_sequences=True, reset_after=d.random() < 0.6, **self.dtype())(x)
            elif kind == 2:
                x = layers.Bidirectional(d.choice([layers.LSTM, layers.GRU, layers.SimpleRNN])(units, return_sequences=True),
                                         merge_mode=d.choice(["concat", "sum", "ave", "mul"]), **self.dtype())(x)  # fmt: skip
            elif kind == 3:
                x = layers.Conv1D(units, 3, padding=d.choice(["same", "causal"]), activation="relu", **self.dtype())(x)
            elif kind == 4:
                attention = layers.MultiHeadAttention(d.choice([1, 2]), d.randrange(2, 5), use_bias=False, **self.dtype())
                x = layers.LayerNormalization(**self.dtype())(layers.Add()([x, attention(x, x, use_causal_mask=d.random() < 0.5)]))
            elif kind == 5:
                x = layers.TimeDistributed(layers.Dense(units, activation="tanh"), **self.dtype())(x)
            elif kind == 6:
                x = layers.Dense(units, activation=d.choice(["silu", "softplus"]), **self.dtype())(x)
            elif kind == 7:
                x = layers.RNN([layers.LSTMCell(units), layers.GRUCell(3)], return_sequences=True)(x)
            else:
                x = d.choice([layers.RMSNormalization, layers.LayerNormalization, layers.UnitNormalization])(**self.dtype())(x)
        return x

    def vector(self, x):
        for _ in range(self.draw.randrange(0, 2)):
            x = layers.Dense(self.draw.randrange(3, 12), activation=self.draw.choice(["relu", "tanh", "elu"]), **self.dtype())(x)
        return x

    def flatten(self, x):
        d = self.draw
        if len(x.shape) == 4:
            return d.choice([layers.Flatten, layers.GlobalAveragePooling2D, layers.GlobalMaxPooling2D])()(x)
        if len(x.shape) == 3:
            return d.choice([
                layers.Flatten(), layers.GlobalAveragePooling1D(), layers.LSTM(4), layers.GRU(3),
            ])(x)  # fmt: skip
        return x

    def tower(self):
        """(input, tensor of rank 2, its data as a function of rows and numpy generator)."""
        d, kind = self.draw, self.draw.choice(["image", "sequence", "ids", "vector"])
        if kind == "image":
            shape = (d.randrange(5, 9), d.randrange(5, 9), d.randrange(1, 4))
            inputs = keras.Input(shape)
            body = self.image
        elif kind == "sequence":
            shape = (d.randrange(3, 8), d.randrange(2, 7))
            inputs = keras.Input(shape)
            body = self.sequence
        elif kind == "vector":
            shape = (d.randrange(3, 12),)
            inputs = keras.Input(shape)
            body = self.vector
        else:
            shape, vocabulary = (d.randrange(3, 8),), d.randrange(5, 30)
            inputs = keras.Input(shape, dtype="int32")
            x = layers.Embedding(vocabulary, d.randrange(2, 7), mask_zero=d.random() < 0.3, **self.dtype())(inputs)
            x = self.sequence(x) if not hasattr(x, "_keras_mask") or x._keras_mask is None else layers.LSTM(4, return_sequences=d.random() < 0.5)(x)
            return inputs, self.flatten_masked(x), lambda rows, n: n.randint(0, vocabulary, size=(rows, *shape)).astype("int32")
        return inputs, self.flatten(self.nest(inputs, body)), lambda rows, n: n.randn(rows, *shape).astype("float32")

    def flatten_masked(self, x):
        return x if len(x.shape) == 2 else layers.GRU(3)(x) if getattr(x, "_keras_mask", None) is not None else self.flatten(x)

    def nest(self, x, body):
        """The body as layers of this model, or as a model of its own."""
        if self.draw.random() < 0.7:
            return body(x)
        inner = keras.Input(x.shape[1:])
        return keras.Model(inner, body(inner))(x)


def targets(draw, rows, numbers, name, x):
    """(output, loss, target)."""
    kind = draw.choice(["labels", "real", "binary"])
    if kind == "labels":
        output = layers.Dense(4, activation=draw.choice(["softmax", None]), dtype="float32", name=name)(x)
        loss = losses.SparseCategoricalCrossentropy(from_logits=output._keras_history.operation.activation is keras.activations.linear)
        return output, loss, numbers.randint(0, 4, size=rows).astype("int32")
    if kind == "binary":
        return layers.Dense(3, activation="sigmoid", dtype="float32", name=name)(x), losses.BinaryCrossentropy(), numbers.randint(0, 2, size=(rows, 3)).astype("float32")
    return layers.Dense(2, dtype="float32", name=name)(x), draw.choice([losses.MeanSquaredError, losses.Huber, losses.LogCosh])(), numbers.randn(rows, 2).astype("float32")


def random_model(number, rows):
    draw, numbers = random.Random(number), numpy.random.RandomState(number)
    policy = POLICIES[number % len(POLICIES)]
    keras.utils.set_random_seed(number)
    keras.config.set_dtype_policy(policy)
    mixed = ["float32", policy] if draw.random() < 0.7 else ["float32", "mixed_bfloat16", "mixed_float16"]
    build = Builder(draw, mixed)
    towers = [build.tower() for _ in range(draw.choice([1, 1, 2]))]
    inputs = [tower[0] for tower in towers]
    x = towers[0][1] if len(towers) == 1 else layers.Concatenate()([tower[1] for tower in towers])
    if draw.random() < 0.3:  # a layer that is called twice
        shared = layers.Dense(x.shape[-1], activation="tanh", **build.dtype())
        x = shared(shared(x))
    heads = [targets(draw, rows, numbers, f"head{i}", x) for i in range(draw.choice([1, 1, 2]))]
    model = keras.Model(inputs, [head[0] for head in heads])
    if draw.random() < 0.2:
        for layer in draw.sample(model.layers, len(model.layers) // 3):
            layer.trainable = False
    if not model.trainable_variables:
        model.layers[-1].trainable = True
    optimizer = draw.choice([
        optimizers.SGD(0.05, momentum=draw.choice([0.0, 0.9])), optimizers.RMSprop(0.003, epsilon=1e-4), optimizers.Adam(0.003, epsilon=1e-4),
    ])  # fmt: skip
    weights = None if len(heads) == 1 or draw.random() < 0.5 else [0.3, 1.7]
    model.compile(optimizer, loss=[head[1] for head in heads], loss_weights=weights, run_eagerly=True)
    data = {f"x{i}": tower[2](rows, numbers) for i, tower in enumerate(towers)}
    data.update({f"y{i}": head[2] for i, head in enumerate(heads)})
    return policy, model, data


def check(number, tools, folder, steps=3, batch=6):
    policy, model, data = random_model(number, steps * batch)
    mixed = any(layer.dtype_policy.compute_dtype != layer.dtype_policy.variable_dtype for layer in model._flatten_layers())
    limits = policy if policy != "float32" or not mixed else "mixed_bfloat16"
    classes = sorted({type(layer).__name__ for layer in model.layers if not isinstance(layer, layers.InputLayer)})
    what = f"model {number} {policy} {type(model.optimizer).__name__} {' '.join(classes)}"
    return real_keras.compare(model, data, limits, what, tools, folder, steps, batch)


if __name__ == "__main__":
    sys.exit(real_keras.main(check, __doc__, 150))
