# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the tests of the tools on the software device share."""

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("MPC_BUILD", os.path.join(ROOT, "build", "release"))
FIXTURES = os.environ.get("MPC_FIXTURES") or os.path.join(BUILD, "fixtures")
sys.path.append(os.path.join(ROOT, "test"))


def run(*command, fake=True, **settings):
    environment = dict(os.environ, NO_COLOR="1")
    if command[0] != "mpcc":  # no test depends on what another one measured
        environment["MPC_CACHE"] = ""
    if fake:
        folder = os.path.join(BUILD, "lib", "fake-cuda")
        environment["LD_LIBRARY_PATH"] = folder
        environment["MPC_FAKE_CUDA_CACHE"] = os.path.join(BUILD, "fake-cuda-kernels")
    environment.update(settings)
    command = [os.path.join(BUILD, "bin", command[0]), *command[1:]]
    if command[0].endswith("/mpcc") and not any(word.startswith("--march") for word in command):
        command += ["--march=x86-64-v2", "-O0"]  # beside code for a GPU the CPU's is not what is tested
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=300)


def lines_of(path):
    """What the device logged; nothing where it was not asked for anything."""
    if not os.path.exists(path):
        return []
    with open(path) as handle:
        return handle.read().splitlines()


class FolderTest(unittest.TestCase):
    """Tests with a folder for all of them."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix=f"mpc-{cls.__name__.lower()}-")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)
