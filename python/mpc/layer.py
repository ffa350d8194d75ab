# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Layers of a compiled model, as its manifest tells of them."""

from __future__ import annotations

import math
from typing import Any, Mapping, Optional, Sequence

import numpy as np

from .variable import Variable

# MLIR's spelling of the manifest, in Keras's.
_DTYPES = {"f32": "float32", "f16": "float16", "bf16": "bfloat16", "f64": "float64", "i8": "int8", "i4": "int4", "f8E4M3FN": "float8"}


class Layer:
    """`name`, `class_name`, `dtype_policy`, `compute_dtype`, `variable_dtype`, `accumulate_dtype`, `output_shape`, `weights`."""

    def __init__(self, row: Mapping[str, Any], weights: Sequence[Variable]) -> None:
        self.path: str = row["path"]
        self.name = self.path.rsplit("/", 1)[-1]
        self.class_name: str = row["class"]
        self.dtype_policy: str = row["policy"]
        self.compute_dtype, self.variable_dtype, self.accumulate_dtype = (_DTYPES.get(row[key], row[key]) for key in ("compute", "variable", "accumulate"))
        self.rule: str = row["rule"]
        shape = row.get("output_shape")
        self.output_shape: Optional[tuple[Optional[int], ...]] = None if shape is None else tuple(shape)
        self.weights = list(weights)

    def __getattr__(self, name: str) -> Variable:
        """`kernel`, `bias` and whatever else the layer's variables are called."""
        weights: Sequence[Variable] = self.__dict__.get("weights", ())
        for variable in weights:
            if variable.name == name:
                return variable
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    @property
    def trainable(self) -> bool:
        return any(variable.trainable for variable in self.weights)

    @property
    def trainable_variables(self) -> list[Variable]:
        return [variable for variable in self.weights if variable.trainable]

    def get_weights(self) -> list[np.ndarray]:
        return [variable.numpy() for variable in self.weights]

    def count_params(self) -> int:
        return sum(math.prod(variable.shape) for variable in self.weights)

    def __repr__(self) -> str:
        return f"<Layer {self.path} ({self.class_name}), policy {self.dtype_policy}>"


def layers_of(manifest: Mapping[str, Any], weights: Sequence[Variable]) -> list[Layer]:
    """In the manifest's order. A variable belongs to the layer with the longest path that its own begins with."""
    rows = manifest.get("layers", [])
    owned: dict[str, list[Variable]] = {row["path"]: [] for row in rows}
    for variable in weights:
        owner = variable.path
        while owner and owner not in owned:
            owner = owner.rpartition("/")[0]
        if owner:
            owned[owner].append(variable)
    return [Layer(row, owned[row["path"]]) for row in rows]
