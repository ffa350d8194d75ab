# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Callbacks that set the learning rate."""

from __future__ import annotations

import inspect
from typing import Callable, Optional

import numpy as np

from ..errors import InvalidArgumentError
from .callback import Callback, Logs
from .monitor import better, monitored


class LearningRateScheduler(Callback):
    """`schedule(epoch, rate)` (or `schedule(epoch)`) gives the learning rate of each epoch, which the logs have, too."""

    def __init__(self, schedule: Callable[..., float], verbose: int = 0) -> None:
        super().__init__()
        self.schedule, self.verbose = schedule, verbose
        try:
            inspect.signature(schedule).bind(0, 0.0)
            self._takes_rate = True
        except TypeError:
            self._takes_rate = False

    def on_epoch_begin(self, epoch: int, logs: Optional[Logs] = None) -> None:
        rate = self.schedule(epoch, self.model.learning_rate) if self._takes_rate else self.schedule(epoch)
        if not isinstance(rate, (float, np.floating)):
            raise InvalidArgumentError(f"LearningRateScheduler: the schedule gave {rate!r} for epoch {epoch}; expected a float")
        self.model.learning_rate = float(rate)
        if self.verbose > 0:
            print(f"\nEpoch {epoch + 1}: LearningRateScheduler setting learning rate to {rate}.")

    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None:
        if logs is not None:
            logs["learning_rate"] = self.model.learning_rate


class ReduceLROnPlateau(Callback):
    """Multiplies the learning rate by `factor` when `monitor` has not improved for `patience` epochs; `verbose=1` tells."""

    def __init__(self, monitor: str = "val_loss", factor: float = 0.1, patience: int = 10, verbose: int = 0, mode: str = "auto",
                 min_delta: float = 1e-4, cooldown: int = 0, min_lr: float = 0.0) -> None:  # fmt: skip
        super().__init__()
        if factor >= 1.0:
            raise InvalidArgumentError(f"ReduceLROnPlateau: factor is {factor}; expected less than 1")
        self.monitor, self.factor, self.patience, self.min_delta, self.verbose = monitor, factor, patience, abs(min_delta), verbose
        self.cooldown, self.min_lr, self._better = cooldown, min_lr, better(monitor, mode)
        self.on_train_begin()

    def on_train_begin(self, logs: Optional[Logs] = None) -> None:
        self.best: Optional[float] = None
        self.wait = self.cooling = 0

    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None:
        logs = logs if logs is not None else {}
        logs["learning_rate"] = self.model.learning_rate
        value = monitored("Learning rate reduction is", self.monitor, logs)
        if value is None:
            return
        if self.cooling > 0:
            self.cooling, self.wait = self.cooling - 1, 0
        if self.best is None or self._better(value, self.best, self.min_delta):
            self.best, self.wait = value, 0
        elif self.cooling <= 0:
            self.wait += 1
            rate = self.model.learning_rate
            if self.wait >= self.patience and rate > self.min_lr:
                self.model.learning_rate = lowered = max(rate * self.factor, self.min_lr)
                if self.verbose > 0:
                    print(f"\nEpoch {epoch + 1}: ReduceLROnPlateau reducing learning rate to {lowered}.")
                self.cooling, self.wait = self.cooldown, 0


