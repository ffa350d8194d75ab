# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The end of a script that records how models train: SCRIPT [CASE...] --out FOLDER"""

import argparse
import json
import os


def run(cases, record):
    """Writes NAME.json with what `record(case, folder)` gives, beside the graph that it writes."""
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*")
    parser.add_argument("--out", required=True)
    arguments = parser.parse_args()
    os.makedirs(arguments.out, exist_ok=True)
    for case in arguments.cases or cases:
        recorded = record(case, arguments.out)
        with open(os.path.join(arguments.out, case + ".json"), "w", encoding="utf-8") as file:
            json.dump(recorded, file, indent=1)
            file.write("\n")
        print(case, {name: [round(each["losses"][i], 4) for i in (0, -1)] for name, each in recorded["optimizers"].items()})
