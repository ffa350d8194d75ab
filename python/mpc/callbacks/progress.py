# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What `verbose` shows."""

from __future__ import annotations

import sys
import time
from typing import IO, Optional

from .._runtime import for_line
from .callback import Callback, Logs


class ProgressBar(Callback):
    """`verbose=1`: a live line per epoch; `verbose=2`: one line when an epoch has ended."""

    def __init__(self, verbose: int, stream: Optional[IO[str]] = None) -> None:
        super().__init__()
        self.verbose, self.stream = verbose, stream or sys.stdout
        self.begin = self.shown = time.monotonic()
        self.seen = 0

    def on_epoch_begin(self, epoch: int, logs: Optional[Logs] = None) -> None:
        self.stream.write(f"Epoch {epoch + 1}/{self.params['epochs']}\n")
        self._start()

    def _start(self) -> None:
        self.begin = self.shown = time.monotonic()
        self.seen = 0

    def _line(self, step: int, logs: Logs, *, ended: bool = False) -> str:
        steps, seconds = self.params.get("steps") or (step if ended else None), time.monotonic() - self.begin
        values = " - ".join(f"{for_line(name)}: {value:.4f}" for name, value in logs.items() if isinstance(value, float))
        done = 20 if ended else 20 * step // max(steps, 1) if steps else 0
        bar = f" {'━' * done}{' ' * (20 - done)} " if self.verbose == 1 else " - "
        return f"{step}/{steps or '?'}{bar}{seconds:.0f}s {1e3 * seconds / max(step, 1):.0f}ms/step{' - ' if values else ''}{values}"

    def _show(self, batch: int, logs: Optional[Logs]) -> None:
        self.seen = batch + 1
        if self.verbose == 1 and time.monotonic() - self.shown > 0.1:
            self.shown = time.monotonic()
            self.stream.write("\r" + self._line(self.seen, logs or {}))
            self.stream.flush()

    def _end(self, logs: Optional[Logs]) -> None:
        self.stream.write(("\r" if self.verbose == 1 else "") + self._line(self.seen or self.params.get("steps") or 0, logs or {}, ended=True) + "\n")
        self.stream.flush()

    def on_train_batch_end(self, batch: int, logs: Optional[Logs] = None) -> None:
        self._show(batch, logs)

    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None:
        self._end(logs)


class ForwardProgressBar(ProgressBar):
    """The same of `evaluate` and `predict`."""

    def on_test_begin(self, logs: Optional[Logs] = None) -> None:
        self._start()

    def on_test_batch_end(self, batch: int, logs: Optional[Logs] = None) -> None:
        self._show(batch, logs)

    def on_test_end(self, logs: Optional[Logs] = None) -> None:
        self._end(logs)

    def on_predict_begin(self, logs: Optional[Logs] = None) -> None:
        self._start()

    def on_predict_batch_end(self, batch: int, logs: Optional[Logs] = None) -> None:
        self._show(batch, None)

    def on_predict_end(self, logs: Optional[Logs] = None) -> None:
        self._end(None)
