#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles each distinct kernel of the fixtures' models by NVRTC, and records registers and spills.

  test/FakeCuda/nvrtc_kernels.py --nvrtc LIBRARY [--architectures 90] [--every N] [--json FILE]

The software device runs kernels as C++ of the host; this is what NVIDIA's compiler makes of them. Kernels
of several models that differ in their names only count once. Stages that mpcc gathers into one kernel are
compiled one by one. Fails where NVRTC refuses one, where there are none, and where one spills more than a few registers: that many
it may keep around calls, as of what divides numbers near the ends of float32.
"""

import argparse
import concurrent.futures
import ctypes
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "Conformance"), os.path.join(HERE, "..")]

import places
import selection

KINDS = ("forward", "gradient", "train", "loss_scale", "policy_map", "quantized")
FUNCTION = re.compile(
    r'^(?:static __device__ (?:inline|__noinline__) void|extern "C" __global__ void __launch_bounds__\(256(?:, 2)?\)) (kernel_\w+)\((.*?)\) \{\n.*?^\}\n',
    re.MULTILINE | re.DOTALL,
)
FEW = 128  # bytes that are stored and loaded: 16 registers
ENTRY = re.compile(r"Compiling entry function '(\w+)'.*?(\d+) bytes spill stores, (\d+) bytes spill loads.*?Used (\d+) registers", re.DOTALL)
BATCH = 100  # kernels per call of NVRTC: what precedes them takes as long as some of them


def source_of(mpcc, model):
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([mpcc, model, "--target=cuda:source", "--emit=cuda", "--output-guard=off", "--name=m", "-q", "-o", folder],
                                capture_output=True, text=True)  # fmt: skip
        if result.returncode:
            raise RuntimeError(f"{model}: {result.stderr}")
        with open(os.path.join(folder, "m.cu")) as handle:
            return handle.read()


def kernels_in(source):
    """What precedes the kernels, and each of them with KERNEL for its name; what computes one element comes before it."""
    first, element, kernels = None, "", []
    for match in FUNCTION.finditer(source):
        first = match.start() if first is None else first
        name = match[1]
        if name.endswith("_element"):
            element = match[0].replace(name[: -len("_element")], "KERNEL")
            continue
        text = match[0].replace(name, "KERNEL")
        bounds = "256, 2" if "__launch_bounds__(256, 2)" in text else "256"
        text = f'extern "C" __global__ void __launch_bounds__({bounds}) ' + text[text.index("KERNEL(") :]
        kernels.append(element + text)
        element = ""
    return source[:first], kernels


class Nvrtc:
    def __init__(self, path):
        self.library = ctypes.CDLL(path)
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def compile(self, source, architecture):
        """NVRTC's log, with what ptxas says of each kernel; the options are those of lib/Codegen/CUDA/Nvrtc.cpp."""
        program, size = ctypes.c_void_p(), ctypes.c_size_t()
        self.library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None)
        options = [f"-arch=sm_{architecture}", "-std=c++17", "-fmad=false", "-default-device", "--ptxas-options=-v"]
        array = (ctypes.c_char_p * len(options))(*[option.encode() for option in options])
        code = self.library.nvrtcCompileProgram(program, len(options), array)
        self.library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        self.library.nvrtcGetProgramLog(program, log)
        self.library.nvrtcDestroyProgram(ctypes.byref(program))
        text = log.value.decode(errors="replace")
        if code:
            raise RuntimeError(f"sm_{architecture}: {self.library.nvrtcGetErrorString(code).decode()}\n{text[:4000]}")
        return text


def compile_batch(path, prelude, kernels, architecture):
    """(registers, bytes of spills) of each kernel."""
    source = prelude + "".join(text.replace("KERNEL", f"k{i}") for i, text in enumerate(kernels))
    found = {name: (int(registers), int(stores) + int(loads)) for name, stores, loads, registers in ENTRY.findall(Nvrtc(path).compile(source, architecture))}
    return [found[f"k{i}"] for i in range(len(kernels))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nvrtc", required=True)
    parser.add_argument("--mpcc", default=os.path.join(HERE, "../../build/release/bin/mpcc"))
    parser.add_argument("--fixtures", default=places.fixtures("keras"))
    parser.add_argument("--architectures", default="90")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="of the models")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    supported = selection.load_supported(os.path.join(HERE, "..", "Conformance", "supported.json"))
    cases, _ = selection.select(arguments.fixtures, supported, KINDS)
    models = [case.path("model.keras") for case in cases if os.path.exists(case.path("model.keras"))][:: arguments.every]
    distinct = {}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for source in pool.map(lambda model: source_of(arguments.mpcc, model), models):
            prelude, kernels = kernels_in(source)
            distinct.setdefault(prelude, {}).update(dict.fromkeys(kernels))
    jobs = [(arguments.nvrtc, prelude, list(kernels)[i : i + BATCH], architecture)
            for architecture in arguments.architectures.split(",") for prelude, kernels in distinct.items() for i in range(0, len(kernels), BATCH)]  # fmt: skip
    record, spilling = {}, []
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        for job, resources in zip(jobs, pool.map(compile_batch, *zip(*jobs))):
            record.setdefault("sm_" + job[3], []).extend(resources)
            spilling += [f"sm_{job[3]}: {spills} bytes of spills in\n{text}" for text, (_, spills) in zip(job[2], resources) if spills > FEW]
    summary = {name: {"kernels": len(resources), "registers_median": statistics.median(r for r, _ in resources),
                      "registers_most": max(r for r, _ in resources), "spilling": sum(s > 0 for _, s in resources)}
               for name, resources in record.items()}  # fmt: skip
    for name, row in summary.items():
        print(f"{name}: {row['kernels']} distinct kernels of {len(models)} models; registers {row['registers_median']} in the median, "
              f"{row['registers_most']} at most; {row['spilling']} spill")  # fmt: skip
    if arguments.json:
        with open(arguments.json, "w") as handle:
            json.dump(summary, handle, indent=1)
    print("\n".join(spilling))
    print(f"ran {sum(row['kernels'] for row in summary.values())} tests")
    sys.exit(1 if spilling or not summary else 0)


if __name__ == "__main__":
    main()
