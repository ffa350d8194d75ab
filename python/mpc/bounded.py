# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Outputs whose extent values say: a call fills the largest, and another output says how much of it there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from .errors import DataLossError, InvalidArgumentError
from .feeding import whole_batch

if TYPE_CHECKING:
    from .model import Entry, Model


def cut(entry: "Entry", outputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The outputs of a call, each as large as it is, without their extents."""
    parts = list(outputs)
    for output, (axis, extent_output) in entry.bounds.items():
        extent, most = int(outputs[extent_output]), outputs[output].shape[axis]
        if not 0 <= extent <= most:
            raise DataLossError(f"out{output}: the call gave the extent {extent}; expected 0 to {most}; compile the model again")
        parts[output] = np.ascontiguousarray(outputs[output][(slice(None),) * axis + (slice(extent),)])
    return [part for i, part in enumerate(parts) if i not in entry.extents]


def predict_whole(model: "Model", entry: "Entry", x: Any, batch_size: Any, steps: Any, out: Any) -> list[np.ndarray]:
    """All rows are one batch: what several gave could not be joined."""
    if out is not None:
        raise InvalidArgumentError("out is given, but values say how large the outputs are; expected no out")
    batch = whole_batch(model, entry, x)
    if steps is not None or (batch_size is not None and batch_size < batch.rows):
        raise InvalidArgumentError(f"{batch.rows} rows, of which not all are one batch; values say how large the outputs are, so that those of batches "
                                   "cannot be joined; expected no steps, and a batch_size of all rows")  # fmt: skip
    outputs = model._outputs(entry, batch.rows)
    model._run(entry, batch.inputs, outputs, batch.rows)
    return cut(entry, outputs)
