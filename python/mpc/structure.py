# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How the outputs of a model are put together: one array, a list, a dictionary, or lists and dictionaries
inside each other. Leaves are the numbers of the outputs."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

from .errors import DataLossError


def check(structure: Any, count: int) -> Any:
    """A manifest's structure, where it has each output once."""
    if structure is None:
        return None
    leaves = list(_leaves(structure, 0))
    if sorted(leaves) != list(range(count)):
        raise DataLossError(f"the manifest's output_structure has the outputs {leaves}; expected each of {count} once; compile the model again")
    return structure


def _leaves(structure: Any, depth: int) -> Any:
    if depth > 64:
        raise DataLossError("the manifest's output_structure is deeper than 64; compile the model again")
    if isinstance(structure, bool) or not isinstance(structure, (int, list, dict)):
        raise DataLossError(f"the manifest's output_structure has a {type(structure).__name__}; compile the model again")
    if isinstance(structure, int):
        yield structure
        return
    for part in structure.values() if isinstance(structure, dict) else structure:
        yield from _leaves(part, depth + 1)


def pack(values: Sequence[Any], structure: Any) -> Any:
    """The outputs as Keras's predict gives them."""
    if structure is None:
        return values[0] if len(values) == 1 else list(values)
    if isinstance(structure, int):
        return values[structure]
    if isinstance(structure, dict):
        return {name: pack(values, part) for name, part in structure.items()}
    return [pack(values, part) for part in structure]


def unpack(value: Any, structure: Any, count: int) -> Optional[list[Any]]:
    """The parts of a value that is put together as the outputs are, where those are nested; else none."""
    if not isinstance(structure, (dict, list)):
        return None
    parts = structure.values() if isinstance(structure, dict) else structure
    if all(isinstance(part, int) for part in parts):
        return None
    found: list[Any] = [None] * count

    def place(value: Any, structure: Any) -> bool:
        if isinstance(structure, int):
            found[structure] = value
            return True
        if isinstance(structure, dict):
            return isinstance(value, Mapping) and set(value) == set(structure) and all(place(value[name], part) for name, part in structure.items())
        return isinstance(value, (list, tuple)) and len(value) == len(structure) and all(map(place, value, structure))

    return found if place(value, structure) else None
