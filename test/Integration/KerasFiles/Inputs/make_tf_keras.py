# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrote tf_keras_*.h5 with tf_keras 2.21.0 on TensorFlow 2.21.0: python make_tf_keras.py FOLDER. What
Keras computed next is in the .npz beside each. The optimizers are TensorFlow 2.11's and later
(adam, mixed) and those before (legacy)."""

import sys

import numpy
import tf_keras as keras
from tf_keras import layers

folder = sys.argv[1]
numpy.random.seed(1)
x = numpy.random.randn(8, 5).astype("float32")
y = numpy.random.randint(0, 3, 8).astype("int32")


def write(name, optimizer, policy):
    keras.utils.set_random_seed(1)
    keras.mixed_precision.set_global_policy(policy)
    model = keras.Sequential(
        [
            layers.Dense(4, activation="relu", input_shape=(5,), name="hidden"),
            layers.Dense(3, activation="softmax", dtype="float32", name="probs"),
        ]
    )
    model.compile(optimizer, "sparse_categorical_crossentropy", metrics=["accuracy"])
    for _ in range(3):
        model.train_on_batch(x, y)
    model.save(f"{folder}/tf_keras_{name}.h5")
    out = model.predict(x, verbose=0)
    loss = []
    for _ in range(2):
        model.reset_metrics()
        loss.append(model.train_on_batch(x, y)[0])
    numpy.savez(f"{folder}/tf_keras_{name}.npz", hidden_input=x, y0=y, out0=out, loss=numpy.float32(loss))
    keras.mixed_precision.set_global_policy("float32")


write("adam", keras.optimizers.Adam(0.01), "float32")
write("legacy", keras.optimizers.legacy.Adam(0.01), "float32")
write("mixed", keras.optimizers.legacy.RMSprop(0.01, momentum=0.5), "mixed_float16")

a = keras.Input((5,), name="a")
i = keras.Input((5,), name="i")
inner = keras.Model(i, layers.Dense(2, name="d")(i), name="inner")
tail = keras.Sequential([layers.Dense(2, input_shape=(2,))], name="tail")
joined = layers.Concatenate()([inner(a), layers.Dense(3, name="e")(a)])
model = keras.Model(a, [tail(layers.Dense(2, name="out")(joined)), inner(a)])
model.save(f"{folder}/tf_keras_nested.h5")
outputs = model.predict(x, verbose=0)
numpy.savez(f"{folder}/tf_keras_nested.npz", a=x, out0=outputs[0], out1=outputs[1])
