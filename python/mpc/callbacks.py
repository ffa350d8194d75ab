# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Callbacks of `Model.fit`, with Keras's hooks and names: Keras's own callbacks that only look at
logs and at `model.stop_training` work, too."""

from __future__ import annotations

import csv
import math
import sys
import time
import warnings
from typing import IO, Any, Callable, Optional

from ._runtime import for_cell, for_line, larger_is_better
from .errors import InvalidArgumentError

Logs = dict[str, Any]


class Callback:
    """Override what you need. `self.model` is the model, `self.params` epochs, steps and verbosity."""

    def __init__(self) -> None:
        self.model: Any = None
        self.params: dict[str, Any] = {}

    def set_model(self, model: Any) -> None:
        self.model = model

    def set_params(self, params: dict[str, Any]) -> None:
        self.params = params

    def on_train_begin(self, logs: Optional[Logs] = None) -> None: ...
    def on_train_end(self, logs: Optional[Logs] = None) -> None: ...
    def on_epoch_begin(self, epoch: int, logs: Optional[Logs] = None) -> None: ...
    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None: ...
    def on_train_batch_begin(self, batch: int, logs: Optional[Logs] = None) -> None: ...
    def on_train_batch_end(self, batch: int, logs: Optional[Logs] = None) -> None: ...


class History(Callback):
    """What `fit` returns: `history` by name, one value per epoch; `epoch` their numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list[Any]] = {}
        self.epoch: list[int] = []

    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None:
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


class LambdaCallback(Callback):
    """Functions as hooks: `LambdaCallback(on_epoch_end=lambda epoch, logs: ...)`."""

    def __init__(self, **hooks: Callable[..., None]) -> None:
        super().__init__()
        for name, hook in hooks.items():
            if not name.startswith("on_") or not hasattr(Callback, name):
                raise TypeError(f"no hook {name!r}")
            setattr(self, name, hook)


def _better(monitor: str, mode: str) -> Callable[[float, float, float], bool]:
    if mode not in ("auto", "min", "max"):
        raise ValueError(f"mode {mode!r}; expected auto, min or max")
    larger = larger_is_better(monitor) if mode == "auto" else mode == "max"
    if larger is None:
        raise ValueError(f"the name {monitor!r} does not say whether more of it is better; pass mode='max' or mode='min'")
    return lambda new, old, delta: new - delta > old if larger else new + delta < old


def _monitored(what: str, monitor: str, logs: Optional[Logs]) -> Optional[float]:
    """The value, or none with Keras's warning: epochs without validation have no val_loss."""
    value = (logs or {}).get(monitor)
    if value is None:
        warnings.warn(f"{what} conditioned on metric `{monitor}` which is not available. Available metrics are: {','.join(logs or {})}", stacklevel=3)
    return value


class EarlyStopping(Callback):
    """Ends training when `monitor` has not improved by `min_delta`, to better than `baseline` if there is one, for `patience`
    epochs. Epochs before `start_from_epoch` do not count."""

    def __init__(self, monitor: str = "val_loss", min_delta: float = 0, patience: int = 0, mode: str = "auto",
                 baseline: Optional[float] = None, restore_best_weights: bool = False, start_from_epoch: int = 0) -> None:  # fmt: skip
        super().__init__()
        self.monitor, self.patience, self.min_delta = monitor, patience, abs(min_delta)
        self.baseline, self.start_from_epoch = baseline, start_from_epoch
        self.restore_best_weights, self._better = restore_best_weights, _better(monitor, mode)
        self.stopped_epoch, self.best_epoch = 0, 0

    def on_train_begin(self, logs: Optional[Logs] = None) -> None:
        self.best: Optional[float] = None
        self.wait, self._weights = 0, None

    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None:
        value = _monitored("Early stopping", self.monitor, logs)
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
        if self._weights is not None:
            self.model.set_weights(self._weights)


class ModelCheckpoint(Callback):
    """Saves after each epoch; `filepath` may name logs: "at-{epoch:02d}-{val_loss:.3f}.safetensors"."""

    def __init__(self, filepath: str, monitor: str = "val_loss", save_best_only: bool = False, mode: str = "auto") -> None:
        super().__init__()
        self.filepath, self.monitor, self.save_best_only = str(filepath), monitor, save_best_only
        self._better, self.best = _better(monitor, mode), None

    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None:
        logs = logs or {}
        if self.save_best_only:
            value = logs.get(self.monitor)
            if value is None:  # saved all the same, as Keras does
                warnings.warn(f"Can save best model only with {self.monitor} available.", stacklevel=2)
            elif self.best is not None and not self._better(value, self.best, 0):
                return
            else:
                self.best = value
        self.model.save(self.filepath.format(epoch=epoch + 1, **logs))


