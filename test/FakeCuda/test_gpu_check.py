#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""scripts/gpu-check without a GPU: it says so, and what it packs passes, and its
benchmarks run, on the software device."""

import json
import os
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("MPC_BUILD", os.path.join(ROOT, "build", "release"))


def run(*command, **settings):
    environment = dict(os.environ, **settings)
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)


def main():
    script = os.path.join(ROOT, "scripts", "gpu-check")
    result = run(script, "run")
    if result.returncode != 2 or "no usable NVIDIA GPU" not in result.stderr:
        print(f"without a GPU: exit {result.returncode}\n{result.stdout}{result.stderr}")
        return 1
    with tempfile.TemporaryDirectory(prefix="mpc-gpu-check-") as folder:
        archive = os.path.join(folder, "check.tar.gz")
        result = run(script, "pack", archive, "--every", "200", "--target", "cuda:sm_90")
        if result.returncode:
            print(f"pack: exit {result.returncode}\n{result.stdout}{result.stderr}")
            return 1
        with tarfile.open(archive) as packed:
            packed.extractall(folder)
        program = os.path.join(folder, "mpc-gpu-check", "run")
        fake = {"MPC_CACHE": "", "LD_LIBRARY_PATH": os.path.join(BUILD, "lib", "fake-cuda"),
                "MPC_FAKE_CUDA_CACHE": os.path.join(BUILD, "fake-cuda-kernels")}  # fmt: skip
        result = run(sys.executable, program, "--conformance-only", "--results", folder, **fake)
        print(result.stdout + result.stderr)
        if result.returncode:
            return 1
        with open(os.path.join(folder, "gpu.json")) as handle:
            report = json.load(handle)
        if report["cases"] < 3 or report["failures"]:
            return 1
        # Every workload and precision runs; PyTorch's rows say what is missing.
        result = run(sys.executable, program, "--benchmarks-only", "--quick", "--results", folder, **fake)
        print(result.stdout + result.stderr)
        if result.returncode:
            return 1
        with open(os.path.join(folder, "gpu.json")) as handle:
            steps = json.load(handle)["steps"]
        for workload in ("guide", "cnn", "lstm", "transformer", "gelu_transformer"):
            for precision in ("float32", "tf32", "mixed_float16", "mixed_bfloat16"):
                row = steps[workload][precision]
                others = {"guide": ["cuBLASLt products", "mpc, biases by cuBLASLt"], "cnn": ["mpc without cuDNN"],
                          "transformer": ["mpc, biases by cuBLASLt"], "gelu_transformer": ["mpc without cuBLASLt's gelu"]}  # fmt: skip
                for contender in ["mpc", "mpc --tune", *others.get(workload, [])]:
                    if "ms" not in row[contender]:
                        print(f"{workload} {precision} {contender}: {row[contender]}")
                        return 1
        for precision in ("float8_from_mixed_bfloat16", "tf32x3"):
            if "ms" not in steps["guide"][precision]["mpc"]:
                print(f"guide in {precision}: {steps['guide'][precision]}")
                return 1
    print(f"ran {report['cases'] + 1} tests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
