# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Small matrices, special functions, quantiles and integers that keras.ops records in a graph."""

import keras
import numpy as np
from keras import layers
from layer_cases.operations_of_signals import flatten
from layer_cases.registry import case


@case("gradient")
def recorded_triangles():
    x = keras.Input((4, 4), name="x")
    ops = keras.ops
    y = layers.Dense(4)(x) + 3.0 * np.eye(4, dtype="float32")
    parts = [ops.linalg.solve_triangular(y, x, lower=True), ops.linalg.solve_triangular(y, y[:, :, :3]), ops.linalg.solve_triangular(y, x[:, 0], lower=True),
             ops.linalg.cholesky_inverse(y), ops.linalg.cholesky_inverse(y, upper=True)]
    return keras.Model(x, flatten(parts))


@case("gradient")
def recorded_reflections():
    x = keras.Input((5, 3), name="x")
    ops = keras.ops
    y = layers.Dense(3)(x)
    parts = [*ops.linalg.qr(y), *ops.linalg.qr(y[:, :3]), *ops.linalg.qr(y[:, :, :1])]
    return keras.Model(x, flatten(parts))


@case("forward")
def recorded_reflections_of_all_sizes():
    x = keras.Input((5, 3), name="x")
    ops = keras.ops
    wide = ops.transpose(x, (0, 2, 1))
    triangle = ops.triu(x[:, :3])
    return keras.Model(x, [*ops.linalg.qr(x, mode="complete"), *ops.linalg.qr(wide), *ops.linalg.qr(wide[:, :1]), *ops.linalg.qr(triangle), *ops.linalg.qr(ops.zeros_like(x))])


@case("gradient")
def recorded_special_functions():
    x = keras.Input((7,), name="x")
    ops = keras.ops
    y = layers.Dense(7)(x)
    parts = [ops.erfinv(0.99 * ops.tanh(y)), ops.erfinv(1e-3 * y), ops.erfinv(0.9 * ops.tanh(3.0 * y)), ops.i0(y), ops.i0(1e-3 * y), ops.log(ops.i0(12.0 * y))]
    return keras.Model(x, ops.concatenate(parts, axis=1))


@case("forward")
def recorded_special_values():
    x = keras.Input((7,), name="x")
    ops = keras.ops
    return keras.Model(x, [1.0 / ops.erfinv(ops.sign(x)), *(ops.erfinv(ops.sign(x) * number) for number in (0.5, 0.9990234375, 0.99999994)), ops.i0(ops.cast(3.0 * x, "int32")), ops.cast(ops.isnan(ops.erfinv(1.5 + x * x)), "float32"), ops.i0(9.0 * ops.sign(x))])


@case("forward")
def recorded_special_functions_bfloat16():
    x = keras.Input((7,), name="x")
    y = layers.Identity(dtype="bfloat16")(x)
    return keras.Model(x, [keras.ops.erfinv(keras.ops.tanh(y)), keras.ops.nanmedian(keras.ops.reshape(y, (-1, 7, 1)), axis=1)])


@case("gradient")
def recorded_quantiles():
    x = keras.Input((4, 5), name="x")
    ops = keras.ops
    y = layers.Dense(5)(x)
    holes = ops.where(x > 0.3, ops.log(-1.0 - x * x), y)
    parts = [ops.nanmedian(holes, axis=2), ops.nanmedian(holes, axis=[1, 2], keepdims=True), ops.nanquantile(holes, 0.2, axis=1), ops.nanpercentile(holes, 70, axis=-1, keepdims=True)]
    parts += [ops.nanquantile(holes, 0.5, axis=(1, 2), method=method) for method in ("lower", "higher", "nearest", "midpoint", "linear")]
    flat = [layers.Flatten()(ops.nan_to_num(part)) for part in parts]
    return keras.Model(x, layers.Dense(2)(ops.concatenate([part if part.ndim == 2 else ops.expand_dims(part, 1) for part in flat], axis=1)))


@case("forward")
def recorded_places_of_quantiles():
    """0.2 is a little more in float32."""
    x = keras.Input((6, 5), name="x")
    ops = keras.ops
    holes = ops.where(x > 1.0, ops.log(-1.0 - x * x), x)
    return keras.Model(x, [ops.percentile(x, 20, axis=1, method="higher"), ops.quantile(x, 0.7, axis=1), ops.nanpercentile(holes, 20, axis=1, method="higher"), ops.nanmedian(holes, axis=2)])


@case("forward")
def recorded_divisors():
    x = keras.Input((6,), name="x", dtype="int32")
    ops = keras.ops
    y = x * x * 6 - 18 * x
    wide = ops.cast(x, "int64") * 4807526976
    return keras.Model(x, [ops.gcd(y, 12 * x), ops.gcd(x, 0), ops.lcm(y, x + 2), ops.lcm(x, -6), ops.gcd(ops.cast(x * 8, "uint8"), ops.cast(x + 12, "uint8")), ops.gcd(wide, ops.cast(x, "int64") * 2971215073),
                           ops.gcd(x * 0 + 1836311903, x * 0 + 1134903170), *ops.unravel_index(x, (2, 3, 4)), *ops.unravel_index(x[:, 0] + 5, (2, 3, 4)), *ops.unravel_index(y, (7,))])


