# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The model of Keras's mixed precision guide, as real Keras writes it.

Writes model.json (4096 units, architecture and compile config, no weights) and model_256.keras
(256 units, with weights). Run with Keras from PyPI: pip install keras tensorflow-cpu. The files are
committed: nothing in mpc needs Python.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
from keras import layers

HERE = os.path.dirname(os.path.abspath(__file__))


def make_model(units):
    inputs = keras.Input(shape=(784,), name="digits")
    x = layers.Dense(units, activation="relu", name="dense_1")(inputs)
    x = layers.Dense(units, activation="relu", name="dense_2")(x)
    x = layers.Dense(10, name="dense_logits")(x)
    # The guide's advice: a softmax in float32, for the loss is not stable in 16 bits.
    outputs = layers.Activation("softmax", dtype="float32", name="predictions")(x)
    model = keras.Model(inputs=inputs, outputs=outputs, name="mnist_mlp")
    model.compile(
        loss="sparse_categorical_crossentropy",
        optimizer=keras.optimizers.RMSprop(),
        metrics=["accuracy"],
    )
    return model


if __name__ == "__main__":
    keras.utils.set_random_seed(1)
    keras.config.set_dtype_policy("mixed_bfloat16")
    with open(os.path.join(HERE, "model.json"), "w") as handle:
        handle.write(make_model(4096).to_json(indent=1) + "\n")
    make_model(256).save(os.path.join(HERE, "model_256.keras"))
