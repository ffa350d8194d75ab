# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Where tests find what they read: the fixtures, which CMake unpacks into the build folder, and the
models of other people, which are not part of the repository."""

import os

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
# test/run-suite.py ends so where a suite needs what this place does not have.
SKIPPED = 77


def fixtures(*names):
    """A folder or file of the fixtures (test/Conformance/README.md): MPC_FIXTURES, or the release build's."""
    folder = os.environ.get("MPC_FIXTURES") or os.path.join(ROOT, "build", "release", "fixtures")
    return os.path.join(folder, *names)


def models():
    """The folder with models of other people (test/Models/README.md), or None. This is the only place that knows it:
    models/ in MPC_SHARED, or in the folder shared/ beside the repository."""
    shared = os.environ.get("MPC_SHARED") or os.path.join(os.path.dirname(ROOT), "shared")
    folder = os.path.join(shared, "models")
    return folder if os.path.isdir(folder) else None


WITHOUT_MODELS = "models of other people are missing; test/Models/README.md says which, and where they are put"
