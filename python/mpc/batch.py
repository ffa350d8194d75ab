# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Some rows, ready to run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from .model import Entry


@dataclass
class Batch:
    """Inputs, targets and weights of some rows."""

    inputs: list[Any]
    rows: int
    entry: Optional["Entry"] = None  # where the library has one for each of several shapes, that of this batch
