# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes layers/CASE.keras and layers/CASE.npz: small models and what real Keras computes with
them, for run.py, in the way of the public fixtures (shared/fixtures/keras/README.md): forward,
gradient (eager, training=True) or train (train_on_batch, eager).

usage: TF_ENABLE_ONEDNN_OPTS=0 python record_layers.py [CASE…]

Needs Keras 3.15 on TensorFlow.
"""
import os
import sys

os.environ.setdefault("TF_ENABLE_ONEDNN_OPTS", "0")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import tensorflow as tf
from keras import layers

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "layers")
CASES = {}


def case(kind, **options):
    def register(build):
        CASES[build.__name__] = (kind, build, options)
        return build

    return register


def chain(shape, *stack, batch=None, dtype="float32"):
    inputs = keras.Input(shape, batch_size=batch, name="x", dtype=dtype)
    y = inputs
    for layer in stack:
        y = layer(y)
    return keras.Model(inputs, y)


def between(data_format, layer):
    """TensorFlow's CPU kernels convolve channels last only: expectations of a channels_first layer
    come from the same layer between two transpositions."""
    if data_format == "channels_first":
        return [layer]
    after = (1, 3, 2) if layer.return_sequences else (2, 1)
    return [layers.Permute((1, 3, 2)), layer, layers.Permute(after)]


# ---- keras.ops in a graph -----------------------------------------------------------------------


@case("gradient")
def recorded_statistics():
    x = keras.Input((4, 5), name="x")
    ops = keras.ops
    parts = [ops.median(x, axis=2), ops.quantile(x, 0.3, axis=2), ops.average(x, axis=2, weights=np.arange(1.0, 6.0, dtype="float32")),
             ops.ptp(x, axis=2), ops.nansum(ops.sqrt(x), axis=2), ops.trapezoid(x, dx=0.5, axis=2),
             ops.sum(ops.nan_to_num(ops.log(x), neginf=-3.0), axis=2) * 0.1,
             ops.sum(x * ops.cast(ops.digitize(x, np.array([-0.5, 0.0, 0.4])), "float32"), axis=2)]
    return keras.Model(x, layers.Dense(3)(ops.concatenate(parts, axis=1)))


@case("gradient")
def recorded_matrices():
    x = keras.Input((3, 3), name="x")
    ops = keras.ops
    positive = ops.matmul(x, ops.transpose(x, (0, 2, 1))) + 2.0 * np.eye(3, dtype="float32")
    parts = [ops.inv(positive), ops.cholesky(positive), ops.solve(positive, x), ops.inner(x, np.ones((3, 3), "float32")),
             ops.cross(x, x * 0.5 + 1.0)]
    y = layers.Flatten()(ops.concatenate(parts, axis=1))
    return keras.Model(x, ops.concatenate([y, ops.expand_dims(ops.det(x), 1), ops.expand_dims(ops.trace(x, axis1=1, axis2=2), 1)], axis=1))


@case("gradient")
def recorded_parts():
    x = keras.Input((4, 5, 6), name="x")
    ops = keras.ops
    flat = layers.Flatten()
    parts = [*ops.hsplit(x, (1, 3)), *ops.hsplit(x * 0.5, 2), *ops.array_split(x * x, 4, axis=2), ops.rot90(x[:, :, :4], k=3, axes=(1, 3)),
             ops.rot90(x[:, :, 1:], axes=(2, 1)), ops.extract_sequences(x, 3, 2), ops.stack(ops.dsplit(x, (2,))[:1], axis=1),
             ops.dstack([x, ops.ones_like(x, dtype="float32")])]
    return keras.Model(x, layers.Dense(2)(ops.concatenate([flat(part) for part in parts], axis=1)))


@case("gradient")
def recorded_without_nan():
    x = keras.Input((4, 5), name="x")
    ops = keras.ops
    y = layers.Dense(5)(x)
    missing = ops.log(-1.0 - x * x)
    holes = ops.where(x > 0.8, missing, y)
    parts = [ops.nancumsum(holes, axis=2), ops.nancumprod(holes, axis=1), ops.expand_dims(ops.nanprod(holes, axis=2), 2),
             ops.cumsum(y, axis=1, dtype="float32")]
    places = ops.cast(ops.nanargmax(holes, axis=2), "float32") + ops.cast(ops.nanargmin(holes, axis=2), "float32") * 0.1
    none = ops.cast(ops.nanargmax(missing, axis=2, keepdims=True), "float32")
    return keras.Model(x, ops.concatenate([*parts, ops.expand_dims(places, 2), none], axis=2))


@case("gradient")
def recorded_determinants():
    x = keras.Input((3, 3), name="x")
    ops = keras.ops
    y = layers.Dense(3)(x)
    positive = ops.matmul(y, ops.transpose(y, (0, 2, 1))) + 2.0 * np.eye(3, dtype="float32")
    sign, size = ops.slogdet(y)
    return keras.Model(x, ops.stack([ops.logdet(positive), sign * size, ops.det(y)], axis=1))


@case("gradient")
def recorded_inverses():
    x = keras.Input((5,), name="x")
    ops = keras.ops
    y = layers.Dense(5)(x)
    parts = [ops.arcsinh(3.0 * y), ops.arcsinh(1e-4 * y), ops.arccosh(1.2 + y * y), ops.arctanh(0.9 * ops.tanh(y)),
             ops.ldexp(y, np.arange(-2, 3)), ops.vander(ops.sum(y, axis=1), N=4), ops.vander(y[:, 0], N=3, increasing=True),
             ops.empty_like(y, dtype="float32"), ops.cast(ops.isreal(y), "float32")]
    return keras.Model(x, ops.concatenate(parts, axis=1))


@case("gradient")
def recorded_angles():
    x = keras.Input((5,), name="x")
    ops = keras.ops
    y = layers.Dense(5)(x)
    parts = [ops.arctan(3.0 * y), ops.arctan2(y, x), ops.arctan2(y, -0.5), ops.arcsin(0.95 * ops.tanh(y)), ops.arccos(0.95 * ops.tanh(y)),
             ops.arcsin(1e-4 * y), ops.cast(ops.signbit(y), "float32")]
    return keras.Model(x, ops.concatenate(parts, axis=1))


@case("forward")
def recorded_integers():
    x = keras.Input((6,), name="x", dtype="int32")
    ops = keras.ops
    mixed = x - 3
    other = (x % 5) * 2 - 3
    return keras.Model(x, [mixed // other, mixed % other, mixed // -2, mixed % 4, ops.bitwise_and(x, ops.full_like(x, 6)), ops.bitwise_or(x, mixed), ops.bitwise_xor(x, other),
                           ops.bitwise_invert(mixed), ops.left_shift(mixed, x), ops.bitwise_right_shift(mixed, 1), mixed ** 3, ops.cast(x, "uint8") // 3,
                           ops.bitwise_left_shift(ops.cast(x, "int64"), 33), ops.signbit(mixed)])


@case("forward")
def integer_lookup_assets():
    x = keras.Input((6,), name="x", dtype="int32")
    outputs = []
    for options in (dict(), dict(num_oov_indices=2, mask_token=0, oov_token=-9), dict(output_mode="multi_hot", max_tokens=9, pad_to_max_tokens=True)):
        layer = layers.IntegerLookup(**options)
        layer.adapt(np.array([[1, 4, 4, 2, 7, 0]]))
        outputs.append(layer(x))
    inner = keras.Input((6,), dtype="int32")
    layer = layers.IntegerLookup(output_mode="count")
    layer.adapt(np.array([[3, 4, 4, 5]]))
    return keras.Model(x, [*outputs, keras.Model(inner, layer(inner))(x)])


@case("forward")
def integer_lookup_frequencies():
    x = keras.Input((6,), name="x", dtype="int32")
    adapted = layers.IntegerLookup(output_mode="tf_idf", num_oov_indices=2, dtype="mixed_bfloat16")
    adapted.adapt(np.array([[1, 4, 4, 2, 7, 0], [1, 4, 3, 3, 3, 2]]))
    said = layers.IntegerLookup(vocabulary=[1, 4, 7, 2], idf_weights=[0.1, 0.25, 0.333, 1.7], output_mode="tf_idf")
    special = layers.IntegerLookup(vocabulary=[-1, 4, 7, 2], idf_weights=[0.7, 0.25, 0.333, 1.7], output_mode="tf_idf")
    return keras.Model(x, [adapted(x), said(x), special(x)])


@case("forward")
def recorded_saturation():
    x = keras.Input((6,), name="x", dtype="int32")
    ops = keras.ops
    wide = ops.cast(x, "float32") * 77.5 - 300.0
    scores = ops.cos(wide[:, :5])
    return keras.Model(x, [ops.saturate_cast(wide, "int8"), ops.saturate_cast(wide, "uint8"), ops.saturate_cast(x * 50 - 100, "uint8"),
                           ops.saturate_cast(wide * 1e4, "float16"), ops.cast(ops.saturate_cast(1.0 / (wide - wide), "bfloat16"), "float32") * 1e-38,
                           ops.arcsinh(1e12 * wide), ops.in_top_k(x[:, 0], scores, 3)])


@case("gradient")
def recorded_images():
    x = keras.Input((6, 4, 3), name="x")
    ops = keras.ops
    kernel = np.linspace(-1, 1, 2 * 2 * 3 * 4).reshape(2, 2, 3, 4).astype("float32")
    flat = layers.Flatten()
    parts = [ops.image.resize(x, (3, 5)), ops.image.rgb_to_grayscale(x), ops.image.extract_patches(x, 2),
             ops.image.extract_patches(x, 3, strides=2, padding="same"), ops.max_pool(x, 2), ops.average_pool(x, (2, 3), padding="same"),
             ops.conv(x, kernel, strides=2, padding="same"), ops.depthwise_conv(x, kernel), ops.space_to_depth(x, 2),
             ops.separable_conv(x, kernel, np.full((1, 1, 12, 3), 0.3, "float32"), padding="same"), ops.slice_update(x, (0, 1, 1, 0), x[:, 1:, 1:] * 2.0),
             ops.image.pad_images(x, top_padding=1, left_padding=2, bottom_padding=0, right_padding=1)]
    return keras.Model(x, layers.Dense(2)(ops.concatenate([flat(part) for part in parts], axis=1)))


@case("gradient")
def recorded_images_bfloat16():
    x = keras.Input((6, 4, 3), name="x")
    y = layers.Conv2D(3, 1, dtype="mixed_bfloat16")(x)
    return keras.Model(x, layers.Flatten()(keras.ops.image.extract_patches(keras.ops.image.resize(y, (4, 6), interpolation="nearest"), 2)))


# ---- Masks, losses and categories ----------------------------------------------------------------


@case("gradient")
def attention_value_mask():
    x = keras.Input((4, 3), name="x")
    y = layers.Attention()([layers.Dense(3)(x), x], mask=[None, x[:, :, 0] > 0.0])
    return keras.Model(x, y)


@case("gradient")
def masked_batch_normalization():
    x = keras.Input((5, 3), name="x")
    y = layers.Masking(0.0)(keras.ops.relu(x - 0.5))
    return keras.Model(x, layers.LSTM(2)(layers.BatchNormalization(momentum=0.5)(layers.Dense(3, use_bias=False)(y))))


@case("gradient")
def time_distributed_activity():
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(3, activity_regularizer="l2"), layers.Dense(2, activity_regularizer="l1")])
    return chain((5, 4), layers.TimeDistributed(inner))


@case("forward")
def discretization():
    return chain((4,), layers.Discretization([-0.5, 0.0, 0.7]), layers.Embedding(4, 3))


@case("forward")
def category_planes():
    """Counts of inputs with several feature dimensions go over the first of them."""
    x = keras.Input((3, 2), name="x")
    counts = [layers.Discretization([-0.5, 0.0, 0.7], output_mode=mode)(x) for mode in ("count", "multi_hot", "one_hot")]
    return keras.Model(x, counts)


@case("forward", rows=12, values=[12, -5, 36, 99, 7, 0, 1, 2, 3, -17, 2**53, 2**53 + 1, -(2**63), 2**63 - 2])
def integer_lookup():
    x = keras.Input((5,), name="x", dtype="int64")
    tokens = [12, -5, 2**53 + 1, 99, -17]
    lookup = lambda **options: layers.IntegerLookup(**{"vocabulary": tokens, **options})
    places = lookup()(x)
    return keras.Model(x, [places, lookup(mask_token=7)(x), lookup(mask_token=7, output_mode="multi_hot")(x), lookup(num_oov_indices=3)(x),
                           lookup(num_oov_indices=2, mask_token=7, output_mode="one_hot")(x), lookup(max_tokens=10, pad_to_max_tokens=True, output_mode="count")(x),
                           lookup(vocabulary=[7, -1, 36, 2, 3], mask_token=7)(x), lookup(invert=True)(places), lookup(invert=True, mask_token=7)(places),
                           layers.Embedding(6, 2)(places), layers.Dense(2)(lookup(output_mode="count")(x))])


@case("gradient")
def resized_nearest_float16():
    return chain((5, 4, 2), layers.Conv2D(2, 1, dtype="mixed_float16"), layers.Resizing(8, 4, interpolation="nearest", dtype="mixed_float16"),
                 layers.Activation("linear", dtype="float32"))


# ---- Layers that are called several times ---------------------------------------------------------


@case("forward")
def shared_normalization_inference():
    """Inference renews nothing for the next call."""
    x = keras.Input((4,), name="x")
    shared = layers.BatchNormalization()
    tower = keras.Sequential([keras.Input((4,)), layers.Dense(3), layers.BatchNormalization()])
    return keras.Model(x, layers.Concatenate()([shared(x), shared(layers.Dense(4)(x)), tower(x), tower(2.0 * x)]))


@case("train", steps=3, optimizer="sgd")
def shared_normalization():
    """Calls of one layer at several depths, which Keras runs in its own order: the averages tell."""
    x = keras.Input((4,), name="x")
    shared, dense = layers.BatchNormalization(momentum=0.5), layers.Dense(4, use_bias=False)
    near = shared(x)
    far = layers.ReLU()(dense(shared(dense(near))))
    side = shared(layers.Activation("tanh")(x))
    return keras.Model(x, layers.Dense(2)(side * shared(far) + near))


@case("train", steps=3, optimizer="adam")
def shared_spectral_normalization():
    """The gradient is the sum over the kernels of all calls, and the regulariser sees the last."""
    x = keras.Input((4,), name="x")
    shared = layers.SpectralNormalization(layers.Dense(4, use_bias=False, kernel_regularizer="l2"))
    return keras.Model(x, layers.Dense(2)(shared(layers.ReLU()(shared(x))) + shared(x)))


# ---- Layers of Keras's own models -----------------------------------------------------------------


@case("gradient")
def application_layers():
    from keras.src.applications.convnext import LayerScale, StochasticDepth
    from keras.src.applications.inception_resnet_v2 import CustomScaleLayer

    x = keras.Input((5, 4, 3), name="x")
    y = StochasticDepth(0.0)(LayerScale(0.3, 3)(layers.Dense(3, activation="gelu")(x)))
    z = LayerScale(1e-6, 3)(CustomScaleLayer(0.17)([x, y]))
    return keras.Model(x, layers.Dense(2)(z))


@case("forward")
def augmentations():
    """Inference hands images on."""
    return chain((6, 5, 3), layers.AugMix(), layers.RandAugment(), layers.CutMix(), layers.MixUp(), layers.RandomElasticTransform(), layers.Solarization(0.5, 0.5),
                 layers.Conv2D(2, 3))


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


# ---- Layers inside layers in the legacy format ----------------------------------------------------


@case("forward", suffix=".h5")
def legacy_wrappers():
    x = keras.Input((5, 4), name="x")
    y = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(x)
    y = layers.MultiHeadAttention(2, 3)(y, y)
    y = layers.RNN(layers.GRUCell(3), return_sequences=True)(y)
    inner = keras.Sequential([keras.Input((3,)), layers.Dense(3), layers.BatchNormalization()])
    y = layers.TimeDistributed(inner)(y)
    return keras.Model(x, layers.ConvLSTM1D(2, 2)(layers.Reshape((5, 3, 1))(y)))


# ---- Gradients of embeddings in optimizers ------------------------------------------------------


def embedding():
    ids = keras.Input((7,), name="x", dtype="int32")
    shared = layers.Embedding(9, 3)
    y = layers.Add()([shared(ids), layers.Dense(3)(shared(keras.ops.flip(ids, axis=1)))])
    return keras.Model(ids, layers.Dense(2)(layers.GlobalAveragePooling1D()(y)))


OPTIMIZERS = {
    "sgd": lambda: keras.optimizers.SGD(0.5, momentum=0.9, clipnorm=0.05),
    "rmsprop": lambda: keras.optimizers.RMSprop(0.01, momentum=0.5),
    "adam": lambda: keras.optimizers.Adam(0.01, clipnorm=0.05),
    "adam_global": lambda: keras.optimizers.Adam(0.01, global_clipnorm=0.05),
    "adam_value": lambda: keras.optimizers.Adam(0.01, clipvalue=0.01),
    "adagrad": lambda: keras.optimizers.Adagrad(0.1),
    "adadelta": lambda: keras.optimizers.Adadelta(1.0),
    "adamax": lambda: keras.optimizers.Adamax(0.01),
    "nadam": lambda: keras.optimizers.Nadam(0.01),
    "ftrl": lambda: keras.optimizers.Ftrl(0.1),
    "lion": lambda: keras.optimizers.Lion(0.01),
    "lamb": lambda: keras.optimizers.Lamb(0.01),
    "adafactor": lambda: keras.optimizers.Adafactor(0.1),
    "muon": lambda: keras.optimizers.Muon(0.01, exclude_embeddings=True),
}
for _name in OPTIMIZERS:
    CASES["embedding_" + _name] = ("train", embedding, dict(steps=4, optimizer=_name))


@case("train", steps=3, optimizer="adam")
def embedding_regularized():
    ids = keras.Input((5,), name="x", dtype="int32")
    y = layers.Embedding(9, 3, embeddings_regularizer="l2")(ids)
    return keras.Model(ids, layers.Dense(2)(layers.Flatten()(y)))


# ---- Optimizers that go on from what the file holds ------------------------------------------------


OPTIMIZERS["adafactor_decay"] = lambda: keras.optimizers.Adafactor(keras.optimizers.schedules.ExponentialDecay(0.1, 2, 0.5))
OPTIMIZERS["scaled_adafactor"] = lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.Adafactor(0.1), dynamic_growth_steps=2)
OPTIMIZERS["scaled_nadam"] = lambda: keras.optimizers.LossScaleOptimizer(keras.optimizers.Nadam(0.01), dynamic_growth_steps=2)


def two_layers():
    return chain((4,), layers.Dense(3, activation="tanh"), layers.Dense(2))


for _name in ("adafactor_decay", "scaled_adafactor", "scaled_nadam", "nadam", "ftrl", "muon"):
    CASES["resumed_" + _name] = ("train", two_layers, dict(before=3, steps=3, optimizer=_name))


# ---- keras.ops ----------------------------------------------------------------------------------


def real_functions_of(x):
    ops = keras.ops
    y = ops.cbrt(x) + ops.sinh(0.3 * x) - ops.cosh(x) + ops.hypot(x, 1 - x) + ops.deg2rad(x) * ops.rad2deg(0.1 * x)
    z = ops.fabs(x) + ops.trunc(3 * x) + ops.round(2 * x) + ops.round(x, decimals=1) + ops.heaviside(x, 0.5 * x) + ops.fmax(x, 0.2 * x) * ops.fmin(x, 1 - x)
    return ops.concatenate([y, z], axis=-1)


@case("gradient")
def real_functions():
    x = keras.Input((7,), name="x")
    return keras.Model(x, real_functions_of(x))


@case("forward")
def real_functions_bfloat16():
    x = keras.Input((7,), name="x")
    return keras.Model(x, real_functions_of(layers.Identity(dtype="bfloat16")(x)))


# ---- Losses of sequences and pairs ---------------------------------------------------------------


def labels_of_steps(random, rows, shape):
    """Class labels padded with the blank 0, among them an empty row, repeated labels, and as many as fit."""
    labels = np.zeros((rows, shape[1]), np.int32)
    for row, count in enumerate([0, 1, 2, 3, 4, 7][:rows]):
        labels[row, :count] = 1 + np.arange(count) % 3 if count == 7 else random.integers(1, 4, size=count)
    labels[2, :2] = 2
    return labels


@case("train", steps=4, optimizer="sgd", loss="ctc", target=labels_of_steps)
def ctc():
    return chain((7, 3), layers.SimpleRNN(5, return_sequences=True), layers.Dense(4))


def labels_of_samples(random, rows, shape):
    return random.integers(0, 2, size=rows).astype(np.int32)


@case("train", rows=12, steps=4, optimizer="sgd", loss="circle", target=labels_of_samples)
def circle():
    return chain((5,), layers.Dense(4, activation="tanh"), layers.Dense(3), layers.UnitNormalization())


# ---- Sample weights -------------------------------------------------------------------------------


def weights_of(*shapes):
    """For each output an array of weights with these dims behind the rows, zeros among them."""
    def draw(random, rows):
        return [np.where(random.uniform(size=(rows, *shape)) < 0.2, 0.0, random.uniform(0.2, 2.0, size=(rows, *shape))).astype(np.float32)
                for shape in shapes]
    return draw


@case("train", steps=3, optimizer="rmsprop", weights=weights_of((), (4,)), target=[lambda random, rows, shape: random.integers(0, 3, size=rows).astype(np.int32), None],
      loss={"label": "sparse_categorical_crossentropy", "box": "mse"}, weighted_metrics={"label": ["accuracy"], "box": ["mae", "mse"]},
      metrics={"label": ["accuracy"], "box": ["mae"]})
def weights_of_outputs():
    x = keras.Input((4, 3), name="x")
    y = layers.Dense(5, activation="tanh")(x)
    return keras.Model(x, [layers.Dense(3, activation="softmax", name="label")(layers.Flatten()(y)), layers.Dense(2, name="box")(y)])


@case("train", steps=3, optimizer="adam", weights=weights_of((5,)), loss="sparse_categorical_crossentropy",
      target=lambda random, rows, shape: random.integers(0, 4, size=(rows, 5)).astype(np.int32),
      weighted_metrics=["accuracy", keras.metrics.SparseCategoricalCrossentropy(name="ce"), keras.metrics.SparseTopKCategoricalAccuracy(2, name="top")])
def weights_of_masked_steps():
    return chain((5, 3), layers.Masking(0.0), layers.LSTM(4, return_sequences=True), layers.Dense(4, activation="softmax"))


@case("train", steps=3, optimizer="sgd", weights=weights_of((3, 1)), loss=keras.losses.BinaryCrossentropy(from_logits=True, reduction="sum"),
      target=lambda random, rows, shape: random.integers(0, 2, size=(rows, 3, 4, 1)).astype(np.float32),
      weighted_metrics=[keras.metrics.AUC(20, from_logits=True, name="auc"), keras.metrics.Precision(0.3, name="precision"), "mae"])
def weights_of_columns():
    return chain((3, 4, 2), layers.Conv2D(3, 2, padding="same", activation="tanh"), layers.Conv2D(1, 1))


@case("train", steps=3, optimizer="sgd", weights=weights_of((5,)), loss=keras.losses.MeanAbsoluteError(reduction="mean_with_sample_weight"))
def weights_divided_by():
    return chain((5, 3), layers.Dense(2))


# ---- Recording ----------------------------------------------------------------------------------


def write(name, kind, build, options):
    keras.utils.set_random_seed(len(name))
    random = np.random.default_rng(len(name))
    model = build()
    if kind == "masks":
        model.compile(optimizer="sgd", loss=["mse", "mse"])
        return model.save(os.path.join(FOLDER, name + ".keras"))
    for variable in model.weights:
        value = random.normal(scale=0.5, size=variable.shape)
        if "variance" in variable.path:
            value = 0.5 + np.abs(value)
        variable.assign(value)
    fixed = model.inputs[0].shape[0]
    rows = options.get("rows", fixed or 6)
    shape = (rows, *model.inputs[0].shape[1:])
    if model.inputs[0].dtype == "int32":
        inputs = random.integers(0, 9, size=shape).astype(np.int32)
    elif "values" in options:
        inputs = random.choice(np.array(options["values"], np.int64), size=shape)
    else:
        inputs = random.normal(size=shape).astype(np.float32)
    if "masked" in name:
        inputs[1, 2:] = 0
        inputs[2, 0] = 0
    arrays = {"x": inputs}
    targets, weights = [], None
    if kind != "forward":
        makers = options.get("target")
        for output, make in zip(model.outputs, makers if isinstance(makers, list) else [makers] * len(model.outputs)):
            target = random.normal(size=(rows, *output.shape[1:])).astype(np.float32)
            targets.append(make(random, rows, output.shape) if make else target)
            arrays[f"y{len(targets) - 1}"] = targets[-1]
        target = targets[0]
        if "weights" in options:
            weights = options["weights"](random, rows)
            names = ["sample_weight_" + name for name in model.output_names] if len(weights) > 1 else ["sample_weight"]
            arrays.update(zip(names, weights))
        optimizer = OPTIMIZERS[options["optimizer"]]() if kind == "train" else "sgd"
        if name.startswith("stateful"):
            optimizer = keras.optimizers.SGD(0.1)
        model.compile(optimizer=optimizer, loss=options.get("loss", "mse"), run_eagerly=True,
                      metrics=options.get("metrics"), weighted_metrics=options.get("weighted_metrics"))
        if kind == "train":
            model.optimizer.build(model.trainable_variables)
        for _ in range(options.get("before", 0)):
            model.train_on_batch(inputs, target)
    path = os.path.join(FOLDER, name + options.get("suffix", ".keras"))
    model.save(path)
    keras.backend.clear_session()  # what has no name is numbered as in a process that only loads
    model = keras.saving.load_model(path)
    if "reference" in options:
        weights = model.get_weights()
        model = build(options["reference"])
        model.set_weights(weights)
        model.compile(loss="mse")
    if kind == "forward":
        # Batch by batch, so that states go on. Layers that augment images train unless they are told not to.
        size = fixed or rows
        parts = [model(inputs[i:i + size], training=False) for i in range(0, rows, size)]
        parts = [part if isinstance(part, (list, tuple)) else [part] for part in parts]
        for index in range(len(model.outputs)):
            whole = np.concatenate([np.asarray(part[index] if part[index].dtype.is_integer else tf.cast(part[index], "float32")) for part in parts])
            arrays[f"out{index}"] = whole
    elif kind == "gradient":
        before = {v.path: np.asarray(v) for v in model.non_trainable_variables}
        with tf.GradientTape() as tape:
            output = model(inputs, training=True)
            loss = model.compute_loss(y=target, y_pred=output)
        gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
        arrays["loss"] = np.float32(loss)
        arrays["out0"] = np.asarray(tf.cast(output, "float32"))
        for variable, gradient in zip(model.trainable_variables, gradients):
            arrays["grad:" + variable.path] = np.asarray(tf.cast(gradient, "float32"))
        for variable in model.non_trainable_variables:
            if not np.array_equal(before[variable.path], np.asarray(variable)):
                arrays["after:" + variable.path] = np.asarray(variable)
    else:
        model.run_eagerly = True
        logged = {}
        batch = fixed or 3
        arrays["batch"] = np.int64(batch)
        for step in range(options["steps"]):
            index = (step * batch + np.arange(batch)) % rows
            chosen = [[array[index] for array in part] if part else None for part in (targets, weights)]
            logs = model.train_on_batch(inputs[index], *(part if part is None or len(part) > 1 else part[0] for part in chosen), return_dict=True)
            for key, value in logs.items():
                logged.setdefault(key if key == "loss" else "metric:" + key, []).append(value)
        arrays.update({key: np.asarray(values, np.float32) for key, values in logged.items()})
        for variable in model.variables:
            if "seed_generator" not in variable.path:
                arrays["final:" + variable.path] = np.asarray(variable)
        for variable in model.optimizer.variables:
            # Adafactor's r and c of a variable have one name, which is not their variable's path.
            if "/" in variable.path and variable.path.rsplit("/")[-1] not in (
                    "embeddings", "kernel", "bias"):
                arrays["opt:" + variable.path] = np.asarray(variable)
    np.savez_compressed(os.path.join(FOLDER, name + ".npz"), **arrays)
    print(name, kind, {key: value.shape for key, value in arrays.items()})


if __name__ == "__main__":
    for wanted in sys.argv[1:] or CASES:
        keras.backend.clear_session()
        write(wanted, *CASES[wanted])
