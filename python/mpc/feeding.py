# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From what users give (arrays by name, in lists, alone) to what an entry of the model takes."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Callable, Mapping, Optional, Sequence

import numpy as np

from . import structure
from .arrays import Column, by_name, fit_weights, to_array
from .batch import Batch
from .class_weights import ClassWeights
from .errors import InvalidArgumentError
from .plain import Plain

if TYPE_CHECKING:
    from .model import Entry, Model


def targets_of(model: "Model", entry: "Entry") -> list[Mapping[str, Any]]:
    return [tensor for tensor in entry.inputs[len(model.input_names) :] if not tensor["name"].startswith("sample_weight")]


def _alias(model: "Model", target: Mapping[str, Any]) -> str:
    """Targets are called y<output>."""
    number = target["name"][1:]
    return model.output_names[int(number)] if number.isdigit() and int(number) < len(model.output_names) else target["name"]


def columns_of(model: "Model", entry: "Entry", x: Any, y: Any = None, sample_weight: Any = None) -> list[Column]:
    """All inputs of the entry, checked against each other."""
    count = len(model.input_names)
    values = by_name(x, entry.inputs[:count], model.input_names, "input")
    places = [f"input '{name}'" for name in model.input_names]
    targets = targets_of(model, entry)
    weights = entry.inputs[count + len(targets) :]
    aliases = [_alias(model, target) for target in targets]
    columns = [Column(value, tensor, place) for value, tensor, place in zip(values, entry.inputs, places)]
    values, places = [], []
    if targets:
        if y is None:
            raise InvalidArgumentError(f"y is missing; expected {len(targets)} targets: {', '.join(map(repr, aliases))}")
        nested = structure.unpack(y, model.output_structure, len(model.output_names))
        values = by_name(y if nested is None else nested, targets, aliases, "target")
        places = [f"target '{name}'" for name in aliases]
    elif y is not None:
        raise InvalidArgumentError("y is given, but the model has no loss that takes targets; expected none")
    columns += [Column(value, tensor, place, is_target=True) for value, tensor, place in zip(values, targets, places)]
    rows = len(columns[0])
    if sample_weight is not None and not weights:
        raise InvalidArgumentError("sample_weight is given, but the model takes none")
    given: list[Any] = [np.ones(rows, np.float32) if sample_weight is None else sample_weight] * len(weights)
    if isinstance(sample_weight, Mapping) or (isinstance(sample_weight, (list, tuple)) and sample_weight and hasattr(sample_weight[0], "shape")):
        given = by_name(sample_weight, weights, aliases, "sample_weight")
    for value, tensor, alias in zip(given, weights, aliases):
        place = "sample_weight" if len(weights) == 1 else f"sample_weight of '{alias}'"
        columns.append(Column(fit_weights(value, tensor, place), tensor, place))
    for column in columns:
        if len(column) != rows:
            raise InvalidArgumentError(f"{column.place}: has {len(column)} rows; {columns[0].place} has {rows}")
    return columns


def entry_for(model: "Model", name: str, x: Any) -> "Entry":
    """The entry of that name or, where the library has it for several shapes of the inputs, the one for those of `x`."""
    entries = model._entries_of_shapes(name)
    if len(entries) == 1:
        return entries[0]
    values = [to_array(value) for value in by_name(x, entries[0].inputs, model.input_names, "input")]

    def wanted(entry: "Entry") -> list[tuple[int, ...]]:
        return [tuple(tensor["shape"][1 : -1 if tensor["text"] else None]) for tensor in entry.inputs]

    fitting = [entry for entry in entries if [value.shape[1:] for value in values] == wanted(entry)]
    if not fitting:
        raise InvalidArgumentError(f"the rows have the shapes {', '.join(str(tuple(value.shape[1:])) for value in values)}; the library was compiled for "
                                   f"{' or '.join(', '.join(map(str, wanted(entry))) for entry in entries)}")  # fmt: skip
    rows = len(values[0]) if values and values[0].ndim else None
    return next((entry for entry in fitting if entry.fixed_batch == rows), fitting[0])


def filled_columns(model: "Model", entry: "Entry", x: Any, y: Any, sample_weight: Any, kind: str = "x") -> list[Column]:
    columns = columns_of(model, entry, x, y, sample_weight)
    if len(columns[0]) == 0:
        raise InvalidArgumentError(f"{kind} has no rows; expected at least one")
    return columns


def batch_size_of(entry: "Entry", batch_size: Optional[int], rows: int) -> int:
    try:
        size = operator.index(entry.fixed_batch or 32 if batch_size is None else batch_size)
    except TypeError:
        size = 0
    if size < 1:
        raise InvalidArgumentError(f"batch_size is {batch_size!r}; expected an integer of at least 1")
    if entry.fixed_batch and (size != entry.fixed_batch or rows % size):
        raise InvalidArgumentError(f"{rows} rows in batches of {size}; the model was compiled for batches of {entry.fixed_batch} only; "
                                   "compile it with batch='dynamic'")  # fmt: skip
    return size


def whole_batch(model: "Model", entry: "Entry", x: Any, y: Any = None, sample_weight: Any = None, *, copy: bool = False) -> Batch:
    """All rows as one batch, in the caller's memory unless it is to be copied."""
    columns = filled_columns(model, entry, x, y, sample_weight)
    rows = len(columns[0])
    batch_size_of(entry, rows, rows)
    return Batch([(column.copied() if copy else column).slice(0, rows) for column in columns], rows, entry)


def parts_of(item: Any) -> tuple[Any, Any, Any]:
    """x, y and sample weights of what a stream of batches gives: `x`, `(x,)`, `(x, y)` or `(x, y, sample_weight)`."""
    if not isinstance(item, (tuple, list)):
        return item, None, None
    if not 1 <= len(item) <= 3:
        raise InvalidArgumentError(f"is a {type(item).__name__} of {len(item)} parts; expected x, (x, y) or (x, y, sample_weight)")
    parts: Sequence[Any] = item
    return parts[0], parts[1] if len(parts) > 1 else None, parts[2] if len(parts) > 2 else None


def batch_reader(model: "Model", entry: "Entry", class_weights: Optional[ClassWeights] = None, *, has_targets: bool = True) -> Callable[[Any, bool], Batch]:
    """Makes a batch of what a stream gives, copied where it is told to. Predictions leave out targets and weights."""

    def read(item: Any, copy: bool) -> Batch:
        x, y, sample_weight = parts_of(item)
        if not has_targets:
            y = sample_weight = None
        if class_weights is not None:
            sample_weight = class_weights.weigh(y, sample_weight)
        return whole_batch(model, entry, x, y, sample_weight, copy=copy)

    has_text = any(tensor["text"] for tensor in entry.inputs)
    return read if class_weights is not None or has_text else Plain(entry, len(model.input_names), targets_of(model, entry), has_targets, read).read
