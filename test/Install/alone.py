#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that have their models, the weights and the runtime in them (mpcc --link=static): built on
what is installed, which then is moved away."""

import argparse
import os
import re
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from commands import Failure, expect, run  # noqa: E402  pylint: disable=wrong-import-position
import named_tests  # noqa: E402  pylint: disable=wrong-import-position

TRAINED = [r"blobs \(mixed_bfloat16\): loss 1\.\d+, then 0\.\d+", r"ring \(float32\): loss 0\.\d+, then 0\.\d+"]


class Suite:
    def __init__(self, arguments):
        self.work = os.path.abspath(arguments.work)
        shutil.rmtree(self.work, ignore_errors=True)
        self.example = os.path.join(os.path.abspath(arguments.source), "examples", "two_models")
        self.prefix = os.path.join(self.work, "user")
        for component in ["runtime", "dev", "run", "tools"]:
            run("cmake", "--install", arguments.build, "--prefix", self.prefix, "--component", component)
        self.environment = dict(os.environ, LC_ALL="C.UTF-8", PKG_CONFIG_PATH=os.path.join(self.prefix, "lib/pkgconfig"),
                                PATH=os.path.join(self.prefix, "bin") + ":/usr/bin:/bin")  # fmt: skip
        for name in ["LD_LIBRARY_PATH", "CMAKE_PREFIX_PATH"]:
            self.environment.pop(name, None)

    def folder(self, name):
        path = os.path.join(self.work, name)
        shutil.copytree(self.example, path)
        return path

    def mpcc(self, folder, *arguments):
        return run("mpcc", *arguments, "-q", "--link=static", "--march=native", cwd=folder, env=self.environment)

    def sh(self, folder, command):
        return run("sh", "-euc", command, cwd=folder, env=self.environment)

    def runs_alone(self, program, *patterns):
        """What it prints where nothing of mpc is."""
        alone = os.path.join(self.work, "alone")
        shutil.rmtree(alone, ignore_errors=True)
        os.makedirs(alone)
        moved = shutil.copy(program, alone)
        hidden = self.prefix + " moved"
        os.rename(self.prefix, hidden)
        try:
            text = run(moved, cwd=alone, env={"LC_ALL": "C.UTF-8"})
        finally:
            os.rename(hidden, self.prefix)
        for pattern in patterns:
            expect(text, pattern)

    def no_library_of_ours(self, program):
        text = run("ldd", program)
        expect(text, r"libc\.so\.6")
        if re.search("mpc|blobs|ring", text.replace(program, "")):
            raise Failure(text)

    def test_two_models_with_cmake(self):
        folder = self.folder("cmake")
        path = os.path.join(folder, "CMakeLists.txt")
        with open(path, encoding="utf-8") as file:
            text = file.read().replace("MODEL ", "STATIC MODEL ").replace(" OPTIONS --weights=embedded", "")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        build = os.path.join(folder, "build")
        run("cmake", "-S", folder, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror", env=self.environment)
        run("cmake", "--build", build, env=self.environment)
        program = os.path.join(build, "two_models")
        self.no_library_of_ours(program)
        self.runs_alone(program, *TRAINED)

    def test_two_models_without_cmake(self):
        folder = self.folder("flags")
        self.mpcc(folder, "blobs.json", "--policy=mixed_bfloat16", "-o", "models")
        self.mpcc(folder, "ring.json", "-o", "models")
        if os.path.exists(os.path.join(folder, "models", "ring.safetensors")):
            raise Failure("weights stand beside the library that embeds them")
        self.sh(folder, "cc -std=c99 -Wall -Wextra -Werror main.c -Imodels models/libblobs.a models/libring.a "
                        "$(pkg-config --cflags --libs mpc-runtime-static) -o both")  # fmt: skip
        program = os.path.join(folder, "both")
        self.no_library_of_ours(program)
        self.runs_alone(program, *TRAINED)

    def test_without_any_library(self):
        folder = self.folder("static")
        self.mpcc(folder, "blobs.json", "--policy=mixed_bfloat16", "-o", "models")
        self.mpcc(folder, "ring.json", "-o", "models")
        # The linker warns that dlopen, which looks for oneDNN and for CUDA, wants a shared libc.
        self.sh(folder, "cc -static -std=c99 main.c -Imodels -Lmodels -lblobs -lring $(pkg-config --static --cflags --libs mpc-runtime) -o both 2>/dev/null")
        expect(run("ldd", os.path.join(folder, "both"), code=1), "not a dynamic executable")
        self.runs_alone(os.path.join(folder, "both"), *TRAINED)

    def test_the_example_that_mpcc_writes(self):
        folder = self.folder("example")
        self.mpcc(folder, "blobs.json", "-o", "models")
        with open(os.path.join(folder, "models", "example.c"), encoding="utf-8") as file:
            command = re.search(r" \*   (cc .*) && ", file.read()).group(1)
        self.sh(os.path.join(folder, "models"), command)
        self.runs_alone(os.path.join(folder, "models", "example"), "predicted 4 samples")

    def test_weights_beside_the_program(self):
        folder = self.folder("external")
        self.mpcc(folder, "blobs.json", "--weights=external", "-o", "models")
        folder = os.path.join(folder, "models")
        self.sh(folder, "cc example.c -I. libblobs.a $(pkg-config --cflags --libs mpc-runtime-static) -o example")
        elsewhere = {**self.environment, "LC_ALL": "C.UTF-8"}
        expect(run(os.path.join(folder, "example"), cwd="/", env=elsewhere), "predicted 4 samples")
        os.rename(os.path.join(folder, "blobs.safetensors"), os.path.join(folder, "moved"))
        expect(run(os.path.join(folder, "example"), code=1, cwd="/", env=elsewhere),
               f"error: {re.escape(folder)}/blobs.safetensors: No such file or directory; expected a safetensors file of variables")

    def test_symbols(self):
        folder = self.folder("symbols")
        self.mpcc(folder, "blobs.json", "-o", "models")
        symbols = run("nm", "-g", "models/libblobs.a", cwd=folder)
        defined = re.findall(r"^[0-9a-f]+ [^U] (\S+)$", symbols, re.M)
        if defined != ["blobs_executable_query"]:
            raise Failure(f"shows {defined}")
        # Nothing but arithmetic and memory of the system.
        wanted = set(re.findall(r"^ +U (\S+)$", symbols, re.M))
        if any(re.match("mpc_|dl_|_?_?dl|malloc|_Z", name) for name in wanted):
            raise Failure(f"wants {sorted(wanted)}")

    def test_an_older_shared_library_is_named(self):
        folder = self.folder("older")
        run("mpcc", "blobs.json", "-q", "--march=native", "-o", "models", cwd=folder, env=self.environment)
        text = run("mpcc", "blobs.json", "--link=static", "--march=native", "-o", "models", cwd=folder, env=self.environment)
        expect(text, r"warning: models/libblobs\.so: is of an earlier compilation, and what -lblobs would link; name libblobs\.a itself, or remove it")

    def test_no_archive(self):
        text = run("mpcc", "blobs.json", "--link=static", "--emit=archive", code=2, cwd=self.folder("archive"), env=self.environment)
        expect(text, "error: --link=static makes a library to link programs with, which an archive is not for; leave one of the two out")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ["build", "source", "work"]:
        parser.add_argument(f"--{name}", required=True)
    return named_tests.run(named_tests.methods(Suite(parser.parse_args())))


if __name__ == "__main__":
    sys.exit(main())
