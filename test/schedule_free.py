# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Has Keras's ScheduleFreeAdamW compute on TensorFlow what its file says, and what it computes on JAX.

`update_step` keeps `momentum.value` to read it after the momentum has been updated. On JAX that is the array before the
update; on TensorFlow it is the variable, which by then holds the momentum after it (Keras 3.15.1).
"""

import keras
import tensorflow as tf


class Momentum:
    """A variable whose `value` stays what it was."""

    def __init__(self, variable):
        self.variable, self.value = variable.value, tf.identity(variable.value)

    def __getattr__(self, name):
        return getattr(self.variable, name)

    def __tf_tensor__(self, dtype=None, name=None):
        return tf.convert_to_tensor(self.variable, dtype, name=name)


def read_momentum_before_update():
    whole = keras.optimizers.ScheduleFreeAdamW.update_step

    def update_step(self, gradient, variable, learning_rate):
        momentums = self._momentums
        self._momentums = [Momentum(momentum) for momentum in momentums]
        try:
            whole(self, gradient, variable, learning_rate)
        finally:
            self._momentums = momentums

    keras.optimizers.ScheduleFreeAdamW.update_step = update_step
