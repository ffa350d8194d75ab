#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes releases with scripts/release of a small repository in a temporary folder; and looks whether the changelog of this
one has a section for the version that CMakeLists.txt names."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(ROOT, "test"))
import named_tests  # noqa: E402  pylint: disable=wrong-import-position

FILES = {
    "CMakeLists.txt": "cmake_minimum_required(VERSION 3.25)\nproject(mpc VERSION 0.2.0 LANGUAGES C CXX)\n",
    "CHANGELOG.md": "# Changelog\n\n## Unreleased (0.2.0)\n\n### Models\n\n- New ones.\n\n## 0.1.0 (2026-01-02)\n\n- The first.\n",
    "README.md": "pip install ./mpc_compiler-0.2.0-*.whl\n",
    "python/README.md": "pip install ./mpc_compiler-0.2.0-*.whl\n",
}
IDENTITY = {f"GIT_{who}_{what}": "a@b.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


class Wrong(Exception):
    pass


class Repository:
    def __init__(self, changes=()):
        self._folder = tempfile.TemporaryDirectory()
        self.path = self._folder.name
        for name, text in {**FILES, **dict(changes)}.items():
            self.write(name, text)
        os.makedirs(os.path.join(self.path, "scripts"))
        shutil.copy(os.path.join(ROOT, "scripts", "release"), os.path.join(self.path, "scripts"))
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", "All")

    def write(self, name, text):
        path = os.path.join(self.path, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)

    def run(self, *command):
        return subprocess.run(command, cwd=self.path, capture_output=True, text=True, env={**os.environ, **IDENTITY})

    def git(self, *arguments):
        result = self.run("git", *arguments)
        if result.returncode:
            raise Wrong(f"git {arguments}: {result.stderr}")
        return result.stdout

    def refuses(self, message):
        before = self.git("rev-parse", "HEAD"), self.git("tag"), self.git("status", "--porcelain")
        for arguments in ([], ["--check"]):
            result = self.run("scripts/release", *arguments)
            if result.returncode != 1 or not re.search("release: error: " + message, result.stderr):
                raise Wrong(f"expected exit 1 and {message!r}, found {result.returncode} and {result.stderr!r}")
        if before != (self.git("rev-parse", "HEAD"), self.git("tag"), self.git("status", "--porcelain")):
            raise Wrong("a refusal has changed something")


def expect(found, wanted):
    if found != wanted:
        raise Wrong(f"found {found!r}; expected {wanted!r}")


class Suite:
    @staticmethod
    def test_tags_a_commit_with_the_section():
        repository = Repository()
        expect(repository.run("scripts/release", "--check").returncode, 0)
        expect(repository.git("tag"), "")
        result = repository.run("scripts/release")
        expect((result.returncode, result.stderr), (0, ""))
        expect(repository.git("tag", "--points-at", "HEAD"), "v0.2.0\n")
        expect(repository.git("for-each-ref", "--format=%(contents)", "refs/tags/v0.2.0").strip(), "mpc 0.2.0\n\n### Models\n\n- New ones.")
        expect(repository.git("diff", "--name-only", "HEAD~1"), "CHANGELOG.md\n")
        heading = repository.git("show", "HEAD:CHANGELOG.md").splitlines()[2]
        if not re.fullmatch(r"## 0\.2\.0 \(\d{4}-\d\d-\d\d\)", heading):
            raise Wrong(f"the heading is {heading!r}")
        expect(repository.git("status", "--porcelain"), "")
        repository.refuses("the tag v0.2.0 exists")

    @staticmethod
    def test_refuses_changes():
        repository = Repository()
        repository.write("new.txt", "")
        repository.refuses("the tree has changes")

    @staticmethod
    def test_refuses_what_does_not_name_the_version():
        Repository({"CMakeLists.txt": FILES["CMakeLists.txt"].replace("0.2.0", "0.3.0")}).refuses(r"CHANGELOG.md: expected one heading '## Unreleased \(0.3.0\)'")
        Repository({"README.md": "pip install ./mpc_compiler-0.1.0-*.whl\n"}).refuses("README.md: does not name the wheel of 0.2.0")
        Repository({"CMakeLists.txt": "project(other)\n"}).refuses("CMakeLists.txt: has no project")
        Repository({"CHANGELOG.md": "# Changelog\n\n## Unreleased (0.2.0)\n\n## 0.1.0 (2026-01-02)\n"}).refuses("CHANGELOG.md: .* has no text")

    @staticmethod
    def test_refuses_other_options():
        expect(Repository().run("scripts/release", "0.2.0").returncode, 2)

    @staticmethod
    def test_this_repository_has_a_section_for_its_version():
        with open(os.path.join(ROOT, "CMakeLists.txt")) as file:
            version = re.search(r"^project\(mpc VERSION (\S+)", file.read(), re.M).group(1)
        with open(os.path.join(ROOT, "CHANGELOG.md")) as file:
            headings = re.findall(r"^## (.*)$", file.read(), re.M)
        if not re.fullmatch(rf"Unreleased \({re.escape(version)}\)|{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", headings[0]):
            raise Wrong(f"CHANGELOG.md: the first heading is {headings[0]!r}; expected one for {version}")


if __name__ == "__main__":
    sys.exit(named_tests.run(named_tests.methods(Suite)))
