# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command on a terminal, stopped for the time that a long one takes: terminal.py TERM COMMAND..."""

import os
import pty
import signal
import sys
import time

pid, terminal = pty.fork()
if pid == 0:
    os.environ["TERM"] = sys.argv[1]
    os.execvp(sys.argv[2], sys.argv[2:])
time.sleep(0.02)
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
