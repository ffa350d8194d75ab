#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command and succeeds only if it ends with the given code: expect-exit.py CODE COMMAND...

lit's `not` takes any failure for the expected one; here exit 1 (wrong input) and exit 3 (internal
error) are different things. With --signal NAME --after TEXT the signal is sent once the command has
printed TEXT.
"""

import signal
import subprocess
import sys
import threading


def main():
    arguments = sys.argv[1:]
    name = after = None
    while arguments[0] in ("--signal", "--after"):
        if arguments[0] == "--signal":
            name = arguments[1]
        else:
            after = arguments[1]
        arguments = arguments[2:]
    expected, command = int(arguments[0]), arguments[1:]

    if name:
        # Shells and test drivers may run us with a signal ignored, which the command would inherit.
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    watchdog = threading.Timer(240, process.kill)
    watchdog.start()
    sent = name is None
    seen = ""
    for line in process.stdout:
        sys.stdout.write(line)
        seen += line
        if not sent and (after is None or after in seen):
            process.send_signal(getattr(signal, name))
            sent = True
    code = process.wait()
    watchdog.cancel()
    if not sent:
        print(f"expect-exit: the command never printed {after!r}")
        return 1
    if code != expected:
        print(f"expect-exit: exit {code}, expected {expected}: {' '.join(command)}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
