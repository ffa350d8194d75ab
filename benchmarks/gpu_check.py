#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What scripts/gpu-check packs, run on a machine with a GPU: conformance on cuda:0, then step times of
the mixed precision guide's model at batch 8192, beside PyTorch where it can be imported.

  mpc-gpu-check/run [--conformance-only] [--results FOLDER]

Writes gpu.json and gpu.md into the folder (default: here)."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
BATCH = 8192
PRECISIONS = {"float32": "float32", "tf32": "TF32", "mixed_float16": "mixed_float16", "mixed_bfloat16": "mixed_bfloat16"}  # fmt: skip


def environment():
    paths = [str(HERE / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
    return dict(os.environ, LD_LIBRARY_PATH=":".join(path for path in paths if path))


def mpc_run(*arguments):
    return subprocess.run([HERE / "bin" / "mpc-run", *arguments], env=environment(), text=True, capture_output=True)  # fmt: skip


def devices():
    """The GPUs that mpc-run sees."""
    result = mpc_run("devices", "--json")
    found = json.loads(result.stdout) if result.returncode == 0 else []
    return [device for device in found if device["kind"] == "cuda" and device["available"]]


def conformance():
    """(cases, failures); the output of the runner is shown."""
    path = HERE / "conformance.json"
    subprocess.run([sys.executable, HERE / "Conformance" / "run.py", "--bin", HERE / "bin", "--shared", HERE / "shared",
                    "--work", HERE / "work", "--prebuilt", "--device", "cuda:0", "--case", ".*", "--jobs", "1",
                    "--json", path], env=environment())  # fmt: skip
    with open(path) as handle:
        results = json.load(handle)
    results = results["cases"] if isinstance(results, dict) else results
    return len(results), [r["case"] for r in results if r["status"] != "pass"]


def time_mpc(precision):
    result = mpc_run("bench", str(HERE / "models" / f"guide-{precision}"), "--train", "--batch-size", str(BATCH),
                     "--steps", "200", "--warmup", "20", "--json", "--device", "cuda:0")  # fmt: skip
    if result.returncode:
        return {"error": result.stderr.strip()[-400:]}
    return {"ms": json.loads(result.stdout)["ms_median"]}


def time_torch(precision, compiled):
    """Milliseconds of a step of the same model, optimizer and loss."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    reduced = {"mixed_float16": torch.float16, "mixed_bfloat16": torch.bfloat16}.get(precision)
    model = torch.nn.Sequential(torch.nn.Linear(784, 4096), torch.nn.ReLU(), torch.nn.Linear(4096, 4096),
                                torch.nn.ReLU(), torch.nn.Linear(4096, 10)).cuda()  # fmt: skip
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3, alpha=0.9, eps=1e-7)
    scaler = torch.amp.GradScaler("cuda", enabled=reduced == torch.float16)
    x = torch.rand(BATCH, 784, device="cuda")
    y = torch.randint(0, 10, (BATCH,), device="cuda")

    def loss_of():
        with torch.autocast("cuda", dtype=reduced or torch.float16, enabled=reduced is not None):
            return torch.nn.functional.cross_entropy(model(x).float(), y)

    if compiled:
        loss_of = torch.compile(loss_of)
    times = []
    for step in range(220):
        torch.cuda.synchronize()
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss_of()).backward()
        scaler.step(optimizer)
        scaler.update()
        torch.cuda.synchronize()
        if step >= 20:
            times.append(1e3 * (time.perf_counter() - start))
    return {"ms": statistics.median(times)}


def attempt(function, *arguments):
    try:
        return function(*arguments)
    except Exception as error:  # One peer that fails must not end the run.
        return {"error": f"{type(error).__name__}: {error}"[:400]}


def table(report):
    columns = ["mpc", "torch eager", "torch.compile"]
    lines = [f"# Guide's model on {report['device']}", "", f"Milliseconds of a training step at batch {BATCH}, median of 200; both wait for the GPU after "
             "each step.", "", "| precision | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]  # fmt: skip
    for precision, name in PRECISIONS.items():
        row = report["steps"].get(precision, {})
        cells = [f"{row[c]['ms']:.3f}" if "ms" in row.get(c, {}) else "not run" for c in columns]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    failures = report["failures"]
    lines += ["", f"Conformance: {report['cases'] - len(failures)} of {report['cases']} cases pass."]
    return "\n".join(lines + [f"- failed: {case}" for case in failures]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conformance-only", action="store_true")
    parser.add_argument("--results", type=pathlib.Path, default=HERE)
    arguments = parser.parse_args()
    gpus = devices()
    if not gpus:
        print("error: no NVIDIA GPU that mpc-run can use; expected a GPU, its driver (CUDA 12 or later) and "
              "libcublasLt on the library path; mpc-run devices says what is missing", file=sys.stderr)  # fmt: skip
        return 1
    cases, failures = conformance()
    report = {"device": gpus[0].get("model", "cuda:0"), "cases": cases, "failures": failures, "steps": {}}
    if not arguments.conformance_only:
        for precision in PRECISIONS:
            report["steps"][precision] = {
                "mpc": attempt(time_mpc, precision),
                "torch eager": attempt(time_torch, precision, False),
                "torch.compile": attempt(time_torch, precision, True),
            }
    (arguments.results / "gpu.json").write_text(json.dumps(report, indent=1) + "\n")
    (arguments.results / "gpu.md").write_text(table(report))
    print(table(report))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