class ReduceLROnPlateau(Callback):
    """Multiplies the learning rate by `factor` when `monitor` has not improved for `patience` epochs."""

    def __init__(self, monitor: str = "val_loss", factor: float = 0.1, patience: int = 10, min_delta: float = 1e-4,
                 cooldown: int = 0, min_lr: float = 0.0, mode: str = "auto") -> None:  # fmt: skip
        super().__init__()
        if factor >= 1.0:
            raise InvalidArgumentError(f"ReduceLROnPlateau: factor is {factor}; expected less than 1")
        self.monitor, self.factor, self.patience, self.min_delta = monitor, factor, patience, abs(min_delta)
        self.cooldown, self.min_lr, self._better = cooldown, min_lr, _better(monitor, mode)
        self.on_train_begin()

    def on_train_begin(self, logs: Optional[Logs] = None) -> None:
        self.best: Optional[float] = None
        self.wait = self.cooling = 0

    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None:
        logs = logs if logs is not None else {}
        logs["learning_rate"] = self.model.learning_rate
        value = _monitored("Learning rate reduction is", self.monitor, logs)
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
                self.model.learning_rate = max(rate * self.factor, self.min_lr)
                self.cooling, self.wait = self.cooldown, 0


class TerminateOnNaN(Callback):
    """Ends training when the loss is not finite."""

    def on_train_batch_end(self, batch: int, logs: Optional[Logs] = None) -> None:
        if logs and not math.isfinite(logs.get("loss", 0.0)):
            self.model.stop_training = True


class CSVLogger(Callback):
    """One line per epoch."""

    def __init__(self, filename: str, separator: str = ",", append: bool = False) -> None:
        super().__init__()
        self.filename, self.separator, self.append = filename, separator, append
        self._file: Optional[IO[str]] = None

    def on_train_begin(self, logs: Optional[Logs] = None) -> None:
        self._file, self._keys = open(self.filename, "a" if self.append else "w", newline=""), None

    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None:
        assert self._file is not None
        writer = csv.writer(self._file, delimiter=self.separator)
        if self._keys is None:
            self._keys = sorted(logs or {})
            if not self.append or self._file.tell() == 0:
                writer.writerow(["epoch", *map(for_cell, self._keys)])
        writer.writerow([epoch, *[(logs or {}).get(key, "NA") for key in self._keys]])
        self._file.flush()

    def on_train_end(self, logs: Optional[Logs] = None) -> None:
        if self._file:
            self._file.close()


class ProgressBar(Callback):
    """`verbose=1`: a live line per epoch; `verbose=2`: one line when an epoch has ended."""

    def __init__(self, verbose: int, stream: Optional[IO[str]] = None) -> None:
        super().__init__()
        self.verbose, self.stream = verbose, stream or sys.stdout

    def on_epoch_begin(self, epoch: int, logs: Optional[Logs] = None) -> None:
        self.stream.write(f"Epoch {epoch + 1}/{self.params['epochs']}\n")
        self.begin = self.shown = time.monotonic()

    def _line(self, step: int, logs: Logs) -> str:
        steps, seconds = self.params["steps"], time.monotonic() - self.begin
        values = " - ".join(f"{for_line(name)}: {value:.4f}" for name, value in logs.items() if isinstance(value, float))
        done = 20 * step // max(steps, 1)
        bar = f" {'━' * done}{' ' * (20 - done)} " if self.verbose == 1 else " - "
        return f"{step}/{steps}{bar}{seconds:.0f}s {1e3 * seconds / max(step, 1):.0f}ms/step - {values}"

    def on_train_batch_end(self, batch: int, logs: Optional[Logs] = None) -> None:
        if self.verbose == 1 and time.monotonic() - self.shown > 0.1:
            self.shown = time.monotonic()
            self.stream.write("\r" + self._line(batch + 1, logs or {}))
            self.stream.flush()

    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None:
        self.stream.write(("\r" if self.verbose == 1 else "") + self._line(self.params["steps"], logs or {}) + "\n")
        self.stream.flush()
