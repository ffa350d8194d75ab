# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies and pickles of models: the files that a model consists of, as bytes."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .model import Model


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _write(folder: str, name: str, content: bytes) -> str:
    path = os.path.join(folder, os.path.basename(name))
    with open(path, "wb") as file:
        file.write(content)
    return path


def contents_of(model: "Model") -> dict[str, Any]:
    """The library, what lies beside it under its name, or the archive, the state and what it was compiled of."""
    folder, library = os.path.split(model.path)
    beside = [library]
    if library.startswith("lib") and library.endswith(".so"):
        stem = library[len("lib") : -len(".so")]
        beside += [name for name in os.listdir(folder) if name in (f"{stem}.json", f"{stem}.safetensors", f"{stem}.h")]
    with tempfile.TemporaryDirectory(prefix="mpc-copy-") as scratch:
        state = os.path.join(scratch, "state.safetensors")
        model._context.save(state)
        content = _read(state)
    source = model._source
    return {"library": library, "files": {name: _read(os.path.join(folder, name)) for name in beside}, "state": content,
            "device": model._device, "threads": model._threads, "seed": model.seed if model._repeats_order else None, "passes": model._passes,
            "source": None if source is None else (os.path.basename(source.path), _read(source.path), dict(source.options))}  # fmt: skip


def restore(contents: dict[str, Any]) -> "Model":
    """The model in a temporary folder of its own. As with any pickle, its sender is trusted: it holds code."""
    from .model import Model, TemporaryFolder
    from .state import Source

    holder = TemporaryFolder()
    for name, content in contents["files"].items():
        _write(holder.name, name, content)
    source = None
    if contents["source"] is not None:
        name, content, options = contents["source"]
        source = Source(_write(tempfile.mkdtemp(dir=holder.name), name, content), options)
    state = _write(holder.name, "state-of-copy.safetensors", contents["state"])
    model = Model(os.path.join(holder.name, contents["library"]), device=contents["device"], threads=contents["threads"], seed=contents["seed"],
                  source=source, holder=holder, load_initial=False)  # fmt: skip
    model.load(state)
    os.remove(state)
    model._passes = contents["passes"]
    return model
