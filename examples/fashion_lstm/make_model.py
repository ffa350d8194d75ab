# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""An LSTM that reads an image row by row, as real Keras writes it.

Writes model.json (architecture and compile config, no weights). Run with Keras from PyPI: pip
install keras tensorflow-cpu. The file is committed: nothing in mpc needs Python.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
from keras import layers

HERE = os.path.dirname(os.path.abspath(__file__))
EPOCHS, BATCH = 6, 128


def make_model():
    rows = keras.Input(shape=(28, 28), name="rows")
    x = layers.LSTM(64, name="lstm")(rows)
    classes = layers.Dense(10, activation="softmax", dtype="float32", name="classes")(x)
    model = keras.Model(rows, classes, name="fashion_lstm")
    rate = keras.optimizers.schedules.CosineDecay(3e-3, EPOCHS * -(-60000 // BATCH), alpha=0.01)
    model.compile(
        loss="sparse_categorical_crossentropy",
        optimizer=keras.optimizers.Adam(rate),
        metrics=["accuracy"],
    )
    return model


if __name__ == "__main__":
    with open(os.path.join(HERE, "model.json"), "w") as handle:
        handle.write(make_model().to_json(indent=1) + "\n")
