# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Trainings that Keras recorded, on several ranks: each step's loss, metrics and loss scale and the last
weights and optimizer variables agree with Keras's, and with those of one process of mpc, within the
tolerances of the fixtures."""
import collections
import os
import pathlib
import re
import sys

import launch

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "Conformance"), str(TESTS)]
import comparison  # noqa: E402
import execution  # noqa: E402
import places  # noqa: E402
import selection  # noqa: E402

parser = launch.Arguments(pypi=True)
parser.add_argument("--ranks", type=int, default=4)
parser.add_argument("--every", type=int, default=1, help="only every Nth case: a fixed part of them")
parser.add_argument("--case", default=".*", help="regular expression that kind/case must match fully")
parser.add_argument("--options", nargs="+", default=[], help="of mpcc, besides --distributed")
arguments = parser.parse_args()

checks = launch.Checks()
check = checks.check
launcher = launch.of(arguments.pypi)[0]


class RankTools(execution.Tools):
    """Trains on several ranks what was compiled for them."""

    def run(self, tool, *given):
        if tool == "mpcc":
            # Parts of a batch are computed by the stages of a custom loop.
            used = [option for option in given if not (in_parts and option == "--custom-loop=off")]
            return super().run(tool, *used, "--distributed", *arguments.options)
        command = [os.path.join(self.bin_folder, tool), *given, "--threads", "1"]
        result = launcher.run(arguments.ranks, command, timeout=self.timeout, MPC_CACHE="")
        if result.returncode != 0:
            raise execution.ToolError(f"{' '.join(command)}: exit {result.returncode}\n"
                                      + (result.stdout + result.stderr).strip()[-1500:])  # fmt: skip
        return result.stdout


def traced(case, tools, what):
    """The arrays of mpc and of Keras, or None."""
    try:
        return execution.execute(case, tools, keep=False)
    except execution.ToolError as error:
        check(f"{case.identifier}: trains {what}", False, str(error))
        return None


in_parts = any(option.startswith("--deterministic-ranks") for option in arguments.options)
supported = selection.load_supported(TESTS / "Conformance" / "supported.json")
cases, _ = selection.select(places.fixtures("keras"), supported, ["train", "loss_scale"])
cases = [case for case in cases if re.fullmatch(arguments.case, case.identifier)][:: arguments.every]
together = RankTools(str(arguments.bin), str(arguments.work / "ranks"))
alone = execution.Tools(str(arguments.bin), str(arguments.work / "alone"))
kinds = collections.Counter()
worst = {"Keras": 0.0, "one process": 0.0}
for case in cases:
    on_ranks = traced(case, together, f"on {arguments.ranks} ranks")
    by_one = traced(case, alone, "in one process")
    if not on_ranks or not by_one:
        continue
    kinds[case.kind] += 1
    found, keras = on_ranks
    for whose, expected in (("Keras", keras), ("one process", by_one[0])):
        mismatches, arrays, ratio = comparison.compare(
            found, expected, case.description["tolerances"]["arrays"],
            case.description.get("unchecked") or ())  # fmt: skip
        worst[whose] = max(worst[whose], ratio)
        check(f"{case.identifier}: {arrays} arrays of {arguments.ranks} ranks are those of {whose}",
              not mismatches, "\n".join(map(str, mismatches)))  # fmt: skip

print(f"{dict(kinds)} on {arguments.ranks} ranks of {launcher.name}; the worst error is "
      + ", ".join(f"{ratio:.2f} of its tolerance beside {whose}" for whose, ratio in worst.items()))
checks.end()
