# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The table of `Model.summary`: Keras's, and what each layer computes and stores in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Callable, Optional, Sequence

from ._runtime import for_line
from .variable import Variable

if TYPE_CHECKING:
    from .model import Model

TITLES = ("Layer (type)", "Output Shape", "Param #", "Compute", "Variables")


def _size(byte_count: int) -> str:
    value, unit = float(byte_count), "B"
    for larger in ("KB", "MB", "GB"):
        if value < 1024:
            break
        value, unit = value / 1024, larger
    return f"{value:.2f} {unit}"


def _bytes(variables: Sequence[Variable]) -> int:
    return sum(math.prod(variable.shape) * variable.dtype.itemsize for variable in variables)


def _params(variables: Sequence[Variable]) -> int:
    return sum(math.prod(variable.shape) for variable in variables)


def _table(rows: Sequence[Sequence[str]], line_length: Optional[int]) -> list[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(TITLES))]
    if line_length is not None:  # the names give way
        widths[0] = max(12, widths[0] - max(0, sum(widths) + 3 * len(widths) + 1 - line_length))

    def line(left: str, fill: str, middle: str, right: str) -> str:
        return left + middle.join(fill * (width + 2) for width in widths) + right

    def cells(row: Sequence[str]) -> str:
        cut = [text if len(text) <= width else text[: width - 1] + "…" for text, width in zip(row, widths)]
        placed = [text.rjust(width) if i == 2 else text.ljust(width) for i, (text, width) in enumerate(zip(cut, widths))]
        return "│ " + " │ ".join(placed) + " │"

    return [line("┏", "━", "┳", "┓"), cells(rows[0]).replace("│", "┃"), line("┡", "━", "╇", "┩"), *map(cells, rows[1:]), line("└", "─", "┴", "┘")]


def write_summary(model: "Model", print_fn: Callable[[str], None], line_length: Optional[int]) -> None:
    rows = [TITLES]
    for layer in model.layers:
        shape = "?" if layer.output_shape is None else "(" + ", ".join(map(str, layer.output_shape)) + ("," if len(layer.output_shape) == 1 else "") + ")"
        variables = layer.variable_dtype if layer.weights else "-"
        rows.append((f"{for_line(layer.path)} ({for_line(layer.class_name)})", shape, f"{layer.count_params():,}", layer.compute_dtype, variables))
    trainable = model.trainable_variables
    fixed = [variable for variable in model.weights if not variable.trainable]
    optimizer = [variable for variable in model.variables if variable.role == "optimizer"]
    lines = [f'Model: "{for_line(model.name)}", policy {for_line(model.policy)}', *_table(rows, line_length)]
    every = [*trainable, *fixed, *optimizer]
    lines.append(f" Total params: {_params(every):,} ({_size(_bytes(every))})")
    lines.append(f" Trainable params: {_params(trainable):,} ({_size(_bytes(trainable))})")
    lines.append(f" Non-trainable params: {_params(fixed):,} ({_size(_bytes(fixed))})")
    if optimizer:
        lines.append(f" Optimizer params: {_params(optimizer):,} ({_size(_bytes(optimizer))})")
    print_fn("\n".join(lines))
