#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Adds up what run-suite.py wrote: how many single tests ran, in how many suites, and how many were
left out for want of what.

  test/report-counts.py [--times] COUNTS          --times lists the suites by their seconds, too
  test/report-counts.py --after-ctest COUNTS      of the run of ctest that started this (CTestCustom.cmake)
"""

import argparse
import glob
import json
import os
import sys


def start_of(process):
    """When a process started, in seconds as files have them."""
    with open(f"/proc/{process}/stat") as handle:
        ticks = int(handle.read().rsplit(")", 1)[1].split()[19])
    with open("/proc/stat") as handle:
        booted = next(int(line.split()[1]) for line in handle if line.startswith("btime"))
    return booted + ticks / os.sysconf("SC_CLK_TCK")


def lists_only(process):
    """ctest calls this also after it has only listed its tests, for programs to read."""
    with open(f"/proc/{process}/cmdline", "rb") as handle:
        words = handle.read().decode(errors="replace").split("\0")
    return any(word == "-N" or word.startswith("--show-only") for word in words)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--after-ctest", action="store_true")
    parser.add_argument("--times", action="store_true")
    parser.add_argument("counts")
    arguments = parser.parse_args()
    oldest = 0
    if arguments.after_ctest:
        if os.environ.get("MPC_REPORT") == "later" or lists_only(os.getppid()):
            return 0
        # The start of the machine is known to the second.
        oldest = start_of(os.getppid()) - 1
    records = []
    for path in sorted(glob.glob(os.path.join(arguments.counts, "*.json"))):
        if os.path.getmtime(path) >= oldest:
            with open(path) as handle:
                records.append(json.load(handle))
    if arguments.times:
        print("   wall     CPU  suite")
        records = [record for record in records if "cpu_seconds" in record]
        for record in sorted(records, key=lambda record: -record["cpu_seconds"]):
            print(f"{record['seconds']:7.1f} {record['cpu_seconds']:7.1f}  {record['suite']}")
        print(f"{sum(r['seconds'] for r in records):7.0f} {sum(r['cpu_seconds'] for r in records):7.0f}  all")
    print(f"\n{sum(record['ran'] for record in records)} tests ran in {len(records)} suites")
    left_out = {}
    for record in records:
        for reason, count in record.get("left_out", {}).items():
            suites = left_out.setdefault(reason, {})
            suites[record["suite"]] = count
    for reason, suites in sorted(left_out.items()):
        print(f"{sum(suites.values())} tests were left out ({', '.join(sorted(suites))}): {reason}")
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
