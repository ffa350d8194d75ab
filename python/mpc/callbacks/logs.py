# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Logs of epochs as files."""

from __future__ import annotations

import csv
import os
import warnings
from typing import IO, Any, Optional, Union

from .._runtime import TensorBoardLog, for_cell
from ..errors import InvalidArgumentError
from .callback import Callback, Logs


class CSVLogger(Callback):
    """One line per epoch."""

    def __init__(self, filename: str, separator: str = ",", append: bool = False) -> None:
        super().__init__()
        self.filename, self.separator, self.append = filename, separator, append
        self._file: Optional[IO[str]] = None
        self._keys: Optional[list[str]] = None

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


class TensorBoard(Callback):
    """Event files in `log_dir`/train and `log_dir`/validation with the scalars of Keras's callback: epoch_loss, epoch_<metric>,
    and epoch_learning_rate. What else that one can write (histograms, images, profiles, scalars of batches) it alone does."""

    def __init__(self, log_dir: Any = "logs", histogram_freq: int = 0, write_graph: bool = True, write_images: bool = False,
                 write_steps_per_second: bool = False, update_freq: Union[str, int] = "epoch", profile_batch: Any = 0, embeddings_freq: int = 0,
                 embeddings_metadata: Any = None) -> None:  # fmt: skip
        super().__init__()
        asked = {"histogram_freq": histogram_freq, "write_images": write_images, "write_steps_per_second": write_steps_per_second,
                 "update_freq": None if update_freq == "epoch" else update_freq, "profile_batch": profile_batch, "embeddings_freq": embeddings_freq,
                 "embeddings_metadata": embeddings_metadata}  # fmt: skip
        for name, value in asked.items():
            if value:
                raise InvalidArgumentError(f"TensorBoard: {name} is {value!r}; this one writes the scalars of epochs alone; expected no {name}, "
                                           "or keras.callbacks.TensorBoard, which works here, too")  # fmt: skip
        self.log_dir = os.fspath(log_dir)
        self._log: Optional[TensorBoardLog] = None

    def on_train_begin(self, logs: Optional[Logs] = None) -> None:
        self._log = TensorBoardLog(self.log_dir, lambda text: warnings.warn(text, stacklevel=2))

    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None:
        assert self._log is not None
        scalars = [(name, float(value)) for name, value in (logs or {}).items() if isinstance(value, (int, float))]
        rate = self.model.optimizer.rate if self.model.optimizer is not None else None
        if rate is not None and "learning_rate" not in (logs or {}):
            scalars.append(("learning_rate", rate))
        self._log.write(epoch, scalars)

    def on_train_end(self, logs: Optional[Logs] = None) -> None:
        self._log = None  # closes the files
