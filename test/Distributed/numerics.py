# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`mpcc --distributed --numerics`: reports of one and of several ranks. They change no byte of what is trained, and
count what one process counts: of each value on one rank, of all rows on several."""
import json
import shutil
import subprocess

import launch
import models

parser = launch.Arguments(pypi=True)
parser.add_argument("--models", nargs="+", default=["mlp", "cnn", "lstm"])
parser.add_argument("--device", help="of mpc-run: cuda:0; MPC_COLLECTIVES in the environment says how ranks send")
arguments = parser.parse_args()

checks = launch.Checks()
check = checks.check
launcher = launch.of(arguments.pypi)[0]
BATCH, STEPS, EVERY = 24, 8, 3
WATCHED = list(range(0, STEPS, EVERY))
COUNTS = ("zero", "subnormal", "inf", "nan", "saturated", "exponents")


def compiled(name, *options):
    folder = arguments.work / "-".join([name, *(option.strip("-") for option in options)])
    subprocess.run(
        [arguments.bin / "mpcc", arguments.work / f"{name}.json", "-o", folder, "-q", "--numerics",
         *(["--target=cuda:source", "--march=x86-64-v2", "-O0"] if arguments.device else ["--march=native", "-O0"]),
         "--initialize=3", "--policy=mixed_float16", "--loss=sparse_categorical_crossentropy", "--optimizer=adam",
         *options], check=True)  # fmt: skip
    return folder


def trained(name, folder, ranks, *options):
    """The saved bytes, and what the run said."""
    save = arguments.work / "saved.safetensors"
    save.unlink(missing_ok=True)
    result = launcher.train(ranks, [
        arguments.bin / "mpc-run", "train", folder, "--data", arguments.work / f"{name}.npz", "--batch-size", BATCH,
        "--steps", STEPS, "--shuffle", "off", "--threads", 1, "--save", save,
        *(["--device", arguments.device] if arguments.device else []), *options])  # fmt: skip
    return save.read_bytes() if save.exists() else None, launch.told(result, save)


def reports_of(folder):
    """By step."""
    return {int(path.stem.split("-")[1]): json.loads(path.read_text()) for path in sorted(folder.glob("step-*.json"))}


def watched(name, folder, ranks):
    """The reports of each rank of a run, whose bytes are those of a run without any."""
    plain, shown = trained(name, folder, ranks)
    reports = arguments.work / "reports"
    shutil.rmtree(reports, ignore_errors=True)
    saved, told = trained(name, folder, ranks, "--numerics", reports, "--numerics-every", EVERY)
    check(f"{folder.name}: on {ranks} ranks reports change no byte", plain and saved == plain, shown + told)
    found = [reports_of(reports / f"rank-{rank}" if rank else reports) for rank in range(ranks)]
    check(f"{folder.name}: each of {ranks} ranks reports its rows",
          [{step: report["rows"] for step, report in each.items()} for each in found]
          == [{step: BATCH // ranks for step in WATCHED}] * ranks, told)  # fmt: skip
    return found, saved


def key(value):
    return value["layer"], value["op"], value["direction"], value["dtype"]


def counts(value):
    return {each: value[each] for each in COUNTS}


def added(values):
    """The counts of values of several ranks together."""
    exponents = {}
    for value in values:
        for exponent, count in value["exponents"].items():
            exponents[exponent] = exponents.get(exponent, 0) + count
    return {**{each: sum(value[each] for value in values) for each in COUNTS if each != "exponents"}, "exponents": exponents}


def by_key(values):
    """Without what lies between named values: a process alone has other kernels."""
    keys = [key(value) for value in values]
    return {each: (value["count"], counts(value)) for each, value in zip(keys, values)
            if value["op"] != "kernel" and keys.count(each) == 1}  # fmt: skip


def is_named(each):
    """Whether the value is an input, an output, or a variable that the step leaves."""
    return each[1].split(":")[0] in ("input", "output", "updated", "update", "cast", "slot")


def check_process(name, step, found, expected):
    """One rank beside one process."""
    found, expected = by_key(found), by_key(expected)
    named = [set(filter(is_named, each)) for each in (found, expected)]
    common = found.keys() & expected.keys()
    check(f"{name}: step {step}: one rank counts what one process counts",
          named[0] == named[1] and len(named[0]) > 10 and [found[each] for each in common] == [expected[each] for each in common],
          str({each: (found[each], expected[each]) for each in common if found[each] != expected[each]}))  # fmt: skip


def check_ranks(name, step, found, whole):
    """The values of ranks beside those of one: each has rows of its own, or the same for all rows."""
    if not check(f"{name}: step {step}: ranks report the same values",
                 all([key(value) for value in each] == [key(value) for value in whole] for each in found)):
        return
    wrong = {"is of its rows, or of all": [], "is the same on all ranks": [], "counts what one rank counts": []}
    for value, *parts in zip(whole, *found):
        of_rows = sum(part["count"] for part in parts) == value["count"]
        own = [counts(part) for part in parts]
        together = added(parts) if of_rows else own[0]
        seen = {"is of its rows, or of all": of_rows or all(part["count"] == value["count"] for part in parts),
                "is the same on all ranks": of_rows or all(each == own[0] for each in own),
                # Later weights have sums of another order behind them.
                "counts what one rank counts": step > 0 or together == counts(value)}  # fmt: skip
        for what, holds in seen.items():
            if not holds:
                wrong[what].append((key(value), own, counts(value)))
    for what, values in wrong.items():
        check(f"{name}: step {step}: what each of two ranks reports {what}", not values, "\n".join(map(str, values)))


for name in arguments.models:
    models.write(arguments.work, BATCH * STEPS, [name])
    (alone,), alone_saved = watched(name, compiled(name), 1)
    shared = compiled(name, "--distributed")
    (one,), one_saved = watched(name, shared, 1)
    check(f"{name}: one rank leaves the bytes of one process", one_saved == alone_saved)
    several, _ = watched(name, shared, 2)
    for step in WATCHED:
        check_process(name, step, one[step]["values"], alone[step]["values"])
        check_ranks(name, step, [reports[step]["values"] for reports in several], one[step]["values"])

checks.end()
