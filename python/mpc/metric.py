# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Metrics of a model, for programs and for callbacks of Keras that ask which way is better."""

from __future__ import annotations

import sys
from typing import Any, Callable

from ._runtime import larger_is_better


class Metric:
    """`name` and the running `result()`. `_direction` is what Keras's callbacks with mode="auto" look at."""

    def __init__(self, name: str, read: Callable[[], Any]) -> None:
        self.name, self._read = name, read
        larger = larger_is_better(name)
        if larger is not None:
            self._direction = "up" if larger else "down"

    def result(self) -> Any:
        return self._read()

    def __repr__(self) -> str:
        return f"<Metric {self.name}>"


def as_keras_expects(metrics: list[Metric]) -> list[Any]:
    """The metrics, and where Keras is in use an object of the class in which its callbacks look for them."""
    if "keras" not in sys.modules:
        return list(metrics)
    try:
        from keras.src.trainers.compile_utils import CompileMetrics
    except ImportError:  # another Keras
        return list(metrics)

    class CompiledMetrics(CompileMetrics):  # type: ignore[misc]
        """Computed by the library; nothing of Keras's class is used but its name."""

        def __init__(self) -> None:  # pylint: disable=super-init-not-called
            pass

        metrics = property(lambda self: list(metrics))
        name = property(lambda self: "compile_metrics")

        def __repr__(self) -> str:
            return f"<CompiledMetrics {', '.join(metric.name for metric in metrics)}>"

    return [*metrics, CompiledMetrics()]
