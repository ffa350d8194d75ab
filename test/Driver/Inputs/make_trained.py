# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes trained.keras with real Keras: a small model that made three steps of Adam, so that the
file holds optimizer state (make_trained.py OUTPUT)."""

import sys

import keras
import numpy

keras.utils.set_random_seed(1)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, name="dense")], name="trained")
model.compile(optimizer="adam", loss="mse")
rows = numpy.arange(24, dtype="float32").reshape(8, 3) / 24
model.fit(rows, rows[:, :2], batch_size=8, epochs=3, verbose=0)
model.save(sys.argv[1])
