# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Callbacks that end training."""

from __future__ import annotations

import math
from typing import Optional

from ..errors import FailedPreconditionError
from .callback import Callback, Logs
from .monitor import better, monitored


class EarlyStopping(Callback):
    """Ends training when `monitor` has not improved by `min_delta`, to better than `baseline` if there is one, for `patience`
    epochs. Epochs before `start_from_epoch` do not count. `verbose=1` tells when it does, and which weights it restores."""

    def __init__(self, monitor: str = "val_loss", min_delta: float = 0, patience: int = 0, verbose: int = 0, mode: str = "auto",
                 baseline: Optional[float] = None, restore_best_weights: bool = False, start_from_epoch: int = 0) -> None:  # fmt: skip
        super().__init__()
        self.monitor, self.patience, self.min_delta, self.verbose = monitor, patience, abs(min_delta), verbose
        self.baseline, self.start_from_epoch = baseline, start_from_epoch
        self.restore_best_weights, self._better = restore_best_weights, better(monitor, mode)
        self.stopped_epoch, self.best_epoch = 0, 0

    def on_train_begin(self, logs: Optional[Logs] = None) -> None:
        self.best: Optional[float] = None
        self.wait, self.stopped_epoch, self._weights = 0, 0, None

    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None:
        value = monitored("Early stopping", self.monitor, logs)
        if value is None or epoch < self.start_from_epoch:
            return
        self.wait += 1
        if self.best is None or self._better(value, self.best, self.min_delta):
            self.best, self.best_epoch = value, epoch
            if self.restore_best_weights:
                self._weights = self.model.get_weights()
            if self.baseline is None or self._better(value, self.baseline, self.min_delta):
                self.wait = 0
        elif self.wait >= self.patience and epoch > 0:
            self.stopped_epoch, self.model.stop_training = epoch, True

    def on_train_end(self, logs: Optional[Logs] = None) -> None:
        if self.stopped_epoch > 0 and self.verbose > 0:
            print(f"Epoch {self.stopped_epoch + 1}: early stopping")
        if self._weights is not None:
            if self.verbose > 0:
                print(f"Restoring model weights from the end of the best epoch: {self.best_epoch + 1}.")
            self.model.set_weights(self._weights)


class TerminateOnNaN(Callback):
    """Ends training when the loss is not finite; `raise_error` by an error rather than quietly."""

    def __init__(self, raise_error: bool = False) -> None:
        super().__init__()
        self.raise_error = raise_error

    def on_train_batch_end(self, batch: int, logs: Optional[Logs] = None) -> None:
        if logs and not math.isfinite(logs.get("loss", 0.0)):
            if self.raise_error:
                raise FailedPreconditionError(f"TerminateOnNaN: the loss of batch {batch} is {logs['loss']}; expected a finite one")
            print(f"Batch {batch}: Invalid loss, terminating training")
            self.model.stop_training = True


