#!python
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpcc, mpc-run, mpc-convert or mpc-opt of a wheel: the tool of the command's name takes the process over.
It starts without importing the package, which would import NumPy."""

import importlib.util
import os
import sys

if __name__ == "__main__":
    package = importlib.util.find_spec("mpc")
    if package is None:
        sys.exit("error: the package mpc-compiler is gone; expected it where it was installed with this command; install it again")
    tool = os.path.join(package.submodule_search_locations[0], "native", "bin", os.path.basename(sys.argv[0]))
    os.execv(tool, [tool, *sys.argv[1:]])
