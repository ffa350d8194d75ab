# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command on a terminal, stopped for the time that a long one takes: terminal.py TERM COMMAND..."""

import glob
import os
import pty
import resource
import signal
import subprocess
import sys
import time


def used_milliseconds(process):
    """Time of the processors, of all threads: how far a command is, on a busy machine, too."""
    used = 0
    for path in glob.glob(f"/proc/{process}/task/*/schedstat"):
        try:
            with open(path, encoding="ascii") as file:
                used += int(file.read().split()[0])
        except (OSError, IndexError):  # the thread has ended
            pass
    return used / 1e6


# A fifth of the work is behind the start of a process, on fast and on slow machines, and before most of the rest.
subprocess.run(sys.argv[2:], capture_output=True)
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
part = (usage.ru_utime + usage.ru_stime) * 1e3 / 5

pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = sys.argv[1]
    os.execvp(sys.argv[2], sys.argv[2:])
# Then the command has begun to count, and has more than half of its work before it.
while used_milliseconds(pid) < part and not os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT):
    time.sleep(0.001)
os.kill(pid, signal.SIGSTOP)
time.sleep(2.2)
os.kill(pid, signal.SIGCONT)
shown = b""
try:
    while piece := os.read(terminal, 4096):
        shown += piece
except OSError:  # the other end is closed
    pass
_, status = os.waitpid(pid, 0)
print(repr(shown.decode()), os.waitstatus_to_exitcode(status))
