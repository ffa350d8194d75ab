# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Convolutional and stateful recurrence, TimeDistributed, cells of stacks."""

import keras
import numpy as np
from keras import layers
from layer_cases.registry import between, case, chain


# ---- ConvLSTM -----------------------------------------------------------------------------------


@case("gradient")
def conv_lstm2d():
    return chain((3, 6, 5, 2), layers.ConvLSTM2D(3, 3, padding="same", return_sequences=True),
                 layers.ConvLSTM2D(2, (2, 3), strides=(2, 1), recurrent_activation="hard_sigmoid"))


@case("gradient")
def conv_lstm2d_bfloat16():
    with_policy = dict(dtype="mixed_bfloat16")
    return chain((3, 6, 5, 2), layers.ConvLSTM2D(3, 3, padding="same", **with_policy))


@case("gradient", reference="channels_last")
def conv_lstm1d_first(data_format="channels_first"):
    return chain((4, 2, 9), *between(data_format, layers.ConvLSTM1D(
        3, 2, dilation_rate=2, data_format=data_format, return_sequences=True, go_backwards=True,
        name="conv")))


@case("forward")
def conv_lstm3d():
    inputs = keras.Input((2, 4, 3, 3, 2), name="x")
    y, h, c = layers.ConvLSTM3D(2, 2, padding="same", return_state=True, use_bias=False,
                                activation="relu")(inputs)
    return keras.Model(inputs, [y, h, c])


@case("gradient")
def conv_lstm2d_masked():
    return chain((4, 3, 3, 1), layers.TimeDistributed(layers.Flatten()), layers.Masking(0.0),
                 layers.TimeDistributed(layers.Reshape((3, 3, 1))),
                 layers.Bidirectional(layers.ConvLSTM2D(2, 2, padding="same",
                                                        return_sequences=True)),
                 layers.ConvLSTM2D(2, 2))


# ---- Stateful recurrence ------------------------------------------------------------------------


@case("forward", rows=9)
def stateful_lstm():
    return chain((4, 2), layers.LSTM(3, stateful=True, return_sequences=True),
                 layers.GRU(2, stateful=True), batch=3)


@case("train", rows=8, steps=4, optimizer="sgd")
def stateful_rnn():
    return chain((3, 2), layers.SimpleRNN(4, stateful=True), layers.Dense(2), batch=4)


@case("forward", rows=4, reference="channels_last")
def stateful_conv_lstm(data_format="channels_first"):
    return chain((2, 2, 4), *between(data_format, layers.ConvLSTM1D(
        2, 2, stateful=True, data_format=data_format, name="conv")), batch=2)


# ---- Sums over steps ----------------------------------------------------------------------------


def far_away(random, rows, shape):
    """Targets whose cotangents, in sum 30000 for each channel and step, float16 holds, and those of 40 steps not."""
    count = rows * np.prod(shape[1:])
    places = rows * np.prod(shape[2:-1])
    return np.full((rows, *shape[1:]), -30000 / places * count / 2, np.float32)


@case("gradient", target=far_away)
def sums_of_steps_float16():
    """Each step casts the weights anew, so that its gradients, rounded to float16, are summed in float32."""
    half = dict(dtype="mixed_float16")
    x = keras.Input((40, 3), name="x")
    parts = [layers.SimpleRNN(3, return_sequences=True, activation="sigmoid", **half), layers.LSTM(3, return_sequences=True, **half),
             layers.LSTM(3, return_sequences=True, implementation=1, **half), layers.GRU(3, return_sequences=True, **half),
             layers.GRU(3, return_sequences=True, reset_after=False, go_backwards=True, **half),
             layers.RNN([layers.GRUCell(3, **half), layers.LSTMCell(3, **half)], return_sequences=True, **half),
             layers.TimeDistributed(layers.Dense(3, **half), **half)]
    return keras.Model(x, layers.Concatenate(dtype="float32")([part(x) for part in parts]))


@case("gradient", target=far_away)
def sums_of_steps_conv_float16():
    return chain((40, 4, 4, 1), layers.ConvLSTM2D(2, 2, return_sequences=True, dtype="mixed_float16"), layers.Activation("linear", dtype="float32"))


# ---- TimeDistributed ----------------------------------------------------------------------------


