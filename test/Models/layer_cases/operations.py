# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What keras.ops records in a graph."""

import keras
import numpy as np
from keras import layers
from layer_cases.registry import case


# ---- keras.ops in a graph -----------------------------------------------------------------------


@case("gradient")
def recorded_activations():
    x = keras.Input((5,), name="x")
    relu = keras.activations.relu
    y = layers.Dense(5)(x)
    parts = [relu(y), relu(y, negative_slope=0.2), relu(y, max_value=0.5), relu(y, max_value=6.0), relu(y, threshold=0.3),
             relu(y, negative_slope=0.1, max_value=0.4, threshold=0.2), relu(y, -0.5, -1.0),
             keras.ops.cast(relu(keras.ops.cast(4.0 * y, "int32")), "float32"), keras.activations.elu(y, alpha=0.7)]
    return keras.Model(x, keras.ops.concatenate(parts, axis=1))


@case("gradient")
def recorded_activations_in_bfloat16():
    x = keras.Input((5,), name="x")
    relu = keras.activations.relu
    y = layers.Dense(5, dtype="mixed_bfloat16")(x)
    parts = [relu(y), relu(y, negative_slope=0.2), relu(y, max_value=0.5), relu(y, negative_slope=0.1, max_value=0.4, threshold=0.2)]
    return keras.Model(x, keras.ops.concatenate(parts, axis=1))


@case("forward")
def recorded_tables():
    """Without an axis take counts through the elements of the table."""
    x = keras.Input((5,), dtype="int32", name="x")
    table = np.linspace(-1.0, 1.0, 60, dtype="float32").reshape(10, 6)
    return keras.Model(x, [keras.ops.take(table, x), keras.ops.take(table, x // 10, axis=0), keras.ops.take(table[0], x // 10 - 5)])


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


@case("forward")
def merged_and_padded_integers():
    x = keras.Input((5,), name="x", dtype="int32")
    y = x * 3 - 4
    ops = keras.ops
    return keras.Model(x, [layers.Add()([x, y, x]), layers.Subtract()([x, y]), layers.Multiply()([x, y]), layers.Maximum()([x, y]), layers.Minimum()([x, y]),
                           ops.pad(x, ((0, 0), (2, 7)), constant_values=-3), ops.pad(ops.reshape(y, (-1, 5, 1)), ((0, 0), (1, 0), (0, 2))),
                           ops.pad(x > 2, ((0, 0), (1, 1)), constant_values=True)])
