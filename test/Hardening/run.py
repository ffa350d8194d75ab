#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How programs, libraries and compiled models are hardened, read from the files themselves, and where
they look for libraries. Usage: run.py BUILD LIBMPCRT"""

import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "test"))
# pylint: disable=wrong-import-position
import elf  # noqa: E402
import named_tests  # noqa: E402

# The constructor runs before main, and before the library that this one pretends to be is missed.
HOSTILE = """
#include <unistd.h>
__attribute__((constructor)) static void run(void) { write(2, "CODE OF THE CURRENT FOLDER RUNS\\n", 32); _exit(42); }
"""


class Wrong(Exception):
    pass


def complain(complaints):
    if complaints:
        raise Wrong("\n".join(sorted(complaints)))


class Suite:
    def __init__(self, build, runtime, work):
        self.build, self.work = build, work
        self.bin = os.path.join(build, "bin")
        # Benchmarks are built by hand, and ship with nothing.
        tools = [path for path in glob.glob(os.path.join(self.bin, "*")) if not os.path.basename(path).startswith("mpc-benchmark-")]
        libraries = glob.glob(os.path.join(build, "lib", "*.so*"))
        self.model = os.path.join(work, "net.mpc")
        subprocess.run([os.path.join(self.bin, "mpcc"), "-q", "--name=net", "-o", self.model,
                        os.path.join(ROOT, "examples/mnist_mlp/model_256.keras")], check=True)  # fmt: skip
        self.installed = os.path.join(work, "installed")
        subprocess.run(["cmake", "--install", build, "--prefix", self.installed], check=True, capture_output=True)
        installed = [os.path.join(folder, name) for folder, _, names in os.walk(self.installed) for name in names]
        self.tools = [path for path in tools + installed if elf.is_elf(path) and "/bin/" in path]
        self.libraries = [path for path in libraries + installed if elf.is_elf(path) and "/lib" in path and path not in self.tools]
        self.libraries.append(os.path.realpath(runtime))
        self.models = [os.path.join(self.model, "libnet.so")]
        self.everything = self.tools + self.libraries + self.models

    def test_there_are_files(self):
        names = {os.path.basename(path) for path in self.tools}
        for tool in ["mpcc", "mpc-run", "mpc-convert", "mpc-opt", "mpc-translate", "mpc-lsp-server", "mpc-reduce"]:
            if sum(os.path.basename(path) == tool for path in self.tools) != 2:
                raise Wrong(f"{tool}: not in the build folder and installed; found {names}")
        if len(self.libraries) < 2:
            raise Wrong(f"libraries: {self.libraries}")

    def test_search_paths(self):
        """No empty and no relative element: the loader would take libraries from the current folder. The
        whole build tree, test programs and all; not what tests build as a user's project would, and not
        the wheels of others that tests install."""
        complaints, count = [], 0
        for folder, folders, names in os.walk(self.build):
            folders[:] = [name for name in folders if name not in ("work", "site-packages")]
            for path in (os.path.join(folder, name) for name in names):
                if elf.is_elf(path):
                    count += 1
                    complaints += [f"{path}: '{part}'" for part in elf.Elf(path).search_path()
                                   if not part.startswith(("/", "$ORIGIN/")) and part != "$ORIGIN"]  # fmt: skip
        for path in self.everything:
            complaints += [f"{path}: '{part}'" for part in elf.Elf(path).search_path() if not part.startswith(("/", "$ORIGIN"))]
        complain(complaints)
        return f"{count} files of the build tree"

    def test_stacks(self):
        """Not executable; canaries, where a function has what they protect."""
        complaints = [path for path in self.everything if elf.Elf(path).flags_of(elf.PT_GNU_STACK) in (None, 7, 5)]
        complaints += [f"{path}: no canary" for path in self.tools + self.libraries
                       if "__stack_chk_fail" not in elf.Elf(path).undefined_symbols()]  # fmt: skip
        complain(complaints)

    def test_relocations(self):
        """Read-only after start, all of them: full RELRO."""
        complaints = [f"{path}: no RELRO" for path in self.everything if elf.Elf(path).flags_of(elf.PT_GNU_RELRO) is None]
        complaints += [f"{path}: binds lazily" for path in self.everything if not elf.Elf(path).binds_now()]
        complaints += [f"{path}: writes into its code" for path in self.everything if elf.Elf(path).values(elf.DT_TEXTREL)]
        complain(complaints)

    def test_positions(self):
        complain([path for path in self.everything if elf.Elf(path).type != elf.ET_DYN])

    def test_segments(self):
        """None is both writable and executable."""
        complain([path for path in self.everything
                  if any(kind == 1 and flags & 3 == 3 for kind, flags, *_ in elf.Elf(path).segments)])  # fmt: skip

    def test_fortified(self):
        """Every file is compiled so, and where functions of libc write into a buffer of a known size, it is the
        functions that compare it. (mpc-run has no such buffer.)"""
        with open(os.path.join(self.build, "compile_commands.json")) as handle:
            commands = json.load(handle)
        complain([command["file"] for command in commands if "-D_FORTIFY_SOURCE=2" not in command["command"]])
        fortified = {"__memcpy_chk", "__snprintf_chk", "__vsnprintf_chk", "__read_chk", "__fprintf_chk", "__printf_chk", "__memset_chk",
                     "__memmove_chk", "__fread_chk", "__strcpy_chk", "__realpath_chk", "__fgets_chk"}  # fmt: skip
        complain([path for path in self.tools + self.libraries
                  if os.path.basename(path) != "mpc-run" and not fortified & elf.Elf(path).undefined_symbols()])  # fmt: skip
        return f"{len(commands)} files"

    def test_control_flow(self):
        """Models, which are ours from end to end, say so. Programs and libraries hold Debian's start files, which have
        no landing pads, so that the linker says nothing of them; the pads of our functions are there."""
        both, landing_pad = elf.IBT | elf.SHADOW_STACK, b"\xf3\x0f\x1e\xfa"
        complain([path for path in self.models if elf.Elf(path).control_flow_features() & both != both])
        complain([path for path in self.tools + self.libraries if elf.Elf(path).content.count(landing_pad) < 100])

    def test_current_folder(self):
        """A library that stands where the user stands is not loaded: neither one that a program needs nor one
        that it opens by name."""
        hostile = os.path.join(self.work, "hostile")
        os.makedirs(hostile)
        source = os.path.join(self.work, "hostile.c")
        with open(source, "w") as handle:
            handle.write(HOSTILE)
        subprocess.run(["cc", "-shared", "-fPIC", source, "-o", os.path.join(hostile, "hostile.so")], check=True)
        names = {elf.Elf(path).text(value) for path in self.everything for value in elf.Elf(path).values(elf.DT_NEEDED)}
        names |= {"libdnnl.so.2", "libdnnl.so", "libnvrtc.so.12", "libnvrtc.so.13", "libcuda.so.1", "libcublasLt.so.12", "libcublasLt.so.13",
                  "libcublas.so.12", "libcublas.so.13", "libcudnn.so.9", "libcudnn_graph.so.9"}  # fmt: skip
        for name in names:
            shutil.copy(os.path.join(hostile, "hostile.so"), os.path.join(hostile, name))
        environment = {key: value for key, value in os.environ.items() if not key.startswith("LD_")}
        model = os.path.join(ROOT, "examples/mnist_mlp/model_256.keras")
        commands = [[path, "--version"] for path in self.tools]
        for tool in (self.bin, os.path.join(self.installed, "bin")):
            commands += [[os.path.join(tool, "mpcc"), "-q", model, "-o", os.path.join(self.work, "again.mpc")],
                         [os.path.join(tool, "mpc-run"), "devices"],
                         # Products that oneDNN computes on some CPUs.
                         [os.path.join(tool, "mpc-run"), "bench", self.model, "--train", "--batch-size=512", "--warmup=0", "--steps=1"],
                         [os.path.join(tool, "mpc-run"), "bench", self.model, "--device=cuda:0", "--steps=1"]]  # fmt: skip
        complaints = []
        for command in commands:
            result = subprocess.run(command, cwd=hostile, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if result.returncode == 42 or "CURRENT FOLDER" in result.stderr:
                complaints.append(" ".join(command))
            elif result.returncode and "--device=cuda:0" not in command:
                complaints.append(f"{' '.join(command)}: exit {result.returncode}: {result.stderr[-300:]}")
        complain(complaints)
        return f"{len(commands)} commands beside {len(names)} hostile libraries"


def main():
    with tempfile.TemporaryDirectory(prefix="mpc-hardening-") as work:
        return named_tests.run(named_tests.methods(Suite(os.path.abspath(sys.argv[1]), sys.argv[2], work)))


if __name__ == "__main__":
    sys.exit(main())
