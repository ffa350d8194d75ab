# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The optimizer of a model as callbacks see it: `self.model.optimizer.learning_rate`, `.iterations`, `.loss_scale`."""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence

import numpy as np

from . import _runtime
from .errors import FailedPreconditionError, InvalidArgumentError
from .variable import Variable


class _OneReplica:
    """What a callback of Keras asks of TensorFlow's distribution: to update each variable where it is."""

    @property
    def extended(self) -> "_OneReplica":
        return self

    @staticmethod
    def update(variable: Variable, function: Callable[..., Any], args: Sequence[Any] = ()) -> Any:
        return function(variable, *args)


class Optimizer:
    """A view: it holds the variables, and no copy of them."""

    built = True
    _distribution_strategy = _OneReplica()

    def __init__(self, context: _runtime.Context, trainable: list[Variable], variables: list[Variable]) -> None:
        self._context, self._trainable_variables, self.variables = context, trainable, variables
        # The last of the name: a LossScaleOptimizer's own come before those of the optimizer that it has.
        self._named = {variable.name: variable for variable in variables}
        self.name: str = variables[0].path.split("/", 1)[0] if variables else "optimizer"

    def _scalar(self, name: str) -> Variable:
        if name not in self._named:
            raise FailedPreconditionError(f"{self.name}: has no variable '{name}'; it has: {', '.join(self._named)}")
        return self._named[name]

    @property
    def learning_rate(self) -> Any:
        if "learning_rate" not in self._named:
            self._context.get_learning_rate()  # says that a schedule decides
        return self._scalar("learning_rate")

    @learning_rate.setter
    def learning_rate(self, rate: Any) -> None:
        try:
            value = float(rate)
        except (TypeError, ValueError):
            raise InvalidArgumentError(f"learning_rate is {rate!r}; expected a number") from None
        self._context.set_learning_rate(value)

    lr = learning_rate

    @property
    def rate(self) -> Optional[float]:
        """The learning rate, or none where a schedule decides."""
        return float(self._named["learning_rate"].numpy()) if "learning_rate" in self._named else None

    @property
    def iterations(self) -> Any:
        return self._scalar("iteration")

    @iterations.setter
    def iterations(self, count: Any) -> None:
        self._scalar("iteration").assign(np.asarray(int(count), np.int64))

    @property
    def loss_scale(self) -> float:
        """What losses are multiplied by; 1 without loss scaling."""
        return self._context.get_loss_scale()[0]

    @loss_scale.setter
    def loss_scale(self, scale: Any) -> None:
        try:
            value = float(scale)
        except (TypeError, ValueError):
            raise InvalidArgumentError(f"loss_scale is {scale!r}; expected a number") from None
        self._context.set_loss_scale(value, self._context.get_loss_scale()[2])

    @property
    def use_ema(self) -> bool:
        return self.moving_averages is not None

    @property
    def moving_averages(self) -> Optional[list[Variable]]:
        """One for each trainable variable (`use_ema=True`), or none."""
        names = [weight.path.replace("/", "_") + "_average" for weight in self._trainable_variables]
        found = [self._named.get(name) for name in names]
        if not found or any(average is None or average.dtype != weight.dtype for average, weight in zip(found, self._trainable_variables)):
            return None
        return found  # type: ignore[return-value]

    def __getattr__(self, name: str) -> Any:
        averages = self.moving_averages if name == "_model_variables_moving_average" else None
        if averages is None:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return averages

    def build(self, variables: Sequence[Any]) -> None:
        """Nothing: a compiled model has its optimizer's variables."""

    def __repr__(self) -> str:
        return f"<Optimizer {self.name}, {len(self.variables)} variables>"
