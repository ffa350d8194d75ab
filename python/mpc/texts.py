# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Texts of the caller as code points, which models take, and the other way round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Sequence

import numpy as np

from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from .model import Entry


def code_points(value: Any, width: int, place: str) -> np.ndarray:
    """Arrays of str, or of objects that are, or lists of them: int32 in a dimension more, with zeros behind each text."""
    array = np.asarray(value)
    if array.dtype.kind not in "UO" or not all(isinstance(text, str) for text in (array.flat if array.dtype.kind == "O" else ())):
        raise InvalidArgumentError(f"{place}: is an array of {array.dtype}; expected texts (str)")
    # NumPy drops U+0000 at the end of texts.
    if array.dtype.kind == "O" and any("\0" in text for text in array.flat):
        raise InvalidArgumentError(f"{place}: has a text with U+0000 inside, where it would end; expected texts without")
    texts = array.astype(np.str_)
    lengths = np.char.str_len(texts)
    if texts.size and int(lengths.max()) > width:
        first = tuple(int(i) for i in np.argwhere(np.atleast_1d(lengths) > width)[0])
        length = int(np.atleast_1d(lengths)[first])
        raise InvalidArgumentError(f"{place}: the text {list(first)} has {length} characters; expected at most {width}; "
                                   f"shorten it, or compile the model with --text-width={length}")  # fmt: skip
    points = np.ascontiguousarray(texts, dtype=f"<U{width}").view("<i4").reshape(*texts.shape, width)
    if np.any((points[..., 1:] != 0) & (points[..., :-1] == 0)):
        raise InvalidArgumentError(f"{place}: has a text with U+0000 inside, where it would end; expected texts without")
    return points


def texts_of(points: np.ndarray) -> np.ndarray:
    """The array of str that these code points are."""
    width = points.shape[-1]
    return np.ascontiguousarray(points, dtype="<i4").view(f"<U{width}").reshape(points.shape[:-1])


def restore_texts(entry: "Entry", outputs: Sequence[Any]) -> list[Any]:
    """The outputs of a call, those that are texts as arrays of str."""
    tensors = [tensor for i, tensor in enumerate(entry.outputs) if i not in entry.extents]
    return [texts_of(output) if tensor["text"] else output for tensor, output in zip(tensors, outputs)]
