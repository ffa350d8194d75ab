# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outputs of batches, of which nobody knows how many come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from .model import Entry


def _rows_of(entry: "Entry", rows: int) -> list[np.ndarray]:
    return [np.empty((rows, *shape[1:]), dtype) for shape, dtype in entry.output_forms]


class Collected:
    """The rows lie in blocks, each as long as all before it together: small batches seldom ask for memory, and the blocks are at most
    twice as long as what is in them."""

    def __init__(self, entry: "Entry") -> None:
        self._first = self._entry = entry
        self._full: list[list[np.ndarray]] = []  # of each block, what is used of its arrays
        self._block: list[np.ndarray] = []
        self._room = self._used = self._before = 0  # rows of the block, and of those before it

    def place(self, entry: "Entry", rows: int) -> list[np.ndarray]:
        """Where the outputs of the next batch are written."""
        begin, end = self._used, self._used + rows
        if end <= self._room and entry is self._entry:
            self._used = end
            return [output[begin:end] for output in self._block]
        if entry is not self._entry:
            self._change(entry)
        if not entry.gives_rows:
            self._full.append([np.empty([rows if extent is None else extent for extent in shape], dtype) for shape, dtype in entry.output_forms])
            return self._full[-1]
        if end > self._room:
            self._close(begin)
            begin, end, self._room = 0, rows, max(rows, self._before)
            self._block = _rows_of(entry, self._room)
        self._used = end
        return [output[begin:end] for output in self._block]

    def _change(self, entry: "Entry") -> None:
        self._entry = entry
        if not self._room:
            self._first = entry
        elif [shape[1:] for shape, _ in entry.output_forms] != [shape[1:] for shape, _ in self._first.output_forms]:
            raise InvalidArgumentError("batches of several shapes have outputs of several shapes, which are no one array; expected batches of one shape; "
                                       "call predict_on_batch for each")  # fmt: skip

    def _close(self, used: int) -> None:
        if used:
            self._full.append([output[:used] for output in self._block])
            self._before += used

    def arrays(self) -> list[np.ndarray]:
        """Each output of all batches."""
        self._close(self._used)
        self._used = self._room = 0
        if not self._full:
            return _rows_of(self._first, 0)
        return [parts[0] if len(parts) == 1 else np.concatenate(parts) for parts in zip(*self._full)]
