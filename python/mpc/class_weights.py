# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`class_weight`: weights of rows by the class of their target."""

from __future__ import annotations

import math
import numbers
from typing import Any, Mapping, Sequence

import numpy as np

from .arrays import to_numpy
from .errors import InvalidArgumentError


class ClassWeights:
    """As Keras: classes of integer targets, or the largest of one-hot ones; others weigh 1."""

    def __init__(self, class_weight: Mapping[int, float], targets: Sequence[Mapping[str, Any]]) -> None:
        if not isinstance(class_weight, Mapping):
            raise InvalidArgumentError(f"class_weight is a {type(class_weight).__name__}; expected a dict of weights by class")
        for key, weight in class_weight.items():
            if not isinstance(key, (numbers.Real, np.bool_)) or key < 0 or key != int(key):
                raise InvalidArgumentError(f"class_weight: the key {key!r} is no class; expected an integer of at least 0")
            if not isinstance(weight, numbers.Real) or not 0 <= weight <= float(np.finfo(np.float32).max):
                raise InvalidArgumentError(f"class_weight: class {key} has the weight {weight!r}; expected a number of at least 0 that float32 can hold")
        if len(targets) != 1:
            raise InvalidArgumentError(f"class_weight is for models with one target; this one has {len(targets)}; expected sample_weight there")
        self._weights, self._target = class_weight, targets[0]

    def weigh(self, y: Any, sample_weight: Any) -> np.ndarray:
        """The weights of rows with these targets, times those that are given."""
        if isinstance(y, (Mapping, list, tuple)) and not np.isscalar(next(iter(y), 0)):
            raise InvalidArgumentError(f"class_weight is given, but y is a {type(y).__name__}; expected one array of targets")
        targets = to_numpy(y)
        shape = self._target["shape"][1:]
        one_hot = len(shape) == 1 and self._target["dtype"].startswith(("float", "bfloat"))
        if targets.ndim > 2 or not (one_hot or math.prod(shape) == 1):
            raise InvalidArgumentError(f"class_weight is given, but y of shape {targets.shape} has more than one class in a row; expected (rows,), (rows, 1) "
                                       "or one-hot (rows, classes); pass sample_weight, a weight for each class there")  # fmt: skip
        classes = np.argmax(targets, axis=-1) if targets.ndim > 1 and targets.shape[-1] > 1 else targets.reshape(len(targets))
        weights = np.array([self._weights.get(int(each), 1.0) for each in np.rint(np.nan_to_num(classes))], np.float32)
        if sample_weight is None:
            return weights
        given = np.asarray(sample_weight, np.float32)
        return given * weights.reshape(-1, *[1] * (given.ndim - 1))
