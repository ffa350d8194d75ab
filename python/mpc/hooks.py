# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The callbacks of a call: what `callbacks=` takes, told of what happens in Keras's order."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union

from .errors import InvalidArgumentError

if TYPE_CHECKING:
    from .model import Model


def level_of(verbose: Union[int, str]) -> int:
    """`verbose` as a number: "auto" is a bar on a terminal, and lines elsewhere."""
    if isinstance(verbose, str):
        if verbose != "auto":
            raise InvalidArgumentError(f"verbose is {verbose!r}; expected 'auto', 0, 1 or 2")
        return 1 if sys.stdout.isatty() else 2
    return int(verbose)


def _flattened(callbacks: Any) -> list[Any]:
    """Keras's forms: none, one, several, in lists inside each other."""
    if callbacks is None:
        return []
    if isinstance(callbacks, type):
        raise InvalidArgumentError(f"callbacks has the class {callbacks.__name__}; expected an object of it; pass {callbacks.__name__}()")
    if hasattr(callbacks, "on_epoch_end"):
        return [callbacks]
    if not isinstance(callbacks, (list, tuple)):
        raise InvalidArgumentError(f"callbacks has a {type(callbacks).__name__}; expected objects of classes that derive from mpc.Callback or keras.callbacks.Callback")
    return [hook for each in callbacks for hook in _flattened(each)]


def _acts(hook: Any, name: str) -> bool:
    """Whether the callback overrides what would do nothing (Keras marks its own such methods)."""
    method = getattr(hook, name, None)
    return method is not None and not getattr(method, "_is_default", False)


class Hooks:
    """Told by `call`; values of metrics are read for batches only where somebody looks at them."""

    def __init__(self, model: "Model", callbacks: Any, own: Sequence[Any], params: dict[str, Any]) -> None:
        ranks = model.distribution
        given = _flattened(callbacks)
        self.given = len(given)  # the same on all ranks
        # Every rank has the callbacks that decide; the first one alone prints, and writes files.
        self._all = [*given, *own] if ranks is None else [hook for hook in [*given, *own] if ranks.runs(hook)]
        for hook in self._all:
            hook.set_model(model)
            hook.set_params(params)

    def call(self, name: str, *arguments: Any, logs: Optional[dict[str, Any]] = None) -> None:
        logs = {} if logs is None else logs
        for hook in self._all:
            method = getattr(hook, name, None)  # a callback of another library may lack some
            if method is not None:
                method(*arguments, logs)

    def watch(self, kind: str) -> bool:
        """Whether somebody looks at what batches of `kind` (train, test, predict) give."""
        names = (f"on_{kind}_batch_end", "on_batch_end") if kind == "train" else (f"on_{kind}_batch_end",)
        return any(_acts(hook, name) for hook in self._all for name in names)
