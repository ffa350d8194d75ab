# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What callbacks derive from: Keras's hooks and names."""

from __future__ import annotations

import weakref
from typing import Any, Callable, Optional

Logs = dict[str, Any]
Hook = Optional[Callable[..., None]]


def _default(hook: Callable[..., None]) -> Callable[..., None]:
    """Marks what does nothing, so that nobody reads metrics for it."""
    hook._is_default = True  # type: ignore[attr-defined]
    return hook


class Callback:
    """Override what you need. `self.model` is the model, `self.params` epochs, steps and verbosity."""

    def __init__(self) -> None:
        self.model: Any = None
        self.params: dict[str, Any] = {}

    def set_model(self, model: Any) -> None:
        self.model = model

    def set_params(self, params: dict[str, Any]) -> None:
        self.params = params

    @_default
    def on_train_begin(self, logs: Optional[Logs] = None) -> None: ...
    @_default
    def on_train_end(self, logs: Optional[Logs] = None) -> None: ...
    @_default
    def on_epoch_begin(self, epoch: int, logs: Optional[Logs] = None) -> None: ...
    @_default
    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None: ...
    @_default
    def on_batch_begin(self, batch: int, logs: Optional[Logs] = None) -> None: ...
    @_default
    def on_batch_end(self, batch: int, logs: Optional[Logs] = None) -> None: ...
    @_default
    def on_train_batch_begin(self, batch: int, logs: Optional[Logs] = None) -> None:
        self.on_batch_begin(batch, logs)  # the older name, as in Keras

    @_default
    def on_train_batch_end(self, batch: int, logs: Optional[Logs] = None) -> None:
        self.on_batch_end(batch, logs)

    @_default
    def on_test_begin(self, logs: Optional[Logs] = None) -> None: ...
    @_default
    def on_test_end(self, logs: Optional[Logs] = None) -> None: ...
    @_default
    def on_test_batch_begin(self, batch: int, logs: Optional[Logs] = None) -> None: ...
    @_default
    def on_test_batch_end(self, batch: int, logs: Optional[Logs] = None) -> None: ...
    @_default
    def on_predict_begin(self, logs: Optional[Logs] = None) -> None: ...
    @_default
    def on_predict_end(self, logs: Optional[Logs] = None) -> None: ...
    @_default
    def on_predict_batch_begin(self, batch: int, logs: Optional[Logs] = None) -> None: ...
    @_default
    def on_predict_batch_end(self, batch: int, logs: Optional[Logs] = None) -> None: ...


class History(Callback):
    """What `fit` returns: `history` by name, one value per epoch; `epoch` their numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.history: dict[str, list[Any]] = {}
        self.epoch: list[int] = []

    def set_model(self, model: Any) -> None:
        self.model = weakref.proxy(model)  # which has this object as `history`

    def on_epoch_end(self, epoch: int, logs: Optional[Logs] = None) -> None:
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)


class LambdaCallback(Callback):
    """Functions as hooks: `LambdaCallback(on_epoch_end=lambda epoch, logs: ...)`."""

    def __init__(self, on_epoch_begin: Hook = None, on_epoch_end: Hook = None, on_train_begin: Hook = None, on_train_end: Hook = None,
                 on_train_batch_begin: Hook = None, on_train_batch_end: Hook = None, **hooks: Hook) -> None:  # fmt: skip
        super().__init__()
        named = {"on_epoch_begin": on_epoch_begin, "on_epoch_end": on_epoch_end, "on_train_begin": on_train_begin, "on_train_end": on_train_end,
                 "on_train_batch_begin": on_train_batch_begin, "on_train_batch_end": on_train_batch_end, **hooks}  # fmt: skip
        for name, hook in named.items():
            if not name.startswith("on_") or not hasattr(Callback, name):
                raise TypeError(f"no hook {name!r}")
            if hook is not None:
                setattr(self, name, hook)
