# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Recurrences of cuDNN, whose layers Keras makes everywhere and runs on a GPU alone. The classes here
are Keras's, but for the steps, which TensorFlow's other ops compute from the same variables; that
load_weights makes the same LSTM and GRU of a file's weights, `check` asks."""

import os
import tempfile

import numpy
import tensorflow as tf
import tf_keras as keras
from tf_keras.src.layers.rnn.cudnn_gru import CuDNNGRU as KerasGRU
from tf_keras.src.layers.rnn.cudnn_lstm import CuDNNLSTM as KerasLSTM

from .registry import case, normal

L = keras.layers


def matrices(weights, gates):
    """cuDNN has the numbers of each gate's matrix, (units, inputs), one row behind the other."""
    inputs, units = weights.shape[0], weights.shape[1] // gates
    return [tf.transpose(tf.reshape(weights[:, g * units : (g + 1) * units], (units, inputs))) for g in range(gates)]


class Steps:
    def sums(self, x, h, gates):
        own = [x @ w for w in matrices(self.kernel, gates)]
        state = [h @ w for w in matrices(self.recurrent_kernel, gates)]
        bias = tf.split(self.bias, 2 * gates)
        return [a + b for a, b in zip(own, bias)], [a + b for a, b in zip(state, bias[gates:])]

    def _process_batch(self, inputs, initial_state):
        states, outputs = list(initial_state), []
        for x in tf.unstack(inputs, axis=1):
            states = self.step(x, states)
            outputs.append(states[0])
        return tf.stack(outputs, 1) if self.return_sequences else outputs[-1], states


class CuDNNLSTM(Steps, KerasLSTM):
    def step(self, x, states):
        i, f, c, o = (a + b for a, b in zip(*self.sums(x, states[0], 4)))
        memory = tf.sigmoid(f) * states[1] + tf.sigmoid(i) * tf.tanh(c)
        return [tf.sigmoid(o) * tf.tanh(memory), memory]


class CuDNNGRU(Steps, KerasGRU):
    def step(self, x, states):
        own, state = self.sums(x, states[0], 3)
        z, r = (tf.sigmoid(a + b) for a, b in zip(own[:2], state[:2]))
        return [z * states[0] + (1 - z) * tf.tanh(own[2] + r * state[2])]


CuDNNLSTM.__module__, CuDNNGRU.__module__ = KerasLSTM.__module__, KerasGRU.__module__  # as files name them


def check(build):
    """Whether Keras's own conversion of the file's weights predicts the same."""

    def make():
        model, inputs = build(CuDNNLSTM, CuDNNGRU)
        converted, _ = build(L.LSTM, lambda *a, **k: L.GRU(*a, reset_after=True, **k))
        for weight in model.weights:
            weight.assign(numpy.random.default_rng(weight.shape[0]).normal(0, 0.5, weight.shape))
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "w.h5")
            model.save_weights(path)
            converted.load_weights(path)
        for a, b in zip(model(inputs), converted(inputs)):
            numpy.testing.assert_allclose(a, b, atol=2e-6)
        return model, inputs

    make.__name__ = build.__name__
    return make


@case(form="h5", keeps_weights=True)
@check
def cudnn_layers(lstm, gru):
    x = L.Input((5, 3), name="x")
    y = lstm(4, return_sequences=True)(x)
    z, state = gru(4, return_state=True)(y)
    outputs = [y, z, gru(2, go_backwards=True, return_sequences=True)(x), lstm(6, unit_forget_bias=False)(x, initial_state=[L.Dense(6)(z), L.Dense(6)(state)])]
    model = keras.Model(x, outputs)
    model.compile(keras.optimizers.legacy.Adam(0.01), "mse")
    return model, [normal(4, 5, 3)]


@case(form="h5", keeps_weights=True)
@check
def cudnn_layers_in_both_directions(lstm, gru):
    x = L.Input((5, 3), name="x")
    y = L.Bidirectional(lstm(4, return_sequences=True, kernel_regularizer="l2"))(x)
    model = keras.Model(x, [L.Bidirectional(gru(3), merge_mode="sum")(y), L.Bidirectional(lstm(2), backward_layer=lstm(2, go_backwards=True))(x)])
    model.compile(keras.optimizers.legacy.Adam(0.01), "mse")
    return model, [normal(4, 5, 3)]


def sequences(lstm, gru):
    """Both ways, and in both directions."""
    x = L.Input((5, 3), name="x")
    y = L.Bidirectional(lstm(2, return_sequences=True))(lstm(4, return_sequences=True)(x))
    return keras.Model(x, gru(3)(y))


PLAIN, CUDNN = (L.LSTM, lambda *a, **k: L.GRU(*a, reset_after=True, **k)), (CuDNNLSTM, CuDNNGRU)


def with_weights_of(layers):
    """The same model of other layers, with this one's weights as load_weights takes them over."""

    def make(model):
        other = sequences(*layers)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "w.h5")
            model.save_weights(path)
            other.load_weights(path)
        x = numpy.random.default_rng(1).normal(0, 1, (4, 5, 3)).astype("float32")
        numpy.testing.assert_allclose(model(x), other(x), atol=2e-6)
        return other

    return make


@case(form="json", weights_of=with_weights_of(CUDNN))
def weights_of_cudnn_layers():
    return sequences(*PLAIN), [normal(4, 5, 3)]


@case(form="json", weights_of=with_weights_of(PLAIN))
def weights_for_cudnn_layers():
    return sequences(*CUDNN), [normal(4, 5, 3)]
