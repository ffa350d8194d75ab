# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrote keras305.* and keras333.*: python make_keras3.py PREFIX with Keras 3.0.5 or 3.3.3 on TensorFlow
2.21.0. What Keras computed next is in PREFIX.npz."""

import sys

import keras
import numpy
from keras import layers

prefix = sys.argv[1]
numpy.random.seed(1)
x = numpy.random.randn(8, 5).astype("float32")
y = numpy.random.randint(0, 3, 8).astype("int32")
keras.utils.set_random_seed(1)
mixed = "mixed_float16"
a = keras.Input((5,), name="x0")
i = keras.Input((5,), name="i")
inner = keras.Model(i, layers.Dense(4, activation="relu", name="d", dtype=mixed)(i), name="inner")
h = inner(a)
s = keras.Sequential([layers.Dense(4, name="e", dtype=mixed)], name="seq")(h)
outputs = layers.Dense(3, activation="softmax", name="probs")(layers.Add(dtype=mixed)([h, s]))
model = keras.Model(a, outputs)
optimizer = keras.optimizers.LossScaleOptimizer(
    keras.optimizers.Adam(0.01), initial_scale=1024.0, dynamic_growth_steps=2
)
model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"], run_eagerly=True)
for _ in range(3):
    model.train_on_batch(x, y)
model.save(prefix + ".keras")
if not keras.__version__.startswith("3.0."):  # whose .h5 writer fails on a LossScaleOptimizer
    model.save(prefix + ".h5")
out = model.predict(x, verbose=0)
loss = []
for _ in range(2):
    model.reset_metrics()
    loss.append(model.train_on_batch(x, y)[0])
numpy.savez(prefix + ".npz", x0=x, y0=y, out0=out, loss=numpy.float32(loss))
print(keras.__version__, [float(v.numpy()) for v in model.optimizer.variables[:4]])
