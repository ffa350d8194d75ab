# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Moving averages of weights (`use_ema=True`) in their place while a model is evaluated."""

from __future__ import annotations

from typing import Any, Iterable, Optional

import numpy as np

from ..errors import FailedPreconditionError
from .callback import Callback, Logs


class SwapEMAWeights(Callback):
    """Evaluates and predicts with the moving averages; `swap_on_epoch` has them in the model from the end of an epoch to the
    begin of the next, for callbacks that save it."""

    def __init__(self, swap_on_epoch: bool = False) -> None:
        super().__init__()
        self.swap_on_epoch = swap_on_epoch
        self._trained: Optional[list[np.ndarray]] = None  # the weights, while the averages are in their place

    def _swap(self, wanted: bool) -> None:
        if wanted == (self._trained is not None):
            return
        weights = self.model.trainable_variables
        if self._trained is not None:
            values: Iterable[Any] = self._trained
            self._trained = None
        else:
            averages = self.model.optimizer.moving_averages if self.model.optimizer is not None else None
            if averages is None:
                raise FailedPreconditionError("SwapEMAWeights: the optimizer has no moving averages; expected one with use_ema=True")
            self._trained = [weight.numpy() for weight in weights]
            values = averages
        for weight, value in zip(weights, values):
            weight.assign(value)

    def on_epoch_begin(self, epoch: int, logs: Optional[Logs] = None) -> None:
        self._swap(False)

    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None:
        if self.swap_on_epoch:
            self._swap(True)

    def on_train_end(self, logs: Optional[Logs] = None) -> None:
        self._trained = None  # training has ended with the averages as weights

    def on_test_begin(self, logs: Optional[Logs] = None) -> None:
        self._swap(True)

    def on_test_end(self, logs: Optional[Logs] = None) -> None:
        self._swap(False)

    def on_predict_begin(self, logs: Optional[Logs] = None) -> None:
        self._swap(True)

    def on_predict_end(self, logs: Optional[Logs] = None) -> None:
        self._swap(False)
