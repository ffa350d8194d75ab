# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Wrote training/*.h5 and *.keras with tf_keras 2.16.0 on TensorFlow 2.16.2: python
make_keras2_training.py FOLDER. Each was saved after three steps; the losses of the next six, in the
process that wrote the file, are in the .npz beside it. Ids repeat in a batch, and some of those that
the first steps had are in none of the later ones."""

import sys

import numpy
import tf_keras as keras
from tf_keras import layers

new, old = keras.optimizers, keras.optimizers.legacy
folder = sys.argv[1]
numpy.random.seed(1)
ids = numpy.random.choice([1, 1, 1, 2, 4], size=(8, 4)).astype("float32")
rows = numpy.random.randn(8, 4).astype("float32")
y = numpy.random.randn(8, 2).astype("float32")


def write(name, kind, optimizer, embeds=False, policy="float32"):
    keras.utils.set_random_seed(1)
    keras.mixed_precision.set_global_policy(policy)
    if embeds:
        model = keras.Sequential([layers.Embedding(9, 3, input_length=4), layers.Flatten(), layers.Dense(2)])
        x = ids
    else:
        model = keras.Sequential([layers.Dense(5, activation="tanh", input_shape=(4,)), layers.Dense(2)])
        x = rows
    model.build((None, 4))
    model.compile(optimizer, "mse")
    for step in range(3):
        model.train_on_batch((x + step) % 9 if embeds else x, y)
    model.save(f"{folder}/{name}.{kind}")
    loss = numpy.float32([model.train_on_batch(x, y) for _ in range(6)])
    numpy.savez(f"{folder}/{name}.npz", **{model.input_names[0]: x}, y0=y, loss=loss)


schedule = new.schedules.InverseTimeDecay(0.05, 2, 0.5)
write("adam_rows", "keras", new.Adam(0.01, clipvalue=0.02), embeds=True)
write("rmsprop_centered", "h5", new.RMSprop(0.01, centered=True, momentum=0.3))
write("adafactor", "keras", new.Adafactor(0.02))
write("adafactor_names", "h5", new.Adafactor(0.02))
write("nadam", "keras", new.Nadam(0.01))
write("sgd_idle_momentum", "keras", new.SGD(0.05))
write("averages", "keras", new.SGD(0.05, use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=3))
write("averages_names", "h5", new.Adam(0.01, use_ema=True, ema_momentum=0.8, ema_overwrite_frequency=3))
write("scaled", "keras", new.Adam(0.01), policy="mixed_float16")
write("old_sgd_rows", "h5", old.SGD(0.05, momentum=0.9, nesterov=True), embeds=True)
write("old_ftrl_rows", "h5", old.Ftrl(0.05, l1_regularization_strength=0.001, beta=0.1), embeds=True)
write("old_nadam_rows", "h5", old.Nadam(0.01), embeds=True)
write("old_adagrad", "h5", old.Adagrad(0.05, epsilon=0.01, decay=0.1))
write("old_rmsprop", "h5", old.RMSprop(0.01, epsilon=0.01, centered=True))
write("old_schedule", "h5", old.Adam(schedule, decay=0.05, clipnorm=0.05, clipvalue=0.02))
