# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the commands that measure kernels shape by shape share: options, the head of a table, and where it is written."""

import argparse
import os

import google_benchmark
import machine


def arguments(about):
    """Of a command that measures kernels, which `about` describes: seconds, isa, and what these are for the program and for oneDNN."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.5, help="of each shape and way")
    parser.add_argument("--isa", choices=["x86-64-v3"])
    result = parser.parse_args()
    result.level, result.onednn_isa = ([f"isa/{result.isa}"], "AVX2") if result.isa else ([], None)
    return result


def head(title, command, arguments):
    """Builds the program; the first lines of the command's table."""
    google_benchmark.build()
    isa = f" --isa {arguments.isa}" if arguments.isa else ""
    return [
        f"# {title}", "",
        f"Made by `benchmarks/{command} --seconds {arguments.seconds}{isa}` on {machine.description()}, {len(os.sched_getaffinity(0))} threads. Medians of"
        " interleaved calls in milliseconds, packing and rounding included; GF/s of the one that the runtime uses.",
        machine.surroundings_line(machine.surroundings()),
    ]  # fmt: skip


def write(lines, command, arguments):
    """Writes the table to the folder of this kind of CPU, and prints it."""
    path = machine.results() / f"{command}{'-' + arguments.isa if arguments.isa else ''}.md"
    path.write_text("\n".join(lines) + "\n")
    print(path.read_text(), end="")
