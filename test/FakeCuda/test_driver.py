#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The conformance suite of drivers (runtime/cts) on the CUDA driver and the software device; its
convolutions and attention with cuDNN and without, gelu and sums of columns with cuBLASLt and without, float8 on a GPU that multiplies it and on one that
does not, products of float32 in three of TF32. The driver's own kernels are those of a model with a convolution."""

import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.environ.get("MPC_BUILD", os.path.join(ROOT, "build", "release"))
FIXTURES = os.environ.get("MPC_FIXTURES") or os.path.join(BUILD, "fixtures")
MODEL = os.path.join(FIXTURES, "keras", "forward", "conv2d_same__float32", "model.keras")


def main():
    suite = sys.argv[1]
    with tempfile.TemporaryDirectory(prefix="mpc-cts-") as folder:
        split = os.path.join(folder, "split")
        for output, options in ((folder, ["--target=cuda:sm_80,sm_90"]), (split, ["--target=cuda:sm_90", "--fp32-precision=tf32x3"])):
            subprocess.run([os.path.join(BUILD, "bin", "mpcc"), MODEL, *options, "--mode=infer",
                            "--march=x86-64-v2", "--name=cts", "-o", output], check=True)  # fmt: skip
        environment = dict(os.environ, MPC_CACHE="", MPC_CTS_CUDA_MODEL=os.path.join(folder, "libcts.so"),
                           LD_LIBRARY_PATH=os.path.join(BUILD, "lib", "fake-cuda"),
                           MPC_FAKE_CUDA_CACHE=os.path.join(BUILD, "fake-cuda-kernels"))  # fmt: skip
        with_library = run(suite, "*/cuda", 20, environment)
        without = run(suite, "*/Convolve.*/cuda:*/Attend.*/cuda", 13, dict(environment, MPC_CUDNN="off"))
        # Kernels of the model in the place of an epilogue.
        without_gelu = run(suite, "*/ContractWithGelu.*/cuda", 5, dict(environment, MPC_CUBLASLT_GELU="off"))
        without_sums = run(suite, "*/ColumnSums.*/cuda", 4, dict(environment, MPC_FAKE_CUBLASLT_BGRAD="none"))
        widened = run(suite, "*/ContractFloat8.*/cuda", 3, dict(environment, MPC_FAKE_CUDA_CAPABILITY="80"))
        # Sums with the errors that a GPU's have.
        on_device = dict(environment, MPC_FAKE_CUBLASLT_SUMS="device")
        plain = run(suite, "*/ContractDigits.*/cuda", 4, on_device)
        in_three = dict(on_device, MPC_CTS_CUDA_MODEL=os.path.join(split, "libcts.so"), MPC_CUDA_TF32X3="all", MPC_CUDNN="off")
        split_products = run(suite, "*/ContractDigits.*/cuda:*/Contract.IsExactOver*/cuda:*/Contract.IsExactForLarge*/cuda"
                             ":*/Contract.KeepsNaN*/cuda:*/ContractWithBits.M*/cuda:*/ContractWithBits.W*/cuda:*/ContractWithBits.T*/cuda:*/ColumnSums.*/cuda"
                             ":*/Attend.IsRightOverDtypes*/cuda:*/Convolve.IsExact*/cuda:*/Convolve.KeepsAnInfinity*/cuda",
                             17, in_three)  # fmt: skip
    counts = (with_library, without, without_gelu, without_sums, widened, plain, split_products)
    print(f"ran {sum(counts)} tests")
    return 0 if all(counts) else 1


def run(suite, tests, least, environment):
    """How many passed; 0 where any failed or fewer than `least` ran."""
    result = subprocess.run([suite, "--gtest_filter=" + tests], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip
    print(result.stdout[-20000:])
    passed = re.search(r"\[  PASSED  \] (\d+) tests", result.stdout)
    skipped = re.search(r"\[  SKIPPED \] (\d+) test", result.stdout)
    count = int(passed.group(1)) if passed else 0
    print(f"{skipped.group(1) if skipped else 0} are not for devices")
    return count if result.returncode == 0 and count >= least else 0


if __name__ == "__main__":
    sys.exit(main())
