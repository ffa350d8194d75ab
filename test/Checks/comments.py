#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that names in the comments of C++ and ODS exist: files, qualified names such as Class::member,
functions with parentheses, and identifiers in backquotes. A name that went is a comment that nobody
reads; a name of other people's code is in the lists below."""

import os
import re
import sys

import sources

CODE = (".cpp", ".h", ".c", ".td", ".inc", ".def")
TEXT = (".py", ".sh", ".txt", ".cmake", ".mlir", ".json")
PIECES = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|[^"/]+|.', re.S)
# Namespaces, headers and folders of libraries, and files that the tools write.
FOREIGN_NAMESPACES = {"std", "llvm", "mlir"}
FOREIGN_FILES = re.compile(r"tensorflow/|src/cpu/x64/|jit_\w+\.cpp|(?:nvrtc|dnnl|cublasLt|image_ops|Householder|NAME)\.h$")
# Names of Python, Keras and POSIX.
FOREIGN_NAMES = {"sha256sum", "pthread_exit", "_loss_tracker", "supports_masking", "lora_KERNEL_a", "lora_KERNEL_b", "auc_1",
                 "live_names_after_serialize"}  # fmt: skip


def split(text):
    """The code of a file, and its comments as (line number, text). Strings are code."""
    code, comments, line = [], [], 1
    for piece in PIECES.findall(text):
        if piece.startswith(("//", "/*")):
            comments.append((line, piece))
        else:
            code.append(piece)
        line += piece.count("\n")
    return "".join(code), comments


class Names:
    def __init__(self, files):
        self.paths = files
        self.folders = {os.path.basename(name) for name in files}
        self.comments, self.code = {}, set()
        for name in files:
            if name.endswith(CODE):
                code, self.comments[name] = split(sources.read(name))
                self.code.update(re.findall(r"\w+", code))
        self.text = set(self.code)
        for name in files:
            if name.endswith(TEXT) and sources.is_text(name):
                self.text.update(re.findall(r"\w+", sources.read(name)))

    def check_files(self, comment):
        for path in re.findall(r"(?<![\w/.<-])([\w./-]*\w+\.(?:cpp|h|td|inc|def))\b", comment):
            isOwn = path in self.folders if "/" not in path else any(name.endswith(os.path.normpath(path)) for name in self.paths)
            if not isOwn and not FOREIGN_FILES.search(path):
                yield path

    def check_qualified_names(self, comment):
        for name in re.findall(r"\b([A-Za-z_]\w*(?:::~?\w+)+)", comment):
            parts = name.split("::")
            if parts[0] not in FOREIGN_NAMESPACES and not self.code.issuperset(part.lstrip("~") for part in parts):
                yield name

    def check_functions(self, comment):
        for name in re.findall(r"(?<![\w.])([a-z]\w+)\(\)", comment):
            if name not in self.text | FOREIGN_NAMES:
                yield name + "()"

    def check_identifiers(self, comment):
        for name in re.findall(r"`([A-Za-z_]\w*)`", comment):
            if name not in self.text | FOREIGN_NAMES:
                yield name


def main():
    names = Names(sources.repository_files())
    checks = sorted(name for name in dir(names) if name.startswith("check_"))
    failed = 0
    for check in checks:
        missing = [f"{name}:{line}: there is no {found}; expected a name of this repository, or of others in {os.path.basename(__file__)}"
                   for name, comments in names.comments.items() for line, comment in comments
                   for found in getattr(names, check)(comment)]  # fmt: skip
        failed += bool(missing)
        print(f"{'FAIL' if missing else 'ok  '}  {check[6:].replace('_', ' ')}", *missing, sep="\n    ")
    print(f"ran {len(checks)} tests")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
