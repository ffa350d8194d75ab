# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What comes next is made on a thread while the model runs."""

from __future__ import annotations

import queue
import threading
from typing import Any, Callable, Iterator, Optional

DEPTH = 2  # batches that wait: one to be taken, one to be made meanwhile


class _End:
    def __init__(self, problem: Optional[BaseException]) -> None:
        self.problem = problem


def prefetched(items: Iterator[Any], make: Callable[[Any], Any], limit: Optional[int], depth: int = DEPTH) -> Iterator[Any]:
    """`make` of each item, in order, at most `limit` of them: no item more is taken. Errors come out where the item would have.
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
            taken = 0
            while not stopped.is_set() and (limit is None or taken < limit):
                try:
                    item = next(items)
                except StopIteration:
                    break
                taken += 1
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
