# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A small transformer over the rows of an image, as real Keras writes it.

Writes model.json (architecture and compile config, no weights). Run with Keras from PyPI: pip
install keras tensorflow-cpu. The file is committed: nothing in mpc needs Python.
"""

import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import keras
from keras import layers

HERE = os.path.dirname(os.path.abspath(__file__))
EPOCHS, BATCH = 6, 128
WIDTH, HEADS = 32, 4


def encoder(x, name):
    """Normalisation first, as most of today's transformers have it."""
    y = layers.LayerNormalization(epsilon=1e-5, name=f"{name}_norm_attention")(x)
    y = layers.MultiHeadAttention(HEADS, WIDTH // HEADS, name=f"{name}_attention")(y, y)
    x = layers.Add(name=f"{name}_add_attention")([x, y])
    y = layers.LayerNormalization(epsilon=1e-5, name=f"{name}_norm_feed")(x)
    y = layers.Dense(2 * WIDTH, activation="gelu", name=f"{name}_feed")(y)
    y = layers.Dense(WIDTH, name=f"{name}_feed_out")(y)
    return layers.Add(name=f"{name}_add_feed")([x, y])


def make_model():
    rows = keras.Input(shape=(28, 28), name="rows")
    # A bias of its own for each row is the learned position.
    x = layers.EinsumDense(
        "bri,iw->brw", output_shape=(28, WIDTH), bias_axes="rw",
        bias_initializer=keras.initializers.RandomNormal(stddev=0.02), name="embed",
    )(rows)  # fmt: skip
    for name in ("first", "second"):
        x = encoder(x, name)
    x = layers.LayerNormalization(epsilon=1e-5, name="norm")(x)
    x = layers.GlobalAveragePooling1D(name="pool")(x)
    classes = layers.Dense(10, activation="softmax", dtype="float32", name="classes")(x)
    model = keras.Model(rows, classes, name="fashion_transformer")
    rate = keras.optimizers.schedules.CosineDecay(
        0.0, EPOCHS * -(-60000 // BATCH), alpha=0.01, warmup_target=2e-3, warmup_steps=200
    )
    model.compile(
        loss="sparse_categorical_crossentropy",
        optimizer=keras.optimizers.AdamW(rate, weight_decay=1e-3),
        metrics=["accuracy"],
    )
    return model


if __name__ == "__main__":
    with open(os.path.join(HERE, "model.json"), "w") as handle:
        handle.write(make_model().to_json(indent=1) + "\n")
