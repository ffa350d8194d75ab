# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batches that are already what an entry takes. Steps of small models take less time than looking at every form of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Mapping, Sequence

import numpy as np

from .arrays import bfloat16, bits, numpy_dtype
from .batch import Batch

if TYPE_CHECKING:
    from .model import Entry

MOST_SIZES = 4  # of batches, whose weights are kept


class Plain:
    """For an entry of one input and at most one target: NumPy arrays of its dtypes and shapes. Whatever else is given, `otherwise`
    converts or refuses. Without `has_targets`, targets and weights are left out."""

    def __init__(self, entry: "Entry", inputs: int, targets: Sequence[Mapping[str, Any]], has_targets: bool, otherwise: Callable[[Any, bool], Batch]) -> None:
        count = 1 + len(targets)
        self._entry, self._otherwise = entry, otherwise
        self._taken = [(dtype, dtype == bfloat16, tuple(tensor["shape"][1:])) for tensor in entry.inputs[:count] for dtype in [numpy_dtype(tensor["dtype"])]]
        self._weights = [(numpy_dtype(tensor["dtype"]), tuple(tensor["shape"][1:])) for tensor in entry.inputs[count:]]
        is_simple = inputs == 1 and len(targets) <= 1 and entry.fixed_batch is None
        self._lengths: tuple[int, ...] = () if not is_simple else (count,) if has_targets else (1, 2, 3)  # of tuples that are taken
        self._ones: dict[int, list[np.ndarray]] = {}

    def read(self, item: Any, copy: bool) -> Batch:
        """The arrays that the entry is run with."""
        parts = item if type(item) is tuple else (item,)
        if len(parts) not in self._lengths:
            return self._otherwise(item, copy)
        rows = 0
        inputs: list[Any] = []
        for array, (dtype, is_bfloat16, shape) in zip(parts, self._taken):
            if type(array) is not np.ndarray:
                return self._otherwise(item, copy)
            extents = array.shape
            if array.dtype != dtype or extents[1:] != shape or not extents or not array.flags.c_contiguous:
                return self._otherwise(item, copy)
            if extents[0] != rows:
                if inputs:
                    return self._otherwise(item, copy)
                rows = extents[0]
            if copy:
                array = array.copy()
            inputs.append(bits(array) if is_bfloat16 else array)
        if rows == 0:
            return self._otherwise(item, copy)
        if self._weights:
            inputs += self._ones_of(rows)
        return Batch(inputs, rows, self._entry)

    def _ones_of(self, rows: int) -> list[np.ndarray]:
        """Sample weights where none are given."""
        if rows not in self._ones:
            if len(self._ones) >= MOST_SIZES:
                self._ones.clear()
            self._ones[rows] = [bits(np.ones((rows, *shape), dtype)) for dtype, shape in self._weights]
        return self._ones[rows]
