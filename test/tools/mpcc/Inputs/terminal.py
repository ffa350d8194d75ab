# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command on a terminal, stopped now and then for the time that a long one takes: terminal.py TERM COMMAND..."""

import os
import pty
import signal
import sys
import time

pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = sys.argv[1]
    os.execvp(sys.argv[2], sys.argv[2:])
# Many short stops, of which some come after the command has begun to count, on a fast machine and on a slow one.
for _ in range(8):
    time.sleep(0.015)
    os.kill(pid, signal.SIGSTOP)
    time.sleep(0.35)
    os.kill(pid, signal.SIGCONT)
shown = b""
try:
    while piece := os.read(terminal, 4096):
        shown += piece
except OSError:  # the other end is closed
    pass
_, status = os.waitpid(pid, 0)
print(repr(shown.decode()), os.waitstatus_to_exitcode(status))
