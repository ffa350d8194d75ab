# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data that comes in batches: tf.data.Dataset, torch's DataLoader, keras.utils.PyDataset, generators and whatever else can be
iterated. None of their packages is needed here: a source is known by what it can do."""

from __future__ import annotations

import collections
import concurrent.futures
import itertools
from typing import Any, Callable, Iterator, Mapping, Optional

import numpy as np

from .batch import Batch
from .errors import InvalidArgumentError
from .prefetch import Pace, made

Order = Callable[[int], np.ndarray]


def name_of(x: Any) -> str:
    package = type(x).__module__.split(".")[0]
    return type(x).__name__ if package == "builtins" else f"{package}.{type(x).__name__}"


def is_stream(x: Any) -> bool:
    """Whether `x` gives batches, rather than being rows."""
    if x is None or isinstance(x, (str, bytes, Mapping, list, tuple, set, frozenset)):
        return False
    if any(hasattr(x, name) for name in ("shape", "__array__", "__dlpack__", "to_numpy")):
        return False
    return hasattr(x, "__iter__") or is_indexed(x)


def is_indexed(x: Any) -> bool:
    """A keras.utils.PyDataset (Sequence): batches by number, which workers may fetch."""
    return hasattr(x, "__getitem__") and (hasattr(x, "num_batches") or (hasattr(x, "__len__") and hasattr(x, "on_epoch_end")))


def gives_own_memory(x: Any) -> bool:
    """Whether no batch's memory is written again while somebody holds the batch. Generators may well fill the same arrays."""
    package = type(x).__module__.split(".")[0]
    if package == "tensorflow":
        return True  # tensors are immutable
    if package != "torch" or not hasattr(x, "collate_fn"):
        return False
    # Batches of workers come from another process; torch's own function stacks rows into new tensors.
    return getattr(x, "num_workers", 0) > 0 or getattr(x.collate_fn, "__name__", "") == "default_collate"


def length_of(x: Any) -> Optional[int]:
    """How many batches there are, or none where nobody knows or there is no end."""
    try:
        count = x.num_batches if hasattr(x, "num_batches") else len(x)
    except (TypeError, NotImplementedError, AttributeError):
        return None
    return None if count is None or count < 0 else int(count)


def is_endless(x: Any) -> bool:
    """A PyDataset without a length, or a tf.data.Dataset that repeats for ever."""
    if is_indexed(x):
        return length_of(x) is None
    return type(x).__module__.startswith("tensorflow.") and hasattr(x, "cardinality") and int(x.cardinality()) == -1


class Stream:
    """Batches of a user's source. What can be iterated again has many passes; an iterator has one. `prepare` makes a batch of what
    the source gives, and copies it where it is told to."""

    def __init__(self, source: Any, prepare: Callable[[Any, bool], Batch], order: Optional[Order] = None) -> None:
        self.source, self._prepare, self._order = source, prepare, order
        self._pace, self._stays = Pace(), gives_own_memory(source)
        self.name = name_of(source)
        self.restarts = not hasattr(source, "__next__")
        self.length = length_of(source) if self.restarts else None
        self._number = 0

    def batches(self) -> Iterator[Any]:
        """One pass of what the source gives, not yet prepared."""
        return indexed_batches(self.source, self._order) if is_indexed(self.source) else iter(self.source)

    def take(self, batches: Iterator[Any], limit: Optional[int]) -> Iterator[Batch]:
        """The next batches of a pass, at most `limit`, prefetched where that pays."""
        return made(batches, self._prepare_next, limit, self._pace)

    def _prepare_next(self, item: Any, keep: bool) -> Batch:
        self._number += 1
        try:
            return self._prepare(item, keep and not self._stays)
        except InvalidArgumentError as problem:
            raise InvalidArgumentError(f"batch {self._number} of {self.name}: {problem}") from problem

    def begin_epoch(self) -> None:
        self._tell("on_epoch_begin")

    def end_epoch(self) -> None:
        self._tell("on_epoch_end")

    def _tell(self, hook: str) -> None:
        """PyDatasets hear of epochs."""
        self._number = 0
        if is_indexed(self.source) and callable(getattr(self.source, hook, None)):
            getattr(self.source, hook)()


def indexed_batches(source: Any, order: Optional[Order]) -> Iterator[Any]:
    """By number, in the given order, fetched by as many threads as the dataset asks for."""
    count = length_of(source)
    indices: Iterator[int] = itertools.count() if count is None else iter(range(count))
    if order is not None and count is not None:
        indices = iter(order(count).tolist())
    workers = max(1, int(getattr(source, "workers", 1) or 1))
    if workers == 1:
        yield from (source[index] for index in indices)
        return
    waiting: "collections.deque[concurrent.futures.Future[Any]]" = collections.deque()
    with concurrent.futures.ThreadPoolExecutor(workers, "mpc-worker") as pool:
        try:
            for index in itertools.islice(indices, max(workers, int(getattr(source, "max_queue_size", 10) or 10))):
                waiting.append(pool.submit(source.__getitem__, index))
            while waiting:
                item = waiting.popleft().result()
                for index in itertools.islice(indices, 1):
                    waiting.append(pool.submit(source.__getitem__, index))
                yield item
        finally:
            for future in waiting:
                future.cancel()


def check_stream(x: Any, steps: Optional[int], what: str = "steps_per_epoch", **given: Any) -> None:
    """Refuses what a stream brings itself, and streams that would never end."""
    for name, value in given.items():
        if value is not None:
            raise InvalidArgumentError(f"{name} is given, but x is a {name_of(x)}, whose batches bring it; expected batches (x, y) or (x, y, sample_weight)")
    if steps is None and is_endless(x):
        raise InvalidArgumentError(f"x is a {name_of(x)} without an end; expected {what}, the number of batches to take")
