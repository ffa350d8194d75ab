#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks libmpcrt.so as a user gets it: its soname, what it needs, what it exports."""

import re
import subprocess
import sys

ALLOWED = {
    "libgomp.so.1", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6",
    "ld-linux-x86-64.so.2",
}  # fmt: skip
SANITIZERS = re.compile(r"lib(clang_rt|asan|ubsan|tsan)|librt\.so|libdl\.so|libpthread\.so|libresolv\.so")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def check_soname(library):
    return re.findall(r"\(SONAME\).*\[(.*)\]", output("readelf", "-d", library)) == ["libmpcrt.so.1"]


def check_needed(library):
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", library)))
    extra = {name for name in needed - ALLOWED if not SANITIZERS.match(name)}
    if extra:
        print(f"needs also {sorted(extra)}")
    return not extra and "libgomp.so.1" in needed


def check_exports(library):
    names = output("nm", "-D", "--defined-only", "--format=posix", library).split("\n")
    names = [line.split()[0].split("@")[0] for line in names if line]
    foreign = [name for name in names if not name.startswith("mpc_rt_")]
    if foreign:
        print(f"exports also {foreign[:10]}")
    return not foreign and "mpc_rt_context_run" in names


def check_run_path(library):
    """No search path of the build machine."""
    return not re.search(r"\((RPATH|RUNPATH)\)", output("readelf", "-d", library))


def main():
    checks = [check_soname, check_needed, check_exports, check_run_path]
    failed = 0
    for check in checks:
        good = check(sys.argv[1])
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'}  {check.__name__}")
    print(f"ran {len(checks)} tests")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
