# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training on several ranks whose processes a test knows, to stop and to kill them."""
import os
import pathlib
import re
import signal
import subprocess
import time

# How the names of files begin that are not whole yet, where a file system has none without a name.
UNFINISHED = ".mpc-write-"
STOPPED, ENDED = "T", "ZX"  # states of a process


def wait_for(holds, seconds=60):
    end = time.monotonic() + seconds
    while not holds() and time.monotonic() < end:
        time.sleep(0.001)
    return holds()


def state(pid):
    """One letter, as in /proc; where there is no such process, that of one that has ended."""
    try:
        status = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return "Z"
    return status.rpartition(")")[2].split()[0]


def steps_of(path):
    return int(re.search(r"checkpoint-(\d+)\.safetensors$", path.name).group(1))


class Job:
    """`command` on so many ranks, whose shells leave their numbers in the folder `pids`; with a library to preload."""

    def __init__(self, launcher, ranks, command, pids, preloaded=None):
        self.launcher, self.ranks, self.folder = launcher, ranks, pids
        pids.mkdir()
        script = pids / "rank.sh"
        script.write_text(f'#!/bin/sh\necho $$ > {pids}/new-$$\n'
                          f'mv {pids}/new-$$ {pids}/${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}\n'
                          f'exec env {f"LD_PRELOAD={preloaded}" if preloaded else ""} "$@"\n')  # fmt: skip
        script.chmod(0o755)
        self.goes_on = False
        self.process = launcher.start(ranks, [script, *command])

    def has_begun(self):
        """Whether every rank is there."""
        return len(list(self.folder.glob("[0-9]"))) == self.ranks

    def is_over(self):
        return self.process.poll() is not None

    def pid(self, rank):
        return int((self.folder / str(rank)).read_text())

    def has_ended(self, rank):
        return state(self.pid(rank)) in ENDED

    def saves(self, folder):
        """Whether the first rank is about to write a file there, which has no name yet."""
        try:
            opened = [os.readlink(link.path) for link in os.scandir(f"/proc/{self.pid(0)}/fd")]
        except OSError:
            return False
        return any(pathlib.Path(path).parent == folder and (path.endswith(" (deleted)") or UNFINISHED in path)
                   for path in opened)  # fmt: skip

    def stop_first(self):
        """Stops the first rank, without which the others end their step and wait. Whether it was still there."""
        pid = self.pid(0)
        try:
            os.kill(pid, signal.SIGSTOP)
        except ProcessLookupError:
            return False
        return wait_for(lambda: state(pid) in STOPPED + ENDED) and state(pid) == STOPPED

    def go_on(self):
        try:
            os.kill(self.pid(0), signal.SIGCONT)
        except ProcessLookupError:
            pass

    def kill(self, rank):
        os.kill(self.pid(rank), signal.SIGKILL)

    def have_ranks_ended(self):
        return all(map(self.has_ended, self.begun()))

    def begun(self):
        return [rank for rank in range(self.ranks) if (self.folder / str(rank)).exists()]

    def end(self, seconds=60):
        """What the job says until it ends, or goes on for too long; and which ranks are left a little later."""
        try:
            shown = "".join(self.process.communicate(timeout=seconds))
        except subprocess.TimeoutExpired:
            self.goes_on = True
            shown = "it goes on"
        wait_for(self.have_ranks_ended, seconds=10)
        left = [rank for rank in self.begun() if not self.has_ended(rank)]
        for rank in left:
            self.kill(rank)
        self.process.kill()
        return shown, left
