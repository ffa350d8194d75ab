# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the results of a conformance run as a table, JUnit XML and JSON."""

import json
import xml.etree.ElementTree as tree

GOOD = ("pass", "xfail")


class Result:
    """status: pass, fail, error (a tool failed), xfail (listed as not yet), xpass (listed, but
    passes). worst: largest error in units of its tolerance."""

    def __init__(self, case, status, seconds, arrays=0, worst=0.0, messages=()):
        self.case = case
        self.status = status
        self.seconds = seconds
        self.arrays = arrays
        self.worst = worst
        self.messages = list(messages)

    @property
    def good(self):
        return self.status in GOOD


def print_table(results, verbose):
    width = max([len(result.case) for result in results] + [4])
    print(f"{'case':<{width}}  result  arrays  worst/tolerance  seconds")
    for result in results:
        print(
            f"{result.case:<{width}}  {result.status:<6}  {result.arrays:>6}  "
            f"{result.worst:>15.3g}  {result.seconds:>7.2f}"
        )
        if not result.good or verbose:
            for message in result.messages[: None if verbose else 4]:
                for line in message.splitlines()[:8]:
                    print(f"    {line}")


def write_junit(path, results):
    failed = sum(not result.good for result in results)
    suite = tree.Element(
        "testsuite", name="conformance", tests=str(len(results)), failures=str(failed)
    )
    for result in results:
        kind, name = result.case.split("/", 1)
        case = tree.SubElement(
            suite, "testcase", classname=kind, name=name, time=f"{result.seconds:.3f}"
        )
        if not result.good:
            failure = tree.SubElement(case, "failure", message=result.status)
            failure.text = "\n".join(result.messages)
    tree.ElementTree(suite).write(path, encoding="utf-8", xml_declaration=True)


def write_json(path, results):
    with open(path, "w") as handle:
        json.dump([vars(result) for result in results], handle, indent=1)
        handle.write("\n")
