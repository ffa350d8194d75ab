# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Jobs of several ranks: equal sums, and what is said when a rank hangs or dies."""
import re

import launch

arguments = launch.Arguments(pypi=True).parse_args()
program = launch.program(arguments, "mpc-test-ranks")

checks = launch.Checks()
check = checks.check


def sums(launcher, ranks):
    """The hashes that rank 0 prints, by count."""
    result = launcher.run(ranks, [program])
    shown = result.stdout + result.stderr
    lines = re.findall(r"(\d+) ranks, (\d+) numbers: equal ([0-9a-f]{16})", result.stdout)
    check(f"{launcher.name}: {ranks} ranks agree",
          result.returncode == 0 and [line[0] for line in lines] == [str(ranks)] * 4
          and "done over" in result.stdout, shown)
    return {count: digest for _, count, digest in lines}


launchers = launch.of(arguments.pypi)

expected = {}
for launcher in launchers:
    for ranks in (1, 2, 3, 4, 8):
        found = sums(launcher, ranks)
        check(f"{launcher.name}: {ranks} ranks sum as others do",
              expected.setdefault(ranks, found) == found, f"{found}\n{expected[ranks]}")

for launcher in launchers:
    hanging = launcher.run(4, [program, "hang", "2"], MPC_COLLECTIVES_TIMEOUT=2)
    shown = hanging.stdout + hanging.stderr
    check(f"{launcher.name}: a rank that hangs ends the job",
          hanging.returncode != 0 and hanging.seconds < 30, shown)
    check(f"{launcher.name}: only the rank that hangs is named",
          not re.search(r"rank [013] on \S+ has not answered", shown), shown)
    check(f"{launcher.name}: a rank that hangs is named",
          re.search(r"rank 2 on \S+ has not answered for \d+ seconds, says rank", shown), shown)
    leaving = launcher.run(4, [program, "leave", "2"], MPC_COLLECTIVES_TIMEOUT=2)
    check(f"{launcher.name}: ranks that end by themselves beside one that hangs end the job",
          leaving.returncode != 0 and leaving.seconds < 30, leaving.stdout + leaving.stderr)
    late = launcher.run(2, [program, "late", "1"], MPC_COLLECTIVES_TIMEOUT=2)
    check(f"{launcher.name}: nothing comes when ranks have given up",
          "0 numbers came too late" in late.stdout.splitlines(), late.stdout + late.stderr)
    check(f"{launcher.name}: the job ends with the code that a rank ends it with", late.returncode == 3,
          f"{late.returncode}\n{late.stdout}{late.stderr}")
    dying = launcher.run(4, [program, "die", "2"], MPC_COLLECTIVES_TIMEOUT=20)
    check(f"{launcher.name}: a rank that is killed ends the job",
          dying.returncode != 0 and dying.seconds < 30 and "done over" not in dying.stdout,
          dying.stdout + dying.stderr)

without = launchers[0].run(2, [program], MPC_COLLECTIVES="nccl", LD_LIBRARY_PATH="")
shown = without.stdout + without.stderr
check("without NCCL or a GPU it is said what is missing", without.returncode != 0
      and re.search(r"libnccl\.so\.2 is missing; install NCCL|libcuda\.so\.1|GPU", shown), shown)  # fmt: skip

checks.end()
