# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the results of one kind of CPU are called and where they are kept."""

import pathlib
import re

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
# What decides how fast matrix products are, from the best on.
EXTENSIONS = (("amx_bf16", "AMX"), ("avx512_bf16", "AVX512-BF16"), ("avx512f", "AVX512"), ("avx2", "AVX2"))


def _about():
    return pathlib.Path("/proc/cpuinfo").read_text()


def _field(key):
    found = re.search(rf"^{key}\s*: (.*)", _about(), re.MULTILINE)
    return found.group(1) if found else ""


def _extensions():
    flags = _field("flags").split()
    return [label for flag, label in EXTENSIONS if flag in flags]


def description():
    """The CPU's name and its extensions for products: "AMD EPYC, AVX512-BF16"."""
    return ", ".join([_field("model name") or "an unnamed CPU", *_extensions()[:2]])


def results():
    """The folder for results of this kind of CPU: results/amd-avx512-bf16."""
    vendor = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}.get(_field("vendor_id"), "other")
    folder = RESULTS / "-".join([vendor, *[label.lower() for label in _extensions()[:1]]])
    folder.mkdir(exist_ok=True)
    return folder
