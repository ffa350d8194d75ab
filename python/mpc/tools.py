# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpcc and mpc-convert as child processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import warnings
from typing import Any, Sequence

from .errors import CompileError, UnavailableError


_BUNDLED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "native")


def find(name: str) -> str:
    """The tool in the folder $MPC_BIN, else the one that the wheel brought, else in PATH."""
    folder = os.environ.get("MPC_BIN")
    path = shutil.which(name, path=folder) if folder else shutil.which(name, path=os.path.join(_BUNDLED, "bin")) or shutil.which(name)
    if not path:
        where = f"the folder MPC_BIN ({folder})" if folder else "PATH"
        raise UnavailableError(f"{name} is not in {where}; install the package mpc-tools, or build mpc and set MPC_BIN to its folder build/release/bin")
    return path


def run(name: str, arguments: Sequence[Any]) -> str:
    """Its standard output; CompileError with its message where it fails, and what it warns of as Python's warnings."""
    command = [find(name), "--color=never", *[os.fspath(a) if hasattr(a, "__fspath__") else str(a) for a in arguments]]
    if name != "mpcc":
        del command[1]
    result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False)
    if result.returncode:
        raise CompileError(result.stderr.strip() or f"{name} ended with {result.returncode}", result.returncode)
    for line in result.stderr.splitlines():
        if line.startswith("warning: "):
            warnings.warn(line[len("warning: ") :], stacklevel=4)
    return result.stdout


def cmake_prefix() -> str:
    """The folder for CMAKE_PREFIX_PATH: find_package(mpc) finds the wheel's runtime, headers and mpcc there."""
    if not os.path.isdir(os.path.join(_BUNDLED, "include")):
        raise UnavailableError("this installation of mpc has no headers; expected the wheel that scripts/wheel makes; install that, or the package libmpcrt-dev")
    return _BUNDLED
