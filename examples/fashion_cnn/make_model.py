# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small convolutional network with BatchNormalization, as real Keras writes it.

Writes model.json (architecture and compile config, no weights). Run with Keras from PyPI: pip
install keras tensorflow-cpu. The file is committed: nothing in mpc needs Python.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
from keras import layers

HERE = os.path.dirname(os.path.abspath(__file__))
EPOCHS, BATCH = 8, 128


def block(x, filters, name):
    x = layers.Conv2D(filters, 3, padding="same", use_bias=False, name=f"{name}_conv")(x)
    x = layers.BatchNormalization(momentum=0.9, name=f"{name}_norm")(x)
    x = layers.ReLU(name=f"{name}_relu")(x)
    return layers.MaxPooling2D(2, name=f"{name}_pool")(x)


def make_model():
    images = keras.Input(shape=(28, 28, 1), name="images")
    x = block(images, 16, "first")
    x = block(x, 32, "second")
    x = layers.Flatten(name="flatten")(x)
    x = layers.Dropout(0.3, name="dropout")(x)
    x = layers.Dense(64, activation="relu", name="hidden")(x)
    classes = layers.Dense(10, activation="softmax", dtype="float32", name="classes")(x)
    model = keras.Model(images, classes, name="fashion_cnn")
    rate = keras.optimizers.schedules.CosineDecay(2e-3, EPOCHS * -(-60000 // BATCH), alpha=0.01)
    model.compile(
        loss="sparse_categorical_crossentropy",
        optimizer=keras.optimizers.Adam(rate),
        metrics=["accuracy"],
    )
    return model


if __name__ == "__main__":
    with open(os.path.join(HERE, "model.json"), "w") as handle:
        handle.write(make_model().to_json(indent=1) + "\n")
