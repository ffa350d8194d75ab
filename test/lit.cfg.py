# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How lit runs the tests of passes and tools. The build's lit.site.cfg.py fills in the folders; run from
the source tree (lit-22 test/Transforms), the release build is taken, or that of MPC_BUILD_DIR."""

import os
import sys

import lit.formats

config.name = "mpc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "Long", "Unit", "Conformance", "Checks"]
config.test_source_root = os.path.dirname(__file__)

source = os.path.dirname(config.test_source_root)
if not hasattr(config, "mpc_build_dir"):
    chosen_build = os.environ.get("MPC_BUILD_DIR", os.path.join(source, "build", "release"))
    site = os.path.join(chosen_build, "test", "lit.site.cfg.py")
    if not os.path.exists(site):
        lit_config.fatal(f"{site}: no such file; expected a configured build; run scripts/build")
    with open(site) as handle:
        for line in handle:
            if line.startswith("config."):  # the last line loads this file
                exec(line, {"config": config})
build = config.mpc_build_dir
sys.path.append(config.test_source_root)
import places  # noqa: E402  pylint: disable=wrong-import-position

llvm_tools = config.llvm_tools_dir
config.test_exec_root = os.path.join(build, "test")

fixtures = os.environ.get("MPC_FIXTURES") or os.path.join(build, "fixtures")
if not os.path.isdir(fixtures):
    lit_config.fatal(f"{fixtures}: no such folder; scripts/build unpacks the fixtures into it")

config.environment["PATH"] = os.pathsep.join(
    [os.path.join(build, "bin"), llvm_tools, os.environ.get("PATH", "")]
)
config.environment["MPC_FIXTURES"] = fixtures
# Messages are matched as plain text, in English, and two threads are what every machine has.
config.environment["LC_ALL"] = "C.UTF-8"
config.environment["NO_COLOR"] = "1"
# No test depends on what the user compiled before; what other tests of this run did, run-suite.py keeps.
kept = os.environ.get("MPC_CACHE", "")
config.environment["MPC_CACHE"] = kept if kept.startswith(os.path.join(build, "Testing", "")) else ""
# Tests run side by side: threads that wait must not keep the others from working.
config.environment["OMP_WAIT_POLICY"] = "passive"
for name in ["OMP_NUM_THREADS", "ASAN_OPTIONS", "UBSAN_OPTIONS", "TMPDIR", "MPC_KERAS_PYTHON"]:
    if name in os.environ:
        config.environment[name] = os.environ[name]

config.substitutions.append(("%fixtures", os.path.join(fixtures, "keras")))
config.substitutions.append(("%policies", os.path.join(fixtures, "policies")))
# Models of other people, which are not part of the repository.
if places.models():
    config.available_features.add("models-of-others")
    config.substitutions.append(("%models", places.models()))
config.substitutions.append(("%source", source))
config.substitutions.append(("%build", build))
# The software device of test/FakeCuda in front of a command; kernels need NVRTC.
config.substitutions.append(("%fake_cuda", os.path.join(source, "scripts", "with-fake-cuda")))
if config.mpc_nvrtc:
    config.available_features.add("nvrtc")
# C and C++ programs of users; beside a sanitized runtime they link its sanitizers.
sanitizers = f"clang-22 -fsanitize={config.mpc_sanitize}" if config.mpc_sanitize else ""
if sanitizers:
    config.available_features.add("sanitized")
config.substitutions.append(("%cc", sanitizers or "cc"))
config.substitutions.append(("%cxx", sanitizers.replace("clang-22", "clang++-22") or "c++"))
config.substitutions.append(("%python", "/usr/bin/python3"))
# %exits 1 mpcc ...: the command must end with exactly this code.
config.substitutions.append(("%exits", "/usr/bin/python3 " + os.path.join(source, "test", "expect-exit.py")))

# Runs @main of a module on stdin whose entries were lowered to linalg on tensors.
runner_libraries = [
    os.path.join(llvm_tools, "..", "lib", f"libmlir_{name}.so")
    for name in ["runner_utils", "c_runner_utils"]
]
config.substitutions.append(
    (
        "%run-tensors",
        "mpc-opt --one-shot-bufferize='bufferize-function-boundaries "
        "function-boundary-type-conversion=identity-layout-map' --convert-linalg-to-loops "
        "--convert-scf-to-cf --expand-strided-metadata --lower-affine --convert-math-to-libm "
        "--convert-math-to-llvm --arith-expand=include-bf16=true --convert-arith-to-llvm "
        "--convert-index-to-llvm --finalize-memref-to-llvm --convert-func-to-llvm "
        "--convert-cf-to-llvm --reconcile-unrealized-casts | mlir-runner -e main "
        "--entry-point-result=void -O0 --shared-libs=" + ",".join(runner_libraries),
    )
)

# A Python that imports Keras, for the tests that compare with the real thing.
keras_python = os.environ.get("MPC_KERAS_PYTHON", "")
if keras_python:
    config.available_features.add("real-keras")
    config.substitutions.append(("%keras_python", keras_python))
if os.geteuid() == 0:
    config.available_features.add("root")
