# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The loop of `Model.predict`."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from .arrays import as_dlpack, by_name, check_steps, check_target
from .batch import Batch
from .bounded import predict_whole
from .collected import Collected
from .epochs import Epochs
from .errors import InvalidArgumentError
from .feeding import batch_reader, batch_size_of, columns_of, entry_for, parts_of
from .hooks import Hooks
from .rows import Rows
from .streams import Stream, check_stream, is_stream
from .structure import pack
from .texts import restore_texts

if TYPE_CHECKING:
    from .model import Entry, Model


def _each_batch(model: "Model", entry: "Entry", data: Epochs, hooks: Hooks, place: Any) -> None:
    """`place` gives the outputs of a batch that begins at a row, as arrays to write."""
    model.stop_predicting = False
    hooks.call("on_predict_begin")
    begin = 0
    with closing(data.epoch()) as batches:  # type: ignore[type-var]
        for index, batch in enumerate(batches):
            hooks.call("on_predict_batch_begin", index)
            outputs = place(begin, batch)
            model._run(batch.entry or entry, batch.inputs, outputs, batch.rows)
            begin += batch.rows
            hooks.call("on_predict_batch_end", index, logs={"outputs": pack(outputs, model.output_structure)})
            if model.stop_predicting:
                break
    hooks.call("on_predict_end")


def predict_rows(model: "Model", x: Any, batch_size: Optional[int], steps: Optional[int], out: Any, hooks: Any) -> list[Any]:
    """Written into one array for each output."""
    entry = entry_for(model, "predict", x)
    if entry.bounds:
        return list(predict_whole(model, entry, x, batch_size, steps, out))
    columns = columns_of(model, entry, x)
    size = batch_size_of(entry, batch_size, len(columns[0]))
    rows = len(columns[0]) if steps is None else min(len(columns[0]), steps * size)
    outputs: list[Any] = model._outputs(entry, rows)
    if entry.fixed_batch:
        outputs = [np.empty((rows, *output.shape[1:]), output.dtype) for output in outputs]
    if out is not None:
        targets = by_name(out, entry.outputs, model.output_names, "out")
        outputs = [check_target(target, like, f"out '{name}'") for target, like, name in zip(targets, outputs, model.output_names)]
    source = Rows(columns, size)
    _each_batch(model, entry, Epochs(source, steps), hooks(steps or source.length), lambda begin, batch: [output[begin : begin + batch.rows] for output in outputs])
    return outputs


def predict_stream(model: "Model", x: Any, steps: Optional[int], out: Any, hooks: Any) -> list[np.ndarray]:
    if out is not None:
        raise InvalidArgumentError("out is given, but how many rows a stream of batches has is not known; expected no out")
    entry = model._entries["predict"]
    if entry.bounds:
        raise InvalidArgumentError("x is a stream of batches, and values say how large the outputs are, so that those of batches cannot be joined; "
                                   "call predict_on_batch for each")  # fmt: skip
    check_stream(x, steps, "steps")
    readers = {each.index: batch_reader(model, each, has_targets=False) for each in model._entries_of_shapes("predict")}

    def read_fitting(item: Any, copy: bool) -> Batch:
        return readers[entry_for(model, "predict", parts_of(item)[0]).index](item, copy)

    data = Epochs(Stream(x, readers[entry.index] if len(readers) == 1 else read_fitting), steps)
    outputs = Collected(entry)
    _each_batch(model, entry, data, hooks(data.steps), lambda _, batch: outputs.place(batch.entry or entry, batch.rows))
    return outputs.arrays()


def predict(model: "Model", x: Any, batch_size: Optional[int], steps: Any, dlpack: bool, out: Any, hooks: Any) -> Any:
    """`hooks`: makes the callbacks' list, given the number of batches."""
    if out is not None and dlpack:
        raise InvalidArgumentError("out and dlpack are both given; expected one of them")
    steps = check_steps(steps, "steps")
    outputs = predict_stream(model, x, steps, out, hooks) if is_stream(x) else predict_rows(model, x, batch_size, steps, out, hooks)
    if out is not None:
        return out
    restored = [as_dlpack(output) for output in outputs] if dlpack else restore_texts(model._entries["predict"], outputs)
    return pack(restored, model.output_structure)
