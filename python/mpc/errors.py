# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What goes wrong, as exceptions with mpc's own messages."""

from __future__ import annotations

__all__ = [
    "CompileError", "DataLossError", "Error", "FailedPreconditionError", "InternalError",
    "InvalidArgumentError", "NotFoundError", "ResourceExhaustedError", "UnavailableError",
]  # fmt: skip


class Error(RuntimeError):
    """Every error of mpc. `str()` is the message: what is wrong, what was expected, what to do."""


class CompileError(Error):
    """mpcc refused the model; `exit_code` is 1 for the input, 2 for options, 3 for a fault of mpc."""

    def __init__(self, message: str, exit_code: int = 1) -> None:
        super().__init__(message)
        self.exit_code = exit_code


class InvalidArgumentError(Error, ValueError):
    """A wrong shape, dtype, name or value."""


class NotFoundError(Error, FileNotFoundError):
    """No such file, entry or variable."""


class UnavailableError(Error):
    """A device, library or tool is missing, or a file cannot be written."""


class FailedPreconditionError(Error):
    """A file of another model or version."""


class ResourceExhaustedError(Error, MemoryError):
    """Out of memory."""


class DataLossError(Error):
    """A damaged file."""


class InternalError(Error):
    """A fault of mpc."""


_CLASSES = {
    1: InvalidArgumentError,
    2: NotFoundError,
    3: UnavailableError,
    4: FailedPreconditionError,
    5: ResourceExhaustedError,
    6: DataLossError,
}


def from_status(status: int, message: str) -> Error:
    """The exception of a status code of the C ABI."""
    return _CLASSES.get(status, InternalError)(message)
