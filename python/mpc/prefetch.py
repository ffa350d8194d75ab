# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What comes next is made on a thread while the model runs, where making it takes time."""

from __future__ import annotations

import itertools
import queue
import threading
import time
from typing import Any, Callable, Iterator, Optional

DEPTH = 2  # batches that wait: one to be taken, one to be made meanwhile
# Handing a batch from one thread to another costs about as many seconds, and processor time that the model has not.
LEAST_SECONDS = 0.0005
LEAST_SHARE = 0.03  # of the time that the model runs


class Pace:
    """Whether a thread pays: measured with each batch that is made without one, and kept for the passes to come. A batch that took
    long by chance, because other programs ran, does not decide it alone."""

    FADING, MOST = 0.8, 4.0

    def __init__(self) -> None:
        self.is_slow = False
        self.ignored = 0.0  # seconds: batches that take less need not be told
        self._score = 0.0
        self._is_first = True

    def made(self, seconds: float, running: float) -> None:
        """A batch took `seconds`, and the model `running` with the one before. The first one pays for what is made once."""
        if self._is_first:
            self._is_first = False
            return
        self._score = self.FADING * self._score + min(seconds / max(LEAST_SECONDS, LEAST_SHARE * running), self.MOST)
        self.is_slow = self._score > 1 / (1 - self.FADING)
        self.ignored = LEAST_SECONDS if self._score < 0.1 else 0.0


class _End:
    def __init__(self, problem: Optional[BaseException]) -> None:
        self.problem = problem


def made(items: Iterator[Any], make: Callable[[Any, bool], Any], limit: Optional[int], pace: Pace) -> Iterator[Any]:
    """`make(item, keep)` of each item, in order, at most `limit` of them: no item more is taken. While that is quick it is done where
    the result is asked for; then, with `keep`, ahead: items have to stay as they are when the next one is taken."""
    items, clock = itertools.islice(items, limit), time.perf_counter
    end = clock()
    while not pace.is_slow:
        asked, begin = end, clock()
        item = next(items, _End)
        if item is _End:
            return
        value = make(item, False)
        end = clock()
        if end - begin > pace.ignored:
            pace.made(end - begin, begin - asked)
        yield value
    yield from prefetched(items, lambda item: make(item, True))


def prefetched(items: Iterator[Any], make: Callable[[Any], Any], depth: int = DEPTH) -> Iterator[Any]:
    """`make` of each item on a thread, `depth` of them ahead. Errors come out where the item would have.
    Closing the iterator ends the thread behind the item that it is at."""
    ready: "queue.Queue[Any]" = queue.Queue(depth)
    stopped = threading.Event()

    def put(value: Any) -> None:
        while not stopped.is_set():
            try:
                return ready.put(value, timeout=0.1)
            except queue.Full:
                continue

    def work() -> None:
        problem: Optional[BaseException] = None
        try:
            while not stopped.is_set():
                item = next(items, _End)
                if item is _End:
                    break
                put(make(item))
        except BaseException as caught:  # pylint: disable=broad-exception-caught
            problem = caught
        put(_End(problem))

    thread = threading.Thread(target=work, name="mpc-prefetch", daemon=True)
    thread.start()
    try:
        while True:
            value = ready.get()
            if isinstance(value, _End):
                if value.problem is not None:
                    raise value.problem
                return
            yield value
    finally:
        stopped.set()
        thread.join(timeout=5)  # what the user's iterator waits for may never come
