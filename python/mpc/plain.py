# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Batches that are already what an entry takes. Steps of small models take less time than looking at every form of a batch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Mapping, Optional, Sequence

import numpy as np

from .arrays import bits, numpy_dtype

if TYPE_CHECKING:
    from .model import Entry

MOST_SIZES = 4  # of batches, whose weights are kept


class Plain:
    """For an entry of one input and at most one target: NumPy arrays of its dtypes and shapes. Whatever else is given, the other way
    (`feeding.columns_of`) converts or refuses."""

    def __init__(self, entry: "Entry", inputs: int, targets: Sequence[Mapping[str, Any]]) -> None:
        self._is_simple = inputs == 1 and len(targets) <= 1 and entry.fixed_batch is None
        self._taken = [(numpy_dtype(tensor["dtype"]), tuple(tensor["shape"][1:])) for tensor in entry.inputs[: 1 + len(targets)]]
        self._weights = [(numpy_dtype(tensor["dtype"]), tuple(tensor["shape"][1:])) for tensor in entry.inputs[1 + len(targets) :]]
        self._ones: dict[int, list[np.ndarray]] = {}

    def arrays_of(self, item: Any, *, copy: bool, has_targets: bool) -> "Optional[tuple[list[Any], int]]":
        """The arrays that the entry is run with, and their number of rows; none where the batch is of another form."""
        parts = item if type(item) is tuple else (item,)
        count = len(self._taken)
        if not self._is_simple or (len(parts) != count if has_targets else not 1 <= len(parts) <= 3):
            return None
        given = parts[:count]
        rows = len(given[0]) if type(given[0]) is np.ndarray and given[0].ndim else 0
        for array, (dtype, shape) in zip(given, self._taken):
            if type(array) is not np.ndarray or array.dtype != dtype or array.shape != (rows, *shape) or not array.flags.c_contiguous:
                return None
        if rows == 0:
            return None
        return [*(bits(array.copy() if copy else array) for array in given), *self._ones_of(rows)], rows

    def _ones_of(self, rows: int) -> list[np.ndarray]:
        """Sample weights where none are given."""
        if rows not in self._ones:
            if len(self._ones) >= MOST_SIZES:
                self._ones.clear()
            self._ones[rows] = [bits(np.ones((rows, *shape), dtype)) for dtype, shape in self._weights]
        return self._ones[rows]
