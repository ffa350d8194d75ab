#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks mpc against what real Keras computed.

Every fixture case whose layers, losses, optimizers and metrics are in supported.json goes through
mpcc and mpc-run and is compared within its stated tolerances. It fails when a case fails, when a
case listed as not yet working works, and when fewer cases ran than supported.json expects.

  test/Conformance/run.py                                  everything
  test/Conformance/run.py --kind forward --kind gradient
  test/Conformance/run.py --case 'train/opt_.*' --keep     one case's files stay for a look
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]

import comparison
import execution
import loss_and_metric
import places
import report
import selection


def run_case(case, tools, not_yet, keep):
    start = time.monotonic()
    arrays, worst = 0, float("inf")
    try:
        got, expected = execution.execute(case, tools, keep)
        mismatches, arrays, worst = comparison.compare(
            got,
            expected,
            case.description["tolerances"]["arrays"],
            case.description.get("unchecked") or (),
        )
        messages = [str(mismatch) for mismatch in mismatches]
        status = "fail" if mismatches else "pass"
    except (execution.ToolError, loss_and_metric.NotWired) as error:
        status, messages = "error", [str(error)]
    except Exception as error:  # A broken result file must not end the whole run.
        status, messages = "error", [f"{type(error).__name__}: {error}"]
    if case.identifier in not_yet:
        status = "xpass" if status == "pass" else "xfail"
        messages.append(f"listed as not yet working: {not_yet[case.identifier]}")
    seconds = time.monotonic() - start
    return report.Result(case.identifier, status, seconds, arrays, worst, messages)


def check_counts(cases, supported, kinds):
    """Error lines for kinds of which there are fewer cases than expected."""
    errors = []
    for kind in kinds:
        found = sum(case.kind == kind for case in cases)
        expected = supported["expected_cases"].get(kind, 0)
        if found < expected:
            errors.append(f"error: {kind}: {found} cases are supported, supported.json expects {expected}")
    return errors


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bin", default=os.path.join(HERE, "../../build/release/bin"))
    parser.add_argument("--fixtures", default=places.fixtures("keras"), help="folder with a folder for each kind")
    parser.add_argument("--supported", default=os.path.join(HERE, "supported.json"))
    parser.add_argument("--kind", action="append", choices=selection.KINDS)
    parser.add_argument("--case", help="regular expression that kind/case must match fully")
    parser.add_argument("--every", type=int, default=1, metavar="N",
                        help="only every Nth case: a fixed part of them")  # fmt: skip
    parser.add_argument("--shard", default="0/1", metavar="I/N", help="one of N parts, to run side by side")
    parser.add_argument("--target", default="", help="mpcc --target")
    parser.add_argument("--device", default="", help="mpc-run --device; for the software device "
                        "run this program under scripts/with-fake-cuda")  # fmt: skip
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--threads", type=int, help="of each case; default: the cores that the jobs leave it")
    parser.add_argument("--keep", action="store_true", help="keep the files of each case")
    parser.add_argument("--work", help="folder for compiled models and results")
    parser.add_argument("--prebuilt", action="store_true",
                        help="take the models that an earlier run compiled in --work")  # fmt: skip
    parser.add_argument("--list", action="store_true", help="only list the cases")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--junit", metavar="FILE")
    parser.add_argument("--json", metavar="FILE")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if not os.path.isdir(arguments.fixtures):
        print(f"error: {arguments.fixtures}: no such folder; expected the Keras fixtures; scripts/build unpacks them")
        return 1
    supported = selection.load_supported(arguments.supported)
    kinds = arguments.kind or selection.KINDS
    cases, waiting = selection.select(arguments.fixtures, supported, kinds)
    if arguments.case:
        cases = [case for case in cases if re.fullmatch(arguments.case, case.identifier)]
    is_part = arguments.case or arguments.every > 1
    errors = [] if is_part else check_counts(cases, supported, kinds)
    part, parts = map(int, arguments.shard.split("/"))
    cases = cases[:: arguments.every][part::parts]
    if arguments.list:
        for case in cases:
            print(case.identifier)
        return 0

    work = arguments.work or tempfile.mkdtemp(prefix="mpc-conformance-")
    tools = execution.Tools(os.path.realpath(arguments.bin), os.path.realpath(work),
                            arguments.threads or max(1, (os.cpu_count() or 1) // arguments.jobs),
                            target=arguments.target, device=arguments.device,
                            prebuilt=arguments.prebuilt)  # fmt: skip
    not_yet = supported["not_yet"]
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        results = list(pool.map(lambda c: run_case(c, tools, not_yet, arguments.keep), cases))
    if arguments.keep:
        print(f"files are in {work}")
    elif not arguments.work:
        shutil.rmtree(work, ignore_errors=True)

    report.print_table(results, arguments.verbose)
    if arguments.junit:
        report.write_junit(arguments.junit, results)
    if arguments.json:
        report.write_json(arguments.json, results)

    if waiting and not is_part:
        total = sum(waiting.values())
        print(f"\n{total} cases wait for something that supported.json does not name:")
        for name, count in sorted(waiting.items(), key=lambda item: (-item[1], item[0])):
            print(f"  {count:>3}  {name}")
    by_status = {}
    for result in results:
        by_status[result.status] = by_status.get(result.status, 0) + 1
    print("\n" + ", ".join(f"{count} {status}" for status, count in sorted(by_status.items())))
    for line in errors:
        print(line)
    print(f"ran {len(results)} tests")
    return 0 if results and not errors and all(result.good for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
