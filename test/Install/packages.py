#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the Debian packages and looks at them as Debian would: what they hold and depend on, what lintian
says; and builds an example on their unpacked files."""

import argparse
import glob
import gzip
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
# pylint: disable=wrong-import-position
from commands import Failure, expect, run  # noqa: E402
import elf  # noqa: E402
import named_tests  # noqa: E402

NAMES = ["libmpcrt1", "libmpcrt-dev", "mpc-run", "mpc-tools"]
LARGE = "llvm|mlir|lld|hdf5|python"


class Suite:
    def __init__(self, arguments):
        self.source, self.work = os.path.abspath(arguments.source), os.path.abspath(arguments.work)
        shutil.rmtree(self.work, ignore_errors=True)
        os.makedirs(self.work)
        run("cpack", "-B", os.path.join(self.work, "packages"), cwd=os.path.abspath(arguments.build))
        self.files, self.roots = {}, {}
        for name in NAMES:
            (self.files[name],) = glob.glob(os.path.join(self.work, "packages", f"{name}_*_amd64.deb"))
            self.roots[name] = os.path.join(self.work, name)
            for root in (self.roots[name], os.path.join(self.work, "root")):
                run("dpkg-deb", "-x", self.files[name], root)
        self.usr = os.path.join(self.work, "root", "usr")
        self.library = os.path.join(self.usr, "lib", "x86_64-linux-gnu")

    def depends(self, name):
        return run("dpkg-deb", "-f", self.files[name], "Depends")

    def programs(self, name):
        return [path for path in glob.glob(os.path.join(self.roots[name], "usr/bin/*")) if elf.is_elf(path)]

    def test_no_package_more_or_less(self):
        made = sorted(os.path.basename(path).split("_")[0] for path in glob.glob(os.path.join(self.work, "packages", "*.deb")))
        if made != sorted(NAMES):
            raise Failure(f"made {made}")

    def test_versions(self):
        """One place has the version: what the project is, the packages are."""
        with open(os.path.join(self.source, "CMakeLists.txt"), encoding="utf-8") as file:
            version = re.search(r"project\(mpc VERSION ([\d.]+)", file.read()).group(1)
        for name in NAMES:
            expect(run("dpkg-deb", "-f", self.files[name], "Version"), rf"^{re.escape(version)}\n$")
        for name in ["libmpcrt-dev", "mpc-run", "mpc-tools"]:
            expect(self.depends(name), rf"libmpcrt1 \(= {re.escape(version)}\)")

    def test_licence_and_changes(self):
        for name in NAMES:
            doc = os.path.join(self.roots[name], "usr/share/doc", name)
            with open(os.path.join(doc, "copyright"), encoding="utf-8") as file:
                text = file.read()
            expect(text, "(?s)Apache License, Version 2.0.*/usr/share/common-licenses/Apache-2.0.*As an exception")
            with gzip.open(os.path.join(doc, "changelog.Debian.gz"), "rt") as file:
                expect(file.read(), r"^mpc \([\d.]+\) ")

    def test_the_runtime_needs_no_compiler(self):
        for name in ["libmpcrt1", "mpc-run"]:
            if re.search(LARGE, self.depends(name)):
                raise Failure(f"{name} depends on {self.depends(name)}")
        expect(self.depends("libmpcrt1"), "libdnnl2")
        expect(self.depends("libmpcrt1"), "libgomp1")
        expect(self.depends("mpc-tools"), r"lld-22.*libmlir-22")
        expect(self.depends("mpc-tools"), r"mpc-run \(=")
        if [os.path.basename(path) for path in self.programs("mpc-run")] != ["mpc-run"]:
            raise Failure(f"mpc-run has {self.programs('mpc-run')}")
        # CPack's own Installed-Size counts what a link leads to once more.
        held = [os.path.join(folder, name) for folder, _, names in os.walk(self.roots["libmpcrt1"]) for name in names]
        size = sum(os.lstat(path).st_size for path in held)
        if size > 3_000_000:
            raise Failure(f"libmpcrt1 takes {size} bytes")

    def test_folders(self):
        for path in ["libmpcrt.so.1", "pkgconfig/mpc-runtime.pc", "cmake/mpc/mpc-config.cmake"]:
            if not os.path.exists(os.path.join(self.library, path)):
                raise Failure(f"{path} is not in the folder of the architecture")
        if os.listdir(os.path.join(self.usr, "lib")) != ["x86_64-linux-gnu"]:
            raise Failure(f"usr/lib has {os.listdir(os.path.join(self.usr, 'lib'))}")
        for path, tool in [("mpc-tools", "mpcc"), ("mpc-run", "mpc-run")]:
            if not os.path.exists(os.path.join(self.roots[path], f"usr/share/man/man1/{tool}.1.gz")):
                raise Failure(f"{path} has no man page of {tool}")

    def test_search_paths(self):
        """The loader knows where packages put libraries. MLIR's alone are in a folder that it does not know."""
        for path in self.programs("mpc-run") + self.programs("mpc-tools") + [os.path.join(self.library, "libmpcrt.so.1")]:
            dynamic = run("readelf", "-d", path)
            allowed = re.search(r"NEEDED.*\[libMLIR", dynamic)
            for folders in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic):
                if not allowed or not re.fullmatch("/usr/lib/llvm-[0-9]+/lib", folders):
                    raise Failure(f"{path} looks for libraries in {folders}")

    def test_lintian(self):
        result = subprocess.run(["lintian", "--fail-on", "error", *self.files.values()], capture_output=True, text=True)
        errors = re.findall(r"^E: .*", result.stdout, re.M)
        if errors or result.returncode:
            raise Failure(f"exit {result.returncode}\n" + result.stdout + result.stderr)

    def test_mpc_run(self):
        library = {**os.environ, "LD_LIBRARY_PATH": self.library}
        model = os.path.join(self.work, "model")
        run(os.path.join(self.usr, "bin", "mpcc"), os.path.join(self.source, "examples/c_predict/blobs.json"), "-q", "-o", model)
        expect(run(os.path.join(self.usr, "bin", "mpc-run"), "bench", model, "--warmup", "1", "--steps", "2", env=library), "2 steps")

    def test_an_example_on_them(self):
        folder = os.path.join(self.work, "c_predict")
        shutil.copytree(os.path.join(self.source, "examples/c_predict"), folder)
        environment = {key: value for key, value in os.environ.items() if key not in ("LD_LIBRARY_PATH", "CMAKE_PREFIX_PATH")}
        run("cmake", "-S", folder, "-B", os.path.join(folder, "build"), f"-DCMAKE_PREFIX_PATH={self.usr}", env=environment)
        run("cmake", "--build", os.path.join(folder, "build"), env=environment)
        expect(run(os.path.join(folder, "build", "c_predict"), cwd=os.path.join(folder, "build"), env=environment), "sample 2: ")
        flags = run("pkg-config", "--cflags", "--libs", "mpc-runtime", env={**environment, "PKG_CONFIG_PATH": os.path.join(self.library, "pkgconfig")}).split()
        for flag in flags:
            if flag.startswith(("-I", "-L")) and not os.path.exists(flag[2:]):
                raise Failure(f"pkg-config says {flag}, which is not there")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ["build", "source", "work"]:
        parser.add_argument(f"--{name}", required=True)
    return named_tests.run(named_tests.methods(Suite(parser.parse_args())))


if __name__ == "__main__":
    sys.exit(main())
