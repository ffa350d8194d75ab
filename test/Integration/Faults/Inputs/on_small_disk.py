# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs a command whose last argument is a file on a tmpfs of the given size that already exists:
on_small_disk.py FOLDER SIZE COMMAND... FILE. Says how it ended and what is left."""

import os
import subprocess
import sys

folder, size, *command = sys.argv[1:]
saved = command[-1]
subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=True)
try:
    with open(saved, "w") as handle:
        handle.write("the old file")
    result = subprocess.run(command, capture_output=True, text=True)
    print(result.stdout + result.stderr)
    print(f"exit {result.returncode}")
    with open(saved, errors="replace") as handle:
        print("kept the old file" if handle.read() == "the old file" else "the old file is gone")
    left = os.listdir(folder)
    print("no other file" if left == [os.path.basename(saved)] else f"left behind: {left}")
finally:
    subprocess.run(["umount", folder], check=True)
