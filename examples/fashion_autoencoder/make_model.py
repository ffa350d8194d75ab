# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A convolutional autoencoder, as real Keras writes it.

Writes model.json (architecture and compile config, no weights). Run with Keras from PyPI: pip
install keras tensorflow-cpu. The file is committed: nothing in mpc needs Python.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
from keras import layers

HERE = os.path.dirname(os.path.abspath(__file__))


def make_model():
    images = keras.Input(shape=(28, 28, 1), name="images")
    x = layers.Conv2D(16, 3, strides=2, padding="same", activation="relu", name="encode_1")(images)
    x = layers.Conv2D(8, 3, strides=2, padding="same", activation="relu", name="encode_2")(x)
    x = layers.Flatten(name="flatten")(x)
    code = layers.Dense(32, name="code")(x)
    x = layers.Dense(7 * 7 * 8, activation="relu", name="spread")(code)
    x = layers.Reshape((7, 7, 8), name="unflatten")(x)
    x = layers.Conv2DTranspose(
        16, 3, strides=2, padding="same", activation="relu", name="decode_1"
    )(x)
    x = layers.Conv2DTranspose(8, 3, strides=2, padding="same", activation="relu", name="decode_2")(x)
    again = layers.Conv2D(
        1, 3, padding="same", activation="sigmoid", dtype="float32", name="again"
    )(x)
    model = keras.Model(images, again, name="fashion_autoencoder")
    model.compile(
        loss="binary_crossentropy",
        optimizer=keras.optimizers.Adam(2e-3),
        metrics=["mean_squared_error"],
    )
    return model


if __name__ == "__main__":
    with open(os.path.join(HERE, "model.json"), "w") as handle:
        handle.write(make_model().to_json(indent=1) + "\n")
