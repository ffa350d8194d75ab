# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Callbacks that save the model."""

from __future__ import annotations

import json
import os
import shutil
import warnings
from typing import Any, Optional, Union

from ..errors import DataLossError, Error, InvalidArgumentError
from .callback import Callback, Logs
from .monitor import better


class EveryBatches:
    """True once in `save_freq` batches, whatever epochs they are of; never for "epoch"."""

    def __init__(self, owner: str, save_freq: Union[str, int]) -> None:
        is_number = isinstance(save_freq, int) and not isinstance(save_freq, bool)
        if save_freq != "epoch" and not (is_number and save_freq >= 1):  # type: ignore[operator]
            raise InvalidArgumentError(f"{owner}: save_freq is {save_freq!r}; expected 'epoch' or a number of batches")
        self._frequency, self._seen = save_freq if is_number else None, 0

    def __call__(self) -> bool:
        if self._frequency is None:
            return False
        self._seen += 1
        if self._seen < self._frequency:  # type: ignore[operator]
            return False
        self._seen = 0
        return True


class ModelCheckpoint(Callback):
    """Saves after each epoch, or every `save_freq` batches; `filepath` may name logs: "at-{epoch:02d}-{val_loss:.3f}.safetensors".
    `save_weights_only`: without the optimizer's variables where the file's format has such (`.weights.h5` has them)."""

    def __init__(self, filepath: Any, monitor: str = "val_loss", verbose: int = 0, save_best_only: bool = False, save_weights_only: bool = False,
                 mode: str = "auto", save_freq: Union[str, int] = "epoch", initial_value_threshold: Optional[float] = None) -> None:  # fmt: skip
        super().__init__()
        self.filepath, self.monitor, self.verbose = os.fspath(filepath), monitor, verbose
        self.save_best_only, self.save_weights_only, self.save_freq = save_best_only, save_weights_only, save_freq
        self._better, self.best, self._is_due = better(monitor, mode), initial_value_threshold, EveryBatches("ModelCheckpoint", save_freq)
        self._epoch = 0

    def on_epoch_begin(self, epoch: int, logs: Optional[Logs] = None) -> None:
        self._epoch = epoch

    def on_train_batch_end(self, batch: int, logs: Optional[Logs] = None) -> None:
        if self._is_due():
            self._save({**(logs or {}), "batch": batch + 1})

    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None:
        if self.save_freq == "epoch":
            self._epoch = epoch
            self._save(logs or {})

    def _save(self, logs: Logs) -> None:
        if self.save_best_only:
            value = logs.get(self.monitor)
            if value is None:  # saved all the same, as Keras does
                warnings.warn(f"Can save best model only with {self.monitor} available.", stacklevel=3)
            elif self.best is not None and not self._better(value, self.best, 0):
                return
            else:
                self.best = value
        try:
            path = self.filepath.format(**{"epoch": self._epoch + 1, **logs})
        except KeyError as problem:
            raise InvalidArgumentError(f"ModelCheckpoint: {self.filepath!r} names {problem}, which is not among {', '.join(['epoch', *logs])}") from None
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        if self.verbose > 0:
            print(f"\nEpoch {self._epoch + 1}: saving model to {path}")
        self.model.save_weights(path) if self.save_weights_only else self.model.save(path)


class BackupAndRestore(Callback):
    """Goes on where an interrupted `fit` stopped: variables, optimizer, loss scale, random states and the number of the epoch
    lie in `backup_dir` until training has ended. `double_checkpoint` keeps the state before that one, too, and goes on from it
    where the last one cannot be read."""

    def __init__(self, backup_dir: Any, save_freq: Union[str, int] = "epoch", double_checkpoint: bool = False, delete_checkpoint: bool = True) -> None:
        super().__init__()
        if not backup_dir:
            raise InvalidArgumentError("BackupAndRestore: backup_dir is empty; expected a folder of its own")
        self.backup_dir, self.save_freq, self.delete_checkpoint = os.fspath(backup_dir), save_freq, delete_checkpoint
        self.double_checkpoint = double_checkpoint
        self._is_due, self._epoch = EveryBatches("BackupAndRestore", save_freq), 0
        self._kept: list[dict[str, Any]] = []  # the last states, the newest first

    def _path(self, name: str) -> str:
        return os.path.join(self.backup_dir, name)

    def on_train_begin(self, logs: Optional[Logs] = None) -> None:
        self._kept = self._read()
        while self._kept:
            try:
                self.model.load(self._path(self._kept[0]["state"]))
            except Error as problem:
                if len(self._kept) == 1:
                    raise
                warnings.warn(f"BackupAndRestore: {problem}; training goes on from the state before that one", stacklevel=2)
                self._kept = self._kept[1:]
            else:
                self._epoch = self.model._initial_epoch = self._kept[0]["epoch"]
                return

    def _read(self) -> list[dict[str, Any]]:
        """The states, the newest first: the file with the epoch's number names that with the variables, so that both are of one moment."""
        path = self._path("training_metadata.json")
        try:
            with open(path, encoding="utf-8") as file:
                return [{"epoch": int(state["epoch"]), "state": os.path.basename(state["state"])} for state in json.load(file)["states"]]
        except FileNotFoundError:
            return []
        except (ValueError, TypeError, KeyError) as problem:
            raise DataLossError(f"{path}: does not name epochs and their states ({problem!r}); expected what BackupAndRestore wrote; remove the folder "
                                "to train from the beginning") from problem  # fmt: skip

    def on_train_batch_end(self, batch: int, logs: Optional[Logs] = None) -> None:
        if self._is_due():
            self._save()

    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None:
        self._epoch = epoch + 1
        if self.save_freq == "epoch":
            self._save()

    def _is_writer(self) -> bool:
        """Every rank reads the folder, and one writes it."""
        ranks = self.model.distribution
        return ranks is None or ranks.is_first

    def _save(self) -> None:
        if not self._is_writer():
            return
        os.makedirs(self.backup_dir, exist_ok=True)
        held = self._kept[: 2 if self.double_checkpoint else 1]
        names = [f"state-{number}.safetensors" for number in range(3)]
        name = next(name for name in names if all(name != state["state"] for state in held))
        self.model.save(self._path(name))
        self._kept = [{"epoch": self._epoch, "state": name}, *held[: 1 if self.double_checkpoint else 0]]
        written = self._path("training_metadata.json.new")
        with open(written, "w", encoding="utf-8") as file:
            json.dump({"states": self._kept}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(written, self._path("training_metadata.json"))
        for old in set(names) & set(os.listdir(self.backup_dir)) - {state["state"] for state in self._kept}:
            os.remove(self._path(old))

    def on_train_end(self, logs: Optional[Logs] = None) -> None:
        if self.delete_checkpoint and self._is_writer() and os.path.isdir(self.backup_dir):
            shutil.rmtree(self.backup_dir)
