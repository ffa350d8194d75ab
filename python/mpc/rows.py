# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rows that lie in memory, cut into batches."""

from __future__ import annotations

from typing import Callable, Iterator, Optional, Sequence

import numpy as np

from .arrays import Column
from .batch import Batch


class Rows:
    """Columns in batches of `size`; the last one of a pass may be smaller. `order` gives the rows of each pass."""

    def __init__(self, columns: Sequence[Column], size: int, order: Optional[Callable[[int], np.ndarray]] = None) -> None:
        self._columns, self._size, self._order = columns, size, order
        self.rows = len(columns[0])
        self.name = "the arrays"

    restarts = True

    @property
    def length(self) -> int:
        """Batches of a pass."""
        return -(-self.rows // self._size)

    def batches(self) -> Iterator[Batch]:
        """One pass."""
        order = None if self._order is None else self._order(self.rows)
        for begin in range(0, self.rows, self._size):
            end = min(begin + self._size, self.rows)
            taken = [column.slice(begin, end) if order is None else column.rows(order[begin:end]) for column in self._columns]
            yield Batch(taken, end - begin)

    def take(self, batches: Iterator[Batch], limit: Optional[int]) -> Iterator[Batch]:
        """The next batches of a pass, at most `limit`."""
        for _ in range(self.length if limit is None else limit):
            batch = next(batches, None)
            if batch is None:
                return
            yield batch

    def begin_epoch(self) -> None: ...
    def end_epoch(self) -> None: ...
