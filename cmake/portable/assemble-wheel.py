#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes one wheel of those that `pip wheel .` made for several Pythons, the target `portable` and what
`cmake --install` installs: mpc/native has bin, lib, include and lib/cmake. Usage: see scripts/wheel."""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
COMMANDS = ["mpcc", "mpc-run", "mpc-convert", "mpc-opt"]
# Each part that is inside has its licence, by the Debian package that it came from.
LICENCES = ["libmlir-22-dev", "llvm-22-dev", "liblld-22-dev", "libdnnl2", "libgomp1", "libstdc++6", "libhdf5-103-1", "libhdf5-103", "libaec0", "libzip4",
            "libssl3", "libpcre2-8-0", "libprotobuf-lite32", "libprotobuf-lite32t64", "zlib1g", "libzstd1", "libbz2-1.0", "ocl-icd-libopencl1"]  # fmt: skip


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def unpack(wheel, folder):
    run(sys.executable, "-m", "wheel", "unpack", wheel, "--dest", folder)
    (content,) = glob.glob(os.path.join(folder, "*"))
    return content


def tags(content):
    """(Python, ABI) of an unpacked wheel."""
    (path,) = glob.glob(os.path.join(content, "*.dist-info", "WHEEL"))
    with open(path, encoding="utf-8") as file:
        return re.search(r"^Tag: ([^-]+)-([^-]+)-", file.read(), re.M).groups()


def stage_native(build, native):
    for component in ["runtime", "dev"]:
        run("cmake", "--install", build, "--prefix", native, "--component", component)
    library = os.path.join(native, "lib")
    for path in glob.glob(os.path.join(library, "libmpcrt.so*")):
        os.remove(path)
    portable = os.path.join(build, "portable")
    shutil.copytree(os.path.join(portable, "lib"), library, dirs_exist_ok=True, ignore=shutil.ignore_patterns("libmpcrt.so"))
    shutil.copytree(os.path.join(portable, "bin"), os.path.join(native, "bin"))
    # Wheels hold no links: the linker reads where the library is, the loader knows it by its soname.
    with open(os.path.join(library, "libmpcrt.so"), "w", encoding="ascii") as file:
        file.write("INPUT(libmpcrt.so.1)\n")
    for path in glob.glob(os.path.join(library, "cmake", "mpc", "mpc-targets-*.cmake")):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        with open(path, "w", encoding="utf-8") as file:
            file.write(re.sub(r"libmpcrt\.so\.[\d.]+", "libmpcrt.so.1", text))
    # libmpcrt opens it by this name, beside itself.
    shutil.copy(os.path.realpath(dnnl()), os.path.join(library, "libdnnl.so.2"))
    for folder, _, names in os.walk(native):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                is_elf = file.read(4) == b"\x7fELF"
            if is_elf and os.path.basename(folder) != "mpc" or name == "ld.lld":
                run("strip", "--strip-unneeded", path)


def dnnl():
    listed = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True).stdout
    return re.search(r"libdnnl\.so\.2 \(.*x86-64.*\) => (\S+)", listed).group(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for option in ["--build", "--work", "--out"]:
        parser.add_argument(option, required=True)
    parser.add_argument("wheels", nargs="+", help="for each Python one, as pip made it")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.work, ignore_errors=True)
    contents = [unpack(wheel, os.path.join(arguments.work, str(i))) for i, wheel in enumerate(arguments.wheels)]
    base, all_tags = contents[0], sorted(set(map(tags, contents)))
    package = os.path.join(base, "mpc")
    for other in contents[1:]:
        for module in glob.glob(os.path.join(other, "mpc", "_runtime.*.so")):
            shutil.copy(module, package)
    os.remove(os.path.join(package, "libmpcrt.so.1"))
    for module in glob.glob(os.path.join(package, "_runtime.*.so")):
        run("patchelf", "--set-rpath", "$ORIGIN/native/lib", module)
        run("strip", "--strip-unneeded", module)
    stage_native(arguments.build, os.path.join(package, "native"))

    (about,) = glob.glob(os.path.join(base, "*.dist-info"))
    scripts = os.path.join(base, os.path.basename(about).replace(".dist-info", ".data"), "scripts")
    os.makedirs(scripts)
    for command in COMMANDS:
        shutil.copy(os.path.join(ROOT, "python", "command.py"), os.path.join(scripts, command))
        os.chmod(os.path.join(scripts, command), 0o755)
    licences = os.path.join(about, "licenses")
    os.makedirs(licences, exist_ok=True)
    shutil.copy(os.path.join(ROOT, "LICENSE"), licences)
    for name in LICENCES:
        path = f"/usr/share/doc/{name}/copyright"
        if os.path.exists(path):
            shutil.copy(path, os.path.join(licences, f"{name}.txt"))
    with open(os.path.join(about, "WHEEL"), "r+", encoding="utf-8") as file:
        kept = [line for line in file if not line.startswith("Tag:") and line.strip()]
        file.seek(0)
        file.truncate()
        file.writelines(kept)
        file.writelines(f"Tag: {python}-{abi}-linux_x86_64\n" for python in sorted({p for p, _ in all_tags}) for abi in sorted({a for _, a in all_tags}))
    run(sys.executable, "-m", "wheel", "pack", base, "--dest-dir", arguments.out)


if __name__ == "__main__":
    main()
