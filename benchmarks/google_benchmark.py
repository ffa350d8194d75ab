# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""mpc-benchmark-kernels, which Google Benchmark times: its building, and its results."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = ROOT / "build" / "release" / "bin" / "mpc-benchmark-kernels"


def build(*others):
    """Builds it and other programs, with Google Benchmark from Debian's packages."""
    subprocess.run([ROOT / "scripts" / "install-packages", "benchmarks"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([ROOT / "scripts" / "build", PROGRAM.name, *others], check=True, stdout=subprocess.DEVNULL)


def measure(kernels, seconds, repetitions=5, threads=None, onednn_isa=None):
    """Medians over repetitions of `seconds` together, in random order: {name: {"seconds", "label", "flops", "bytes_per_second"}}, the
    last three where the kernel has them. `kernels` as the program's head describes them."""
    environment = {**os.environ, **({"OMP_NUM_THREADS": str(threads)} if threads else {}),
                   **({"DNNL_MAX_CPU_ISA": onednn_isa} if onednn_isa else {})}  # fmt: skip
    result = subprocess.run([PROGRAM, *kernels, f"--benchmark_min_time={seconds / repetitions}", f"--benchmark_repetitions={repetitions}",
                             "--benchmark_enable_random_interleaving=true", "--benchmark_format=json"], capture_output=True, text=True, env=environment)  # fmt: skip
    rows = json.loads(result.stdout)["benchmarks"] if result.returncode == 0 else []
    failed = [f"{row['name']}: {row['error_message']}" for row in rows if row.get("error_occurred")]
    if result.returncode or failed:
        sys.exit(f"{PROGRAM.name}: error: {'; '.join(failed) or result.stderr.strip()}")
    unit = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
    return {row["run_name"].removesuffix("/real_time"): {"seconds": row["real_time"] * unit[row["time_unit"]],
                                                        **{key: row[key] for key in ("label", "flops", "bytes_per_second") if key in row}}
            for row in rows if row.get("aggregate_name") == "median"}  # fmt: skip
