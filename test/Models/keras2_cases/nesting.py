# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Models inside of models, and the optimizer's state beside them."""

import tf_keras as keras

from .registry import case, normal

L = keras.layers


@case(form="h5", keeps_weights=True, reloads=True)
def a_model_inside_of_two():
    """The file holds it twice, with state for one: Keras takes the state by place, up to the first of another shape."""
    a, p, q = L.Input((4,)), L.Input((4,)), L.Input((4,))
    inner = keras.Model(a, L.Dense(4)(L.BatchNormalization()(L.Dense(5, activation="tanh")(a))), name="inner")
    one = keras.Model(p, L.Dense(4)(inner(p)), name="one")
    two = keras.Model(q, L.Dense(3)(inner(q)), name="two")
    x, z = L.Input((4,), name="x"), L.Input((4,), name="z")
    model = keras.Model([x, z], L.Dense(2)(L.Concatenate()([one(x), two(z), inner(x)])))
    model.compile(keras.optimizers.Adam(0.01), "mse")
    inputs, targets = [normal(6, 4), normal(6, 4)], [normal(6, 2)]
    for _ in range(3):
        model.train_on_batch(inputs, targets[0])
    return model, inputs, targets