@case("forward", rows=12, values=[2**24 + 1, 2**24 + 3, 2**41 + 1, -(2**25 + 1), -3, 0, 1, 200, 250])
def recorded_wide_integers():
    """Beyond what float32 and int32 hold, and where uint8 overflows."""
    x = keras.Input((5,), name="x", dtype="int64")
    ops = keras.ops
    wide = [x + 2**40, ops.where(x > 2**40, x, 2**41 + 1), (x * 2**33) % (2**35 + 1), ops.cumsum(x, axis=1), ops.prod(x, axis=1), ops.prod(x, axis=-1, keepdims=True),
            ops.relu(x), ops.relu6(x), ops.sign(x), ops.nan_to_num(x), ops.max(x, axis=1, initial=2**41), ops.min(x, axis=1, keepdims=True, initial=-3)]
    narrow = ops.cast(x, "uint8")
    narrow = [ops.cumsum(narrow, axis=1), ops.prod(narrow, axis=1), ops.prod(narrow, axis=1, dtype="float32"), ops.relu(narrow), ops.sign(narrow), narrow + 300]
    middle = ops.cast(x, "int32")
    middle = [ops.cumsum(middle, axis=1) // 2, ops.prod(middle, axis=1), ops.relu(middle), middle + 2**40, ops.cumsum(x > 0, axis=1), (x > 0) + (2**40 + 5), ops.cross(x[:, :3] + 2**40, x[:, 2:])]
    return keras.Model(x, wide + narrow + middle)


@case("gradient")
def recorded_initial_extremes():
    x = keras.Input((4, 3), name="x")
    y = layers.Dense(3)(x)
    ops = keras.ops
    parts = [ops.max(y, axis=1, initial=0.25), ops.min(y, axis=(1, 2), keepdims=True, initial=-1), ops.max(y, axis=-1)]
    return keras.Model(x, flatten(parts))


@case("forward")
def recorded_multi_hot_planes():
    """Over the first axis behind the batch."""
    x = keras.Input((4, 3), name="x", dtype="int32")
    return keras.Model(x, [keras.ops.multi_hot(x, 5), keras.ops.multi_hot(x[:, :, 0], 5), keras.ops.multi_hot(x[:, None], 5, dtype="int32")])


@case("gradient")
def recorded_remainders():
    """Remainders of quotients that no float32 holds, of both signs; the tail of erfc."""
    x = keras.Input((6,), name="x")
    ops = keras.ops
    y = layers.Dense(6)(x)
    parts = [y % 0.3, (1000.0 * y) % 0.3, ops.mod(3.0 * y, -0.7), ops.mod(4.0, ops.abs(y) + 0.1), ops.fmod(1000.0 * y, 0.7), ops.erfc(y),
             1e6 * ops.erfc(3.0 + ops.abs(y)), ops.log(ops.erfc(2.0 + ops.abs(y)))]
    return keras.Model(x, flatten(parts))


@case("forward")
def recorded_infinities():
    """What is not finite is in the results that it reaches alone."""
    x = keras.Input((6,), name="x")
    ops = keras.ops
    logs = ops.log(ops.relu(x))
    above = 1.0 / ops.relu(x)
    grid = ops.reshape(logs, (-1, 2, 3))
    parts = [ops.exp(ops.cumsum(logs, axis=1)), 1.0 / ops.cumsum(above, axis=1), ops.exp(ops.cumsum(grid, axis=1)), ops.exp(ops.logaddexp(logs, logs[:, ::-1])),
             1.0 / ops.logaddexp(above, above), ops.exp(ops.logaddexp2(logs, logs)), 1.0 / ops.logaddexp2(above, above[:, ::-1]), ops.cumsum(ops.sign(x) * 200.0, axis=1),
             ops.mod(ops.abs(x), above)]
    return keras.Model(x, parts)


@case("forward")
def recorded_integers_as_they_are():
    """Results of integers in the dtype that Keras gives them, beyond what float32 holds."""
    x = keras.Input((4,), dtype="int32", name="x")
    ops = keras.ops
    small, large = ops.cast(x * 20, "int8"), ops.cast(x, "int64") * 2**33 + 1
    bytes_ = ops.cast(x * 25, "uint8")
    outputs = [ops.ptp(large, axis=1), ops.nansum(large, axis=1), ops.nanmax(large, axis=1), ops.nanmin(x, axis=1), ops.fmax(large, x), ops.fmin(x, 4), ops.ptp(small, axis=1),
               ops.nansum(small, axis=1), ops.trace(ops.reshape(small, (-1, 2, 2)), axis1=1, axis2=2), ops.trace(ops.reshape(bytes_, (-1, 2, 2)), axis1=1, axis2=2),
               ops.left_shift(bytes_, 6), ops.right_shift(ops.left_shift(bytes_, 2), 2), ops.left_shift(small, 3), ops.bitwise_right_shift(x, 1)]
    return keras.Model(x, [ops.cast(y % 1000003, "int32") for y in map(lambda y: ops.cast(y, "int64"), outputs)])


@case("forward")
def normalization_of_two_axes():
    """Statistics that broadcast to the kept axes, and factors to a sample."""
    x = keras.Input((3, 3), name="x")
    columns, rows = [[1.0], [2.0], [3.0]], [[0.5, 2.0, 4.0]]
    y = layers.Normalization(axis=(1, 2), mean=columns, variance=[[1.0], [4.0], [9.0]])(x)
    z = layers.Normalization(axis=(1, 2), mean=rows, variance=rows)(x)
    w = layers.Normalization(axis=(1, 2), mean=[1.0, 2.0, 3.0], variance=[1.0, 2.0, 3.0], invert=True)(x)
    v = layers.Normalization(axis=1, mean=[1.0, 2.0, 3.0], variance=[1.0, 2.0, 3.0])(x)
    u = layers.Rescaling(np.array(columns), offset=np.array(rows))(x)
    return keras.Model(x, [y, z, w, v, u])
