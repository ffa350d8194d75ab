#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A live Keras model, trained by mpc in mixed precision and handed back to Keras.

    pip install keras tensorflow-cpu && pip install REPOSITORY     # mpcc in PATH, or its folder in MPC_BIN
    python main.py
"""

import keras
import numpy as np

import mpc


def blobs(rows, seed):
    """Three clouds of points in eight dimensions."""
    draw = np.random.default_rng(seed)
    labels = draw.integers(0, 3, rows).astype(np.int32)
    return draw.normal(size=(rows, 8)).astype(np.float32) + 2.0 * np.eye(3, 8, dtype=np.float32)[labels], labels


def main():
    keras.utils.set_random_seed(1)
    model = keras.Sequential(
        [
            keras.Input((8,)),
            keras.layers.Dense(64, activation="relu"),
            keras.layers.Dense(3, activation="softmax"),
        ],
        name="blobs",
    )
    model.compile(optimizer="rmsprop", loss="sparse_categorical_crossentropy", metrics=["accuracy"])
    x, y = blobs(2000, seed=1)
    held_x, held_y = blobs(500, seed=2)

    compiled = mpc.compile(model, policy="mixed_bfloat16")
    print(f"compiled {compiled.name} with policy {compiled.policy}")
    history = compiled.fit(x, y, batch_size=100, epochs=10, validation_split=0.2, verbose=0,
                           callbacks=[keras.callbacks.EarlyStopping(patience=3, restore_best_weights=True)])  # fmt: skip
    print(f"mpc:   {len(history.epoch)} epochs, loss {history.history['loss'][0]:.3f}, then {history.history['loss'][-1]:.3f}")
    print(f"mpc:   accuracy {compiled.evaluate(held_x, held_y)[1]:.3f} of points it has not seen")

    compiled.write_back()
    print(f"Keras: accuracy {model.evaluate(held_x, held_y, verbose=0)[1]:.3f} with the weights that mpc trained")
    agree = np.mean(np.argmax(model.predict(held_x, verbose=0), 1) == np.argmax(compiled.predict(held_x), 1))
    print(f"both name the same class for {100 * agree:.1f} % of the points")


if __name__ == "__main__":
    main()
