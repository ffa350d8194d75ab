# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`mpc.compile`: mpcc's options as arguments."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any, Mapping, Optional, Sequence, Union

import numpy as np

from . import tools
from .errors import InvalidArgumentError
from .model import Model, TemporaryFolder
from .state import PathLike, Source


def _option(value: Any, scratch: str, name: str) -> str:
    """A name or file as it is; a dict, list of dicts or object of Keras as a JSON file."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (str, int, float, os.PathLike)):
        return os.fspath(value) if isinstance(value, os.PathLike) else str(value)
    if isinstance(value, (list, tuple)) and value and all(isinstance(item, str) for item in value):
        return ",".join(value)
    if not isinstance(value, (Mapping, list, tuple)):
        import keras

        value = keras.saving.serialize_keras_object(value)
    elif isinstance(value, (list, tuple)) and not all(isinstance(item, (str, Mapping)) for item in value):
        import keras

        value = [item if isinstance(item, (str, Mapping)) else keras.saving.serialize_keras_object(item) for item in value]
    path = os.path.join(scratch, name + ".json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)
    return path


def _is_live(model: Any) -> bool:
    """A model of Keras in memory, without importing Keras."""
    return all(callable(getattr(model, name, None)) for name in ("save", "get_config", "get_weights"))


def _is_text(model: Any) -> bool:
    """MLIR rather than a path to it."""
    return isinstance(model, str) and "{" in model and "\n" in model


def compile(  # pylint: disable=redefined-builtin
    model: Any,
    policy: Any = None,
    *,
    output: Optional[PathLike] = None,
    name: Optional[str] = None,
    loss: Any = None,
    optimizer: Any = None,
    metrics: Any = None,
    learning_rate: Optional[float] = None,
    loss_scale: Optional[str] = None,
    initialize: Union[bool, int, None] = None,
    mode: Optional[str] = None,
    batch: Union[int, str, None] = None,
    options: Sequence[str] = (),
    device: str = "cpu",
    threads: int = 0,
    seed: Optional[int] = None,
) -> Model:
    """Compiles a model and loads the result: a live Keras model, a file (.keras, .h5, .onnx, architecture
    JSON, mpc IR) or the text of mpc IR.

    `policy`: a name ("mixed_bfloat16"), a JSON file, a mapping as mpcc takes it, or a policy or
    DTypePolicyMap of Keras. `loss`, `optimizer`, `metrics`: names, mappings or objects of Keras.
    `output`: the folder of the compiled model; without it the folder is temporary and lives as long
    as the model. `options`: further options of mpcc; `--target=cuda` comes from the device. The rest
    is as for `load`.
    """
    if isinstance(options, str):  # which is a sequence of texts, too
        raise InvalidArgumentError(f"options is {options!r}; expected a list of mpcc's options; pass [{options!r}]")
    if _is_live(model):
        from . import keras as live

        return live.compile(model, policy, output=output, name=name, loss=loss, optimizer=optimizer, metrics=metrics, learning_rate=learning_rate,
                            loss_scale=loss_scale, initialize=initialize, mode=mode, batch=batch, options=options, device=device,
                            threads=threads, seed=seed)  # fmt: skip
    holder = TemporaryFolder() if output is None or _is_text(model) else None
    if _is_text(model):
        path = os.path.join(tempfile.mkdtemp(dir=holder.name), (name or "model") + ".mlir")  # type: ignore[union-attr]
        with open(path, "w", encoding="utf-8") as file:
            file.write(model)
    elif isinstance(model, (str, bytes, os.PathLike)):
        path = os.fsdecode(model)
    else:
        kind = type(model)
        raise InvalidArgumentError(f"model is a {kind.__module__}.{kind.__name__}; expected a Keras model, a path of one (.keras, .h5, .json, .onnx, .mlir) or the text "
                                   "of mpc IR; export others to Keras first")  # fmt: skip
    folder = holder.name if output is None else os.fsdecode(output)  # type: ignore[union-attr]
    with tempfile.TemporaryDirectory(prefix="mpc-options-") as scratch:
        given = {"policy": policy, "loss": loss, "optimizer": optimizer, "metrics": metrics, "learning-rate": learning_rate,
                 "loss-scale": loss_scale, "mode": mode, "batch": batch, "name": name}  # fmt: skip
        arguments = [f"--{key}={_option(value, scratch, key)}" for key, value in given.items() if value is not None]
        if initialize is not None and initialize is not False:
            arguments.append("--initialize" if initialize is True else f"--initialize={initialize}")
        if device.startswith("cuda") and not any(option.startswith("--target") for option in options):
            arguments.append("--target=cuda")
        tools.run("mpcc", [path, "-q", "-o", folder, *arguments, *options])
    training = {key: given[key] for key in ("loss", "optimizer", "metrics", "learning-rate", "loss-scale") if given[key] is not None}
    library = _library_of(folder, name or _default_name(path)) if output is not None else folder
    return Model(library, device=device, threads=threads, seed=seed, source=Source(os.path.abspath(path), training), holder=holder)


def _default_name(path: str) -> str:
    """mpcc's: a C identifier, byte by byte."""
    stem = os.path.splitext(os.path.basename(os.fsencode(path)))[0]
    name = "".join(chr(c) if chr(c).isascii() and (chr(c).isalnum() or chr(c) == "_") else "_" for c in stem)
    return "m" + name if not name or name[0].isdigit() or name.startswith("mpc_rt") else name


def _library_of(folder: str, name: str) -> str:
    """Other models may lie in the folder, too."""
    path = os.path.join(folder, f"lib{name}.so")
    return path if os.path.exists(path) else folder
