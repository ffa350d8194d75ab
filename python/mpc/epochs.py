# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How passes over data become epochs: Keras's rules for `steps_per_epoch`."""

from __future__ import annotations

import warnings
from contextlib import closing
from typing import Any, Iterator, Optional, Union

from .batch import Batch
from .rows import Rows
from .streams import Stream


class Epochs:
    """Without `steps` an epoch is a pass over the data. With them it has as many batches, and the next one goes on where it
    ended; where a pass ends before, the epoch does, too, with Keras's warning, and the next one begins a new pass."""

    def __init__(self, source: Union[Rows, Stream], steps: Optional[int] = None) -> None:
        self.source, self._given = source, steps
        self._pass: Optional[Iterator[Any]] = None
        self._seen = 0  # batches of this pass
        self._last: Optional[int] = None  # batches of the epoch before

    @property
    def steps(self) -> Optional[int]:
        """Per epoch; where nobody knows, as many as the last one had."""
        return self._given or self.source.length or self._last

    def restart(self) -> None:
        """The next epoch begins a new pass, where the source has such."""
        if self.source.restarts:
            self._pass = None

    def epoch(self) -> Iterator[Batch]:
        """Of no batches where the source has ended for good."""
        if self._pass is None or (self._given is None and self.source.restarts):
            self._pass, self._seen = self.source.batches(), 0
        self.source.begin_epoch()
        count = 0
        with closing(self.source.take(self._pass, self._given)) as batches:  # type: ignore[type-var]
            for batch in batches:
                count, self._seen = count + 1, self._seen + 1
                yield batch
        self.source.end_epoch()
        self._last = count or self._last
        if self._given is not None and count < self._given:
            if not count:  # the caller says what that means
                return self.restart()
            warnings.warn(f"{self.source.name} ran out of data: {count} batches of {self._given}, where this epoch ends. Expected at least "
                          "steps_per_epoch * epochs batches; a dataset's .repeat() gives them", stacklevel=2)  # fmt: skip
            self.restart()
        elif self.source.length is not None and self._seen >= self.source.length:
            self.restart()
