# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""First values of parameters, and data, by their names alone: the archive holds neither."""

import math
import zlib

import numpy as np

BATCH, ROWS = 8, 32


def _generator(*names):
    return np.random.default_rng(zlib.crc32("/".join(names).encode()))


def parameter(case, name, shape):
    """Factors of normalisations around 1, biases around 0, weights by their fan-in."""
    values = _generator(case, name).uniform(-1, 1, shape)
    if len(shape) > 1:
        values *= math.sqrt(2 / math.prod(shape[1:]))
    elif name.endswith("weight") or name == "scale":
        values = 1 + 0.2 * values
    else:
        values *= 0.2
    return values.astype(np.float32)


def inputs(case, described):
    """Arrays by name. `described`: the shape behind the batch, or that and how many rows a table has."""
    arrays = {}
    for name, shape in described.items():
        if isinstance(shape, tuple) or (shape and isinstance(shape[0], list)):
            arrays[name] = _generator(case, name).integers(0, shape[1], [ROWS, *shape[0]])
        else:
            arrays[name] = _generator(case, name).normal(size=[ROWS, *shape]).astype(np.float32)
    return arrays


def target(case, kind, shape, count):
    draw = _generator(case, "target")
    if kind == "classes":
        return draw.integers(0, count, [ROWS, *shape])
    if kind == "bits":
        return draw.integers(0, 2, [ROWS, *shape]).astype(np.float32)
    return draw.uniform(0, 1, [ROWS, *shape]).astype(np.float32)


def sample(name, size):
    """Which elements of a gradient are recorded."""
    return np.sort(_generator("sample", name).choice(size, min(size, 48), replace=False))
