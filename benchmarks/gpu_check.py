#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts/gpu-check packs, run on a machine with a GPU: conformance on cuda:0, then times of training
steps (the mixed precision guide's model at batch 8192, a CNN, an LSTM, transformer blocks), beside PyTorch where it can
be imported and beside the guide's products alone, by cuBLASLt.

  mpc-gpu-check/run [--conformance-only | --benchmarks-only | --not-run] [--quick] [--results FOLDER]
                    [--workload PATTERN] [--contender PATTERN] [--add]

--quick takes batches of 8 and 3 steps: it shows that everything runs, not how fast. Writes gpu.json and gpu.md
into the folder (default: here). The patterns, which match names whole, choose what is timed; --add keeps what
an earlier run on the same GPU wrote into the folder. --not-run needs no GPU: it writes gpu.md with the goals,
and that nothing was run. NVIDIA's libraries that pip installed, as for PyTorch, are found."""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "gpu"))
PRECISIONS = {"float32": "float32", "tf32": "TF32", "mixed_float16": "mixed_float16", "mixed_bfloat16": "mixed_bfloat16"}
WORKLOADS = {"guide": ("the guide's model", 8192), "cnn": ("CNN, 32x32x3", 1024), "lstm": ("LSTM, 128 steps", 512),
             "transformer": ("transformer block, 128x256", 256),
             "gelu_transformer": ("transformer block with gelu, 128x256", 256)}  # fmt: skip
CONTENDERS = ["mpc", "torch eager", "torch.compile"]
# These precisions are mpc's only, and of one workload alone.
OWN_PRECISIONS = {"guide": {"float8_from_mixed_bfloat16": "float8_from_mixed_bfloat16", "tf32x3": "three of TF32"}}
# mpc without something that a library does, and the setting that leaves it to kernels of mpc's.
WITHOUT = {"cnn": {"mpc without cuDNN": {"MPC_CUDNN": "off"}}, "transformer": {"mpc without cuDNN": {"MPC_CUDNN": "off"}},
           "gelu_transformer": {"mpc without cuBLASLt's gelu": {"MPC_CUBLASLT_GELU": "off"}}}  # fmt: skip
# mpc compiled with --bias-gradients=products.
SUMS = "mpc, biases by cuBLASLt"
WITH_SUMS = ["guide", "transformer"]
# mpc with the algorithms of cuBLASLt that it measured.
TUNED = "mpc --tune"
OTHERS = {workload: [TUNED, *(["cuBLASLt products"] if workload == "guide" else []), *WITHOUT.get(workload, {}), *([SUMS] if workload in WITH_SUMS else [])]
          for workload in WORKLOADS}  # fmt: skip
GOALS = {"guide": "Goals on an H200: mixed_bfloat16 in 1.45 ms at most, 12 times as fast as float32 and 1.8 times as TF32, ahead of torch.compile in each precision."}
NOT_RUN = {"device": "a GPU: not run", "hint": "", "cases": 0, "failures": [], "steps": {}}


def environment():
    paths = [str(HERE / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    return dict(os.environ, LD_LIBRARY_PATH=":".join(path for path in paths if path))


def find_libraries():
    """Starts this program again with the folders of NVIDIA's wheels on the library path, which is read at the start of a process."""
    folders = [str(folder) for path in sys.path for folder in sorted(pathlib.Path(path).glob("nvidia/*/lib"))]
    paths = [path for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path]
    missing = [folder for folder in folders if folder not in paths]
    if missing:
        os.environ["LD_LIBRARY_PATH"] = ":".join(paths + missing)
        os.execv(sys.executable, [sys.executable, *sys.argv])


def mpc_run(*arguments, **settings):
    return subprocess.run([HERE / "bin" / "mpc-run", *arguments], env=dict(environment(), **settings), text=True,
                          capture_output=True)  # fmt: skip


def devices():
    """The GPUs that mpc-run sees."""
    result = mpc_run("devices", "--json")
    found = json.loads(result.stdout) if result.returncode == 0 else []
    return [device for device in found if device["kind"] == "cuda" and device["available"]]


def conformance():
    """(cases, failures); the output of the runner is shown."""
    path = HERE / "conformance.json"
    subprocess.run([sys.executable, HERE / "Conformance" / "run.py", "--bin", HERE / "bin", "--fixtures", HERE / "fixtures",
                    "--work", HERE / "work", "--prebuilt", "--device", "cuda:0", "--case", ".*", "--jobs", str(min(8, os.cpu_count() or 1)),
                    "--json", path], env=environment())  # fmt: skip
    with open(path) as handle:
        results = json.load(handle)
    results = results["cases"] if isinstance(results, dict) else results
    return len(results), [r["case"] for r in results if r["status"] != "pass"]


def time_mpc(workload, precision, batch, steps, warmup, *options, **settings):
    result = mpc_run("bench", str(HERE / "models" / f"{workload}-{precision}"), "--train", "--batch-size", str(batch),
                     "--steps", str(steps), "--warmup", str(warmup), "--json", "--device", "cuda:0", *options, **settings)  # fmt: skip
    if result.returncode:
        return {"error": result.stderr.strip()[-400:]}
    return {"ms": json.loads(result.stdout)["ms_median"]}


def time_torch(workload, precision, compiled, batch, steps, warmup):
    from torch_steps import time_torch as measure  # PyTorch need not be there

    return measure(workload, precision, compiled, batch, steps, warmup)


def time_products(precision, batch, steps, warmup):
    from products import time_products as measure

    return measure(precision, batch, steps, warmup)


def attempt(function, *arguments, **settings):
    try:
        return function(*arguments, **settings)
    except Exception as error:  # One peer that fails must not end the run.
        return {"error": f"{type(error).__name__}: {error}"[:400]}


def contenders_of(workload, size):
    """(precision, contender, function, arguments, settings) of everything that can be timed."""
    for precision in PRECISIONS:
        yield precision, "mpc", time_mpc, (workload, precision, *size), {}
        yield precision, TUNED, time_mpc, (workload, precision, *size, "--tune"), {}
        yield precision, "torch eager", time_torch, (workload, precision, False, *size), {}
        yield precision, "torch.compile", time_torch, (workload, precision, True, *size), {}
        if workload == "guide":
            yield precision, "cuBLASLt products", time_products, (precision, *size), {}
        if workload in WITH_SUMS:
            yield precision, SUMS, time_mpc, (workload + "-sums", precision, *size), {}
        for contender, settings in WITHOUT.get(workload, {}).items():
            yield precision, contender, time_mpc, (workload, precision, *size), settings
    for precision in OWN_PRECISIONS.get(workload, {}):
        yield precision, "mpc", time_mpc, (workload, precision, *size), {}


def measure(arguments, results):
    """Adds to {workload: {"batch": N, precision: {contender: {"ms": median} or {"error": why}}}}"""
    steps, warmup = (3, 1) if arguments.quick else (200, 20)
    for workload, (_, batch) in WORKLOADS.items():
        if not re.fullmatch(arguments.workload, workload):
            continue
        batch = 8 if arguments.quick else batch
        rows = results.setdefault(workload, {"batch": batch})
        for precision, contender, function, given, settings in contenders_of(workload, (batch, steps, warmup)):
            if re.fullmatch(arguments.contender, contender):
                rows.setdefault(precision, {})[contender] = timed = attempt(function, *given, **settings)
                print(f"{workload} {precision} {contender}: {timed}", flush=True)
    return results


def reached(rows):
    """What of the goals was measured, as a sentence."""
    times = {precision: {name: cell["ms"] for name, cell in rows.get(precision, {}).items() if "ms" in cell} for precision in PRECISIONS}
    own = {precision: row["mpc"] for precision, row in times.items() if "mpc" in row}
    if len(own) < len(PRECISIONS):
        return []
    ahead = [precision for precision, row in times.items() if row["mpc"] < row.get("torch.compile", 0)]
    best = own["mixed_bfloat16"]
    return [f"Measured: {best:.2f} ms, {own['float32'] / best:.1f} times as fast as float32, {own['tf32'] / best:.1f} times as TF32, "
            f"ahead of torch.compile in {len(ahead)} of {len(PRECISIONS)} precisions."]  # fmt: skip


def table(report):
    lines = [f"# Training steps on {report['device']}", "", "Milliseconds, median; all wait for the GPU after each step. \"cuBLASLt "
             "products\" are the step's eight products alone."]  # fmt: skip
    if report["hint"]:
        lines += ["", f"Hint of mpc-run devices: {report['hint']}."]
    for workload, (name, _) in WORKLOADS.items():
        rows = report["steps"].get(workload, {})
        columns = CONTENDERS + OTHERS.get(workload, [])
        size = f", batch {rows['batch']}" if rows else ""
        lines += ["", f"## {name[0].upper()}{name[1:]}{size}", "", "| precision | " + " | ".join(columns) + " |",
                  "|---" * (len(columns) + 1) + "|"]  # fmt: skip
        for precision, title in PRECISIONS.items():
            row = rows.get(precision, {})
            cells = [f"{row[c]['ms']:.3f}" if "ms" in row.get(c, {}) else "not run" for c in columns]
            lines.append(f"| {title} | " + " | ".join(cells) + " |")
        for precision, title in OWN_PRECISIONS.get(workload, {}).items():
            own = rows.get(precision, {}).get("mpc", {})
            cells = [f"{own['ms']:.3f}" if "ms" in own else "not run"] + ["-"] * (len(columns) - 1)
            lines.append(f"| {title} | " + " | ".join(cells) + " |")
        if workload in GOALS:
            lines += ["", *reached(rows), GOALS[workload]]
    failures = report["failures"]
    conformance = f"{report['cases'] - len(failures)} of {report['cases']} cases pass" if report["cases"] else "not run"
    lines += ["", f"Conformance: {conformance}."]
    return "\n".join(lines + [f"- failed: {case}" for case in failures]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--conformance-only", action="store_true")
    only.add_argument("--benchmarks-only", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--results", type=pathlib.Path, default=HERE)
    only.add_argument("--not-run", action="store_true")
    parser.add_argument("--workload", default=".*", metavar="PATTERN")
    parser.add_argument("--contender", default=".*", metavar="PATTERN")
    parser.add_argument("--add", action="store_true")
    arguments = parser.parse_args()
    if arguments.not_run:
        (arguments.results / "gpu.md").write_text(table(NOT_RUN))
        return 0
    find_libraries()
    gpus = devices()
    if not gpus:
        print("error: no NVIDIA GPU that mpc-run can use; expected a GPU, its driver (CUDA 12 or later) and "
              "libcublasLt on the library path; mpc-run devices says what is missing", file=sys.stderr)  # fmt: skip
        return 1
    device, before = gpus[0].get("model", "cuda:0"), dict(NOT_RUN, steps={})
    if arguments.add:
        before = json.loads((arguments.results / "gpu.json").read_text())
        if before["device"] != device:
            print(f"error: gpu.json was measured on {before['device']}; expected {device}; leave out --add", file=sys.stderr)
            return 1
    cases, failures = (before["cases"], before["failures"]) if arguments.benchmarks_only else conformance()
    steps = before["steps"] if arguments.conformance_only else measure(arguments, before["steps"])
    report = {"device": device, "hint": gpus[0].get("advice", ""), "cases": cases, "failures": failures, "quick": arguments.quick, "steps": steps}
    (arguments.results / "gpu.json").write_text(json.dumps(report, indent=1) + "\n")
    (arguments.results / "gpu.md").write_text(table(report))
    print(table(report))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
