#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds what libmpctools has to export: every symbol that a user names (a program or an object) and a library
(a shared one, or an archive) defines. Writes exports.map, a version script that hides all others, and
needed.rsp, arguments that make the linker take these out of archives."""

import argparse
import os
import subprocess


def symbols(path, *options):
    dynamic = [] if path.endswith((".o", ".a")) else ["-D"]
    lines = subprocess.run(["nm", "--format=posix", *dynamic, *options, path], check=True, capture_output=True, text=True).stdout.splitlines()
    return {words[0].split("@")[0] for words in map(str.split, lines) if len(words) > 1}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--libraries", nargs="+", required=True)
    parser.add_argument("--users", nargs="+", required=True)
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    # Inline functions and variables that a user has itself count: the loader makes them one with the
    # library's, and some have to be one.
    named = set().union(*map(symbols, arguments.users))
    defined = set().union(*(symbols(path, "--defined-only") for path in arguments.libraries))
    missing = set().union(*(symbols(path, "--undefined-only") for path in arguments.users))
    needed = sorted((named & defined) - {"_init", "_fini"})
    os.makedirs(arguments.out, exist_ok=True)
    with open(os.path.join(arguments.out, "exports.map"), "w", encoding="ascii") as file:
        file.write("{\n  global:\n" + "".join(f'    "{name}";\n' for name in needed) + "  local: *;\n};\n")
    with open(os.path.join(arguments.out, "needed.rsp"), "w", encoding="ascii") as file:
        file.write("".join(f"-Wl,-u,{name}\n" for name in needed if name in missing))


if __name__ == "__main__":
    main()
