# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The benchmarks' models and data: models.py WORKLOAD-JSON POLICY FOLDER writes model.keras and data.npz."""

import json
import os
import sys

import keras
import numpy
from keras import layers


def mlp():
    """The mixed precision guide's model."""
    inputs = keras.Input((784,), name="x")
    x = layers.Dense(4096, activation="relu")(layers.Dense(4096, activation="relu")(inputs))
    return inputs, layers.Dense(10)(x)


def cnn():
    inputs = keras.Input((32, 32, 3), name="x")
    x = inputs
    for filters, strides in ((32, 1), (64, 2), (128, 2)):
        x = layers.Conv2D(filters, 3, strides=strides, padding="same", use_bias=False)(x)
        x = layers.ReLU()(layers.BatchNormalization()(x))
    return inputs, layers.Dense(10)(layers.GlobalAveragePooling2D()(x))


def lstm():
    inputs = keras.Input((128, 32), name="x")
    return inputs, layers.Dense(10)(layers.LSTM(128)(inputs))


def transformer():
    inputs = keras.Input((128, 256), name="x")
    attended = layers.MultiHeadAttention(8, 32)(inputs, inputs)
    x = layers.LayerNormalization()(layers.Add()([inputs, attended]))
    y = layers.Dense(256)(layers.Dense(1024, activation="relu")(x))
    x = layers.LayerNormalization()(layers.Add()([x, y]))
    return inputs, layers.Dense(10)(layers.GlobalAveragePooling1D()(x))


def main():
    workload, policy, folder = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
    keras.utils.set_random_seed(1)
    keras.config.set_dtype_policy(policy)
    inputs, logits = {"mlp": mlp, "cnn": cnn, "lstm": lstm, "transformer": transformer}[workload["model"]]()
    model = keras.Model(inputs, layers.Activation("softmax", dtype="float32")(logits))
    model.compile(workload.get("optimizer", "rmsprop"), loss="sparse_categorical_crossentropy")
    model.save(os.path.join(folder, "model.keras"))
    random = numpy.random.RandomState(1)
    x = random.uniform(size=(workload["batch"], *inputs.shape[1:])).astype("float32")
    numpy.savez(os.path.join(folder, "data.npz"), x=x, y0=random.randint(0, 10, size=workload["batch"]).astype("int32"))


if __name__ == "__main__":
    main()
