# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints how many steps the optimizer of a trace has made, and the rate of the traced one: read_steps.py TRACE."""

import sys

import numpy

with numpy.load(sys.argv[1]) as trace:
    (steps,) = (trace[name] for name in trace.files if name.startswith("opt:") and name.endswith("/iteration"))
    print(f"{int(steps)} steps, rate {float(trace['learning_rate'][0]):.6g}")
