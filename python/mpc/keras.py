# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Live Keras models: `mpc.compile(model)` comes here, and `write_back()` brings the trained weights
back into the model. Needs Keras 3; nothing else in mpc does."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Optional

from .compiler import compile as compile_file
from .model import Model, TemporaryFolder
from .state import Source, State

__all__ = ["compile", "write_back"]


def compile(model: Any, policy: Any = None, **arguments: Any) -> Model:  # pylint: disable=redefined-builtin
    """Saves the model to a temporary `.keras` file and compiles it; arguments as of `mpc.compile`.
    Loss, optimizer and metrics are those that `model.compile` was given, unless named here."""
    holder = TemporaryFolder()
    path = os.path.join(holder.name, "model.keras")
    model.save(path)
    arguments = {name: value for name, value in arguments.items() if value is not None}
    arguments.setdefault("name", "".join(c if c.isascii() and c.isalnum() else "_" for c in model.name) or "model")
    if arguments["name"][0].isdigit():
        arguments["name"] = "m" + arguments["name"]
    arguments.setdefault("output", os.path.join(holder.name, "compiled"))
    compiled = compile_file(path, policy, **arguments)
    compiled._holder = holder  # the source file, too: saving to Keras's formats needs it
    compiled._keras_model = model
    return compiled


def write_back(compiled: State, model: Optional[Any] = None) -> Any:
    """Writes the compiled model's weights (and the optimizer's variables, where the Keras model
    has one) into the Keras model that it was made of, or into `model` of the same architecture."""
    target = model if model is not None else compiled._keras_model
    if target is None:
        raise ValueError("write_back: name the Keras model; this one was not made of a live model, or is a copy")
    with tempfile.TemporaryDirectory(prefix="mpc-weights-") as scratch:
        path = os.path.join(scratch, "trained.weights.h5")
        optimizer = getattr(target, "optimizer", None)
        source = compiled._source
        if source is not None and not hasattr(optimizer, "inner_optimizer"):
            # The scale's state would stand before variables that Keras's optimizer has.
            source = Source(source.path, {**source.options, "loss-scale": "none"})
        if source is None:
            compiled.save(path)  # says what it needs
        else:
            compiled._convert(path, source)
        if optimizer is not None and not optimizer.built:
            optimizer.build(target.trainable_variables)  # else Keras leaves its variables out
        target.load_weights(path)
    return target
