# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrote keras206*.h5 and keras224*.h5: python make_keras2.py PREFIX with Keras 2.0.6 or 2.2.4 on Theano
1.0.5 (NumPy 1.23, h5py 3.8, THEANO_FLAGS=cxx=,optimizer=fast_compile). What Keras computed next is in
PREFIX.npz and PREFIX_nested.npz."""

import sys

import keras
import numpy
from keras.layers import Dense, Input, concatenate
from keras.models import Model, Sequential

prefix = sys.argv[1]
numpy.random.seed(1)
x = numpy.random.randn(8, 5).astype("float32")
y = numpy.eye(3)[numpy.random.randint(0, 3, 8)].astype("float32")

model = Sequential(
    [Dense(4, activation="relu", input_shape=(5,), name="hidden"), Dense(3, activation="softmax", name="probs")]
)
model.compile(keras.optimizers.Adam(lr=0.01), "categorical_crossentropy", metrics=["accuracy"])
for _ in range(3):
    model.train_on_batch(x, y)
model.save(prefix + ".h5")
out = model.predict(x)
loss = [model.train_on_batch(x, y)[0] for _ in range(2)]
numpy.savez(prefix + ".npz", hidden_input=x, y0=y, out0=out, loss=numpy.float32(loss))

a = Input((5,), name="a")
i = Input((5,), name="i")
inner = Model(i, Dense(2, name="d")(i), name="inner")
nested = Model(a, Dense(2, name="out")(concatenate([inner(a), Dense(3, name="e")(a)], name="cat")))
nested.compile("sgd", "mse")
nested.train_on_batch(x, numpy.ones((8, 2)))
nested.save(prefix + "_nested.h5")
numpy.savez(prefix + "_nested.npz", a=x, out0=nested.predict(x))
