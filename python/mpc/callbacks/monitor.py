# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Values of logs that callbacks compare: which of two is better."""

from __future__ import annotations

import warnings
from typing import Callable, Optional

from .._runtime import larger_is_better
from .callback import Logs


def better(monitor: str, mode: str) -> Callable[[float, float, float], bool]:
    """Whether a new value is better than an old one by some delta."""
    if mode not in ("auto", "min", "max"):
        raise ValueError(f"mode {mode!r}; expected auto, min or max")
    larger = larger_is_better(monitor) if mode == "auto" else mode == "max"
    if larger is None:
        raise ValueError(f"the name {monitor!r} does not say whether more of it is better; pass mode='max' or mode='min'")
    return lambda new, old, delta: new - delta > old if larger else new + delta < old


def monitored(what: str, monitor: str, logs: Optional[Logs]) -> Optional[float]:
    """The value, or none with Keras's warning: epochs without validation have no val_loss."""
    value = (logs or {}).get(monitor)
    if value is None:
        warnings.warn(f"{what} conditioned on metric `{monitor}` which is not available. Available metrics are: {','.join(logs or {})}", stacklevel=3)
    return value
