# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What an input or output is: `model.inputs`, `model.outputs`."""

from __future__ import annotations

from typing import Any, Mapping, NamedTuple, Optional

import numpy as np

from .arrays import numpy_dtype


class TensorSpec(NamedTuple):
    """Its name, its shape (None: the batch, or an extent that values say) and the dtype that the model takes or gives."""

    name: str
    shape: tuple[Optional[int], ...]
    dtype: Any


def spec_of(tensor: Mapping[str, Any], name: str, bounded: Optional[int] = None) -> TensorSpec:
    """`bounded`: the axis whose extent values say."""
    shape = tuple(None if axis == bounded else extent for axis, extent in enumerate(tensor["shape"]))
    if tensor["text"]:
        return TensorSpec(name, shape[:-1], np.dtype(f"<U{shape[-1]}"))
    return TensorSpec(name, shape, numpy_dtype(tensor["dtype"]))
