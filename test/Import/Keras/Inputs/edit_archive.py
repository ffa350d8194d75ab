# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Copies a .keras archive with one change: a member left out or cut, text of config.json replaced."""

import argparse
import zipfile

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("source")
parser.add_argument("target")
parser.add_argument("--drop")
parser.add_argument("--cut", nargs=2)
parser.add_argument("--replace", nargs=2)
arguments = parser.parse_args()

with zipfile.ZipFile(arguments.source) as source, zipfile.ZipFile(arguments.target, "w") as target:
    for name in source.namelist():
        data = source.read(name)
        if name == arguments.drop:
            continue
        if arguments.cut and name == arguments.cut[0]:
            data = data[: int(arguments.cut[1])]
        if arguments.replace and name == "config.json":
            old, new = (text.encode() for text in arguments.replace)
            assert old in data, f"{arguments.source}: config.json has no {arguments.replace[0]}"
            data = data.replace(old, new)
        target.writestr(name, data)