@case("gradient")
def time_distributed_batch_normalization():
    return chain((3, 4, 2), layers.TimeDistributed(layers.BatchNormalization(momentum=0.7)),
                 layers.TimeDistributed(layers.Conv1D(2, 2)))


@case("gradient")
def time_distributed_batch_normalization_bfloat16():
    return chain((3, 4, 2), layers.TimeDistributed(layers.BatchNormalization(momentum=0.7),
                                                   dtype="mixed_bfloat16"))


@case("forward")
def time_distributed_inference():
    """Inference renews nothing, also not from step to step."""
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(3), layers.BatchNormalization()])
    x = keras.Input((5, 4), name="x")
    y = layers.TimeDistributed(inner)(x)
    z = layers.TimeDistributed(layers.BatchNormalization())(x)
    return keras.Model(x, [y, z])


@case("train", steps=3, optimizer="sgd")
def time_distributed_model():
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(3, use_bias=False), layers.BatchNormalization(),
                              layers.ReLU(), layers.Dense(2)])
    return chain((5, 4), layers.TimeDistributed(inner), layers.GlobalAveragePooling1D())


@case("masks")
def time_distributed_dropout():
    """Two ways inside: a model, and a layer with a noise shape that needs the loop. Only the
    architecture is recorded: every step drops other places."""
    inner = keras.Sequential([keras.Input((64,)), layers.Dropout(0.5)])
    y = chain((5, 64), layers.TimeDistributed(inner))
    x = keras.Input((5, 64, 2), name="pairs")
    z = layers.TimeDistributed(layers.SpatialDropout1D(0.5))(x)
    return keras.Model([y.inputs[0], x], [y.outputs[0], z])


# ---- A cell with a policy of its own ------------------------------------------------------------


@case("forward")
def cell_policy():
    x = keras.Input((4, 3), name="x")
    wide = layers.RNN(layers.LSTMCell(3, dtype="float32"), dtype="mixed_bfloat16",
                      return_sequences=True)(layers.Masking(0.0)(x))
    narrow = layers.RNN([layers.GRUCell(3, dtype="mixed_bfloat16"),
                         layers.GRUCell(2, dtype="mixed_bfloat16")], dtype="float32")
    narrow.cell.dtype_policy = "mixed_bfloat16"
    return keras.Model(x, [wide, narrow(x)])


@case("gradient")
def cell_policy_gradient():
    return chain((4, 3), layers.RNN(layers.LSTMCell(3, dtype="mixed_bfloat16"), dtype="float32",
                                    return_sequences=True, return_state=False),
                 layers.Dense(2))


def mixed_cells():
    cells = [layers.LSTMCell(3, dtype="mixed_bfloat16"), layers.GRUCell(4), layers.SimpleRNNCell(2, dtype="mixed_bfloat16")]
    return layers.StackedRNNCells(cells, dtype="float32")


@case("forward")
def stack_policies():
    x = keras.Input((4, 3), batch_size=3, name="x")
    y = layers.RNN(mixed_cells(), dtype="float32", stateful=True, go_backwards=True, return_sequences=True, return_state=True)(x)
    wide = layers.StackedRNNCells([layers.GRUCell(3, dtype="float64"), layers.LSTMCell(2, dtype="float32")], dtype="float64")
    return keras.Model(x, keras.tree.flatten(y) + [layers.RNN(wide, dtype="float32", unroll=True)(x)])


@case("gradient")
def stack_policies_gradient():
    x = keras.Input((4, 3), name="x")
    states = [[layers.Dense(3)(x[:, 0]), layers.Dense(3)(x[:, 1])], [layers.Dense(4)(x[:, 2])], [layers.Dense(2)(x[:, 3])]]
    parts = keras.tree.flatten(layers.RNN(mixed_cells(), dtype="float32", return_state=True)(x, initial_state=states))
    return keras.Model(x, layers.Dense(2)(keras.ops.concatenate(parts, axis=1)))


@case("forward")
def activations_in_a_row():
    """What one activation's kernel writes is what the next product reads."""
    return chain((5, 2), layers.TimeDistributed(layers.Dense(2, activation="tanh")), layers.Dense(6, activation="softplus"), layers.LSTM(4))
