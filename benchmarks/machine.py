# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""This machine: what results of its kind of CPU are called, where they are kept, what the CPU has for any program."""

import datetime
import pathlib
import platform
import re
import statistics
import subprocess

import google_benchmark

RESULTS = pathlib.Path(__file__).resolve().parent / "results"
# These decide how fast matrix products are, from the best on.
EXTENSIONS = (("amx_bf16", "AMX"), ("avx512_bf16", "AVX512-BF16"), ("avx512f", "AVX512"), ("avx2", "AVX2"))


def _about():
    return pathlib.Path("/proc/cpuinfo").read_text()


def _field(key):
    found = re.search(rf"^{key}\s*: (.*)", _about(), re.MULTILINE)
    return found.group(1) if found else ""


def _extensions():
    flags = _field("flags").split()
    return [label for flag, label in EXTENSIONS if flag in flags]


def has_amx():
    return "AMX" in _extensions()


def has_avx512():
    return "AVX512" in _extensions()


def _generation():
    """AMD's generation, which its extensions do not tell: one of two multiply-adds per cycle of the other."""
    if _field("vendor_id") != "AuthenticAMD":
        return ""
    generations = {"25": "Zen4", "26": "Zen5"} if has_avx512() else {"25": "Zen3"}
    return generations.get(_field("cpu family"), "")


def description():
    """The CPU's name, its generation and its extensions for products: "AMD EPYC, Zen5, AVX512-BF16"."""
    return ", ".join(filter(None, [_field("model name") or "an unnamed CPU", _generation(), *_extensions()[:2]]))


def surroundings():
    """What else a result may depend on: memory, the kernel, the day, the sources."""
    memory = int(re.search(r"MemTotal:\s*(\d+)", pathlib.Path("/proc/meminfo").read_text()).group(1))
    commit = subprocess.run(["git", "describe", "--always", "--dirty", "--exclude=*"], cwd=RESULTS, capture_output=True, text=True).stdout.strip()
    return {"memory_gib": round(memory / 2**20, 1), "kernel": platform.release(), "date": datetime.date.today().isoformat(), "commit": commit}


def surroundings_line(about):
    """The same as a sentence, with the versions of peers where they are known."""
    versions = ", ".join(f"{name} {version}" for name, version in about.get("versions", {}).items())
    return f"{about['date']}, commit {about['commit'] or 'unknown'}, {about['memory_gib']} GiB, Linux {about['kernel']}{'; ' + versions if versions else ''}."


def results():
    """The folder for results of this kind of CPU: results/amd-zen5-avx512-bf16."""
    vendor = {"GenuineIntel": "intel", "AuthenticAMD": "amd"}.get(_field("vendor_id"), "other")
    words = [vendor, _generation(), *_extensions()[:1]]
    folder = RESULTS / "-".join(word.lower() for word in words if word)
    folder.mkdir(exist_ok=True)
    return folder


def ceilings():
    """Gigabytes and gigaflops per second that the CPU has for any program."""
    found = google_benchmark.measure(["ceilings"], seconds=0.3)
    rates = {name.removeprefix("peak/").split("/")[0]: row["flops"] / 1e9 for name, row in found.items() if name.startswith("peak/")}
    triad = next(row["bytes_per_second"] for name, row in found.items() if name.startswith("triad"))
    return {"triad_gb_per_s": triad / 1e9, "kernels": rates}


def ceilings_line(limits):
    """The medians of what ceilings() returned."""
    rates = [f"{name} {statistics.median(limit['kernels'][name] for limit in limits):.0f} GF/s" for name in limits[0]["kernels"]]
    triad = statistics.median(limit["triad_gb_per_s"] for limit in limits)
    return "Ceilings of this CPU (medians): triad " + ", ".join([f"{triad:.0f} GB/s", *rates]) + " with operands in the first-level cache."
