# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loop of `Model.evaluate`, and of validation in `fit`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from .arrays import check_steps
from .epochs import Epochs
from .feeding import batch_reader, batch_size_of, filled_columns
from .hooks import Hooks
from .rows import Rows
from .streams import Stream, check_stream, is_stream

if TYPE_CHECKING:
    from .model import Entry, Model


def read_metrics(model: "Model") -> dict[str, Any]:
    """Running results by name; an array for a metric that is a vector."""
    logs: dict[str, Any] = {}
    computed: dict[str, np.ndarray] = {}
    entry = model._entries.get("metric_results")
    if entry:
        outputs = model._outputs(entry, 1)
        model._run(entry, [], outputs, 1)
        computed = dict(zip((tensor["name"] for tensor in entry.outputs), outputs))
    for index, metric in enumerate(model._metrics):
        name = metric["name"]
        if metric["kind"] == 2 and name in computed:
            logs[name] = float(computed[name]) if computed[name].ndim == 0 else computed[name]
        else:
            logs[name] = model._context.metric(index)
    return logs


def held_data(model: "Model", entry: "Entry", x: Any, y: Any, sample_weight: Any, batch_size: Optional[int], steps: Any, kind: str,
              steps_name: str) -> Epochs:  # fmt: skip
    """Arrays or a stream to evaluate on."""
    steps = check_steps(steps, steps_name)
    if is_stream(x):
        check_stream(x, steps, steps_name, y=y, sample_weight=sample_weight)
        return Epochs(Stream(x, batch_reader(model, entry)), steps)
    columns = filled_columns(model, entry, x, y, sample_weight, kind)
    return Epochs(Rows(columns, batch_size_of(entry, batch_size, len(columns[0]))), steps)


def evaluate(model: "Model", entry: "Entry", data: Epochs, hooks: Hooks) -> Optional[dict[str, Any]]:
    """Loss and metrics by name; none where there were no batches."""
    model.stop_evaluating = False
    data.restart()
    hooks.call("on_test_begin")
    model._context.reset_metrics()
    watched, count = hooks.watch("test"), 0
    for index, batch in enumerate(data.epoch()):
        hooks.call("on_test_batch_begin", index)
        model._run(entry, batch.inputs, model._outputs(entry, batch.rows), batch.rows)
        count += 1
        hooks.call("on_test_batch_end", index, logs=read_metrics(model) if watched else {})
        if model.stop_evaluating:
            break
    logs = dict(sorted(read_metrics(model).items())) if count else None  # Keras's order
    hooks.call("on_test_end", logs=logs)
    return logs
