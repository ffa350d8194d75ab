#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes a library to link with in place of one of glibc: the functions of the original without their
code, each by the newest version of its symbol that the glibc of --newest has. What is linked with it
loads wherever glibc is as new as that."""

import argparse
import os
import re
import subprocess
import tempfile


def functions(library, newest):
    """{name: version} of the functions whose symbols a glibc of `newest` has."""
    lines = subprocess.run(["readelf", "--dyn-syms", "--wide", library], check=True, capture_output=True, text=True).stdout
    found = {}
    for name, version in re.findall(r" I?FUNC +(?:GLOBAL|WEAK) +DEFAULT +\d+ (\w+)@@?GLIBC_([\d.]+)$", lines, re.M):
        number = tuple(map(int, version.split(".")))
        if number <= newest:
            found[name] = max(found.get(name, ()), number)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library")
    for option in ["--compiler", "--linker", "--newest", "-o"]:
        parser.add_argument(option, required=True)
    arguments = parser.parse_args()
    found = functions(arguments.library, tuple(map(int, arguments.newest.split("."))))
    if not found:
        raise SystemExit(f"{arguments.library}: no functions with versions of glibc up to {arguments.newest}; expected a library of glibc")
    versions = {}
    for name, version in found.items():
        versions.setdefault(version, []).append(name)
    os.makedirs(os.path.dirname(arguments.o), exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        source, script, code = (os.path.join(folder, name) for name in ("stub.s", "stub.map", "stub.o"))
        with open(source, "w", encoding="ascii") as file:
            file.write('.section .note.GNU-stack,"",@progbits\n.text\n')
            file.write("".join(f".globl {name}\n.type {name},@function\n{name}:\n" for name in sorted(found)))
        with open(script, "w", encoding="ascii") as file:
            for version in sorted(versions):
                names = "".join(f" {name};" for name in sorted(versions[version]))
                file.write(f"GLIBC_{'.'.join(map(str, version))} {{{names}}};\n")
            file.write("GLIBC_PRIVATE { local: *; };\n")
        subprocess.run([arguments.compiler, "-c", source, "-o", code], check=True)
        subprocess.run([arguments.linker, "-shared", "-s", "--hash-style=gnu", "--build-id=none", f"-soname={os.path.basename(arguments.library)}",
                        f"--version-script={script}", code, "-o", arguments.o], check=True)  # fmt: skip


if __name__ == "__main__":
    main()
