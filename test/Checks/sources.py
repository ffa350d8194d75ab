#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that hold for every file of the repository, one test each.

Only files that git knows are looked at. Prints `ran N tests` and exits 1 if one failed.
"""

import os
import re
import subprocess
import sys

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
LICENCE = "SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception"
CODE = (".h", ".hpp", ".c", ".cpp", ".td", ".inc", ".def")
SCRIPTS = (".py", ".sh")


def repository_files():
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        check=True, capture_output=True,
    ).stdout.decode()  # fmt: skip
    names = sorted(name for name in listed.split("\0") if name)
    return [name for name in names if os.path.isfile(os.path.join(ROOT, name))]


def read(name):
    with open(os.path.join(ROOT, name), errors="replace") as handle:
        return handle.read()


def is_text(name):
    with open(os.path.join(ROOT, name), "rb") as handle:
        return b"\0" not in handle.read(8192)


def is_code(name):
    return name.endswith(CODE)


def includes(name):
    """(line number, included path) of each include, quoted or angled."""
    for number, line in enumerate(read(name).splitlines(), 1):
        match = re.match(r'\s*(?:#\s*)?include\s+["<]([^">]+)[">]', line)
        if match:
            yield number, match.group(1)


def quoted_includes(name):
    for number, line in enumerate(read(name).splitlines(), 1):
        match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
        if match and "{0}" not in match.group(1):
            yield number, match.group(1)


# Who may include what: of every folder that a file is in, the pattern may not appear.
FORBIDDEN_INCLUDES = [
    ("include/mpc-rt/", r"^(mlir|llvm|mpc|dialects|lib)(/|-c/)", "the C ABI stands alone"),
    ("runtime/untrusted/", r"^(mlir|llvm|mpc|dialects|lib|runtime(?!/untrusted/)|tools|mpc-rt)(/|-c/)", "compiler and runtime share it"),
    ("runtime/rules/", r"^(mlir|llvm|mpc|dialects|lib|runtime(?!/rules/)|tools|mpc-rt(?!/(dtype\.h|isa\.inc)))(/|-c/)", "compiler and runtime share it"),
    ("runtime/", r"^(mlir|llvm|mpc|dialects|lib)(/|-c/)|^lib/", "the runtime never sees the compiler"),
    ("runtime/base/", r"^runtime/(?!base/|untrusted/|rules/)", "everything else stands on it"),
    ("runtime/threads/", r"^runtime/(?!base/|threads/)", "every driver uses it"),
    ("runtime/numerics/", r"^runtime/(?!base/|numerics/)", "execution uses it"),
    ("runtime/initializers/", r"^runtime/(?!base/|threads/|initializers/)", "execution uses it"),
    ("runtime/module/", r"^runtime/(?!base/|rules/|untrusted/|module/)", "execution uses it"),
    ("runtime/collectives/", r"^runtime/(?!base/|rules/|collectives/|drivers/cuda/)", "execution uses it"),
    ("runtime/scaler/", r"^runtime/(?!base/|rules/|scaler/)", "programs use it alone"),
    ("runtime/device/", r"^runtime/(?!base/|drivers/|device/)", "execution uses it"),
    ("runtime/execution/", r"^runtime/(data|state|training|checkpoint|reports|serving|commands)/", "they use execution"),
    ("runtime/state/", r"^runtime/(?!base/|untrusted/|execution/|data/|state/)", "programs use it"),
    ("runtime/data/", r"^runtime/(?!base/|rules/|untrusted/|module/|data/)", "files know no contexts"),
    ("runtime/training/", r"^runtime/(?!base/|rules/|untrusted/|module/|data/|training/)", "it knows contexts by the C ABI"),
    ("runtime/checkpoint/", r"^runtime/(?!base/|untrusted/|module/|data/|training/|checkpoint/)", "it knows contexts by the C ABI"),
    ("runtime/reports/", r"^runtime/(?!base/|untrusted/|data/|training/|reports/)", "they know contexts by the C ABI"),
    ("runtime/serving/", r"^runtime/(?!base/|untrusted/|data/|training/|serving/)", "it knows contexts by the C ABI"),
    ("runtime/commands/", r"^runtime/(execution|drivers|state|device|scaler|threads)/", "commands know contexts by the C ABI"),
    ("runtime/cts/", r"^runtime/(?!base/|drivers/|cts/)", "it tests drivers"),
    ("runtime/drivers/", r"^runtime/(?!base/|threads/|rules/|untrusted/|drivers/)", "execution uses drivers"),
    ("runtime/drivers/cpu/kernels/", r"^runtime/drivers/cpu/(?!kernels/|onednn/)", "the rooms of services use kernels"),
    ("runtime/drivers/cpu/onednn/", r"^runtime/drivers/cpu/(?!kernels/work_blocks\.h|onednn/)", "kernels and services use it"),
    ("runtime/drivers/cpu/contract/", r"^runtime/drivers/cpu/(?!contract/|kernels/|onednn/)", "services are rooms apart"),
    ("runtime/drivers/cpu/convolve/", r"^runtime/drivers/cpu/(?!convolve/|kernels/|onednn/)", "services are rooms apart"),
    ("runtime/drivers/cpu/attend/", r"^runtime/drivers/cpu/(?!attend/|kernels/|onednn/)", "services are rooms apart"),
    ("runtime/drivers/cuda/", r"^runtime/drivers/(cpu|null)/", "drivers do not know each other"),
    ("dialects/", r"^(mpc|lib|runtime(?!/rules/)|tools|mpc-rt)/", "dialects depend on MLIR only"),
    ("include/mpc/", r"^(lib|runtime|tools)/", "public headers do not reach into the code"),
    ("lib/Import/Common/", r"^(mpc|lib)/(?!Import/Common/)", "importers build on it"),
    ("lib/Numerics/Search/", r"^(mpc|lib)/(Driver|Pipelines|Codegen|Import)/", "it searches, others compile and run"),
    ("lib/", r"^(runtime/(?!untrusted/|rules/)|tools/)", "the compiler knows the runtime by its C ABI only"),
]  # fmt: skip


def check_dependency_direction(files):
    for name in filter(is_code, files):
        for folder, pattern, reason in FORBIDDEN_INCLUDES:
            if not name.startswith(folder):
                continue
            for number, included in includes(name):
                own = included.startswith(("mpc/IR/", "mpcrt/IR/"))
                if re.search(pattern, included) and not (folder == "dialects/" and own):
                    yield f"{name}:{number}: includes {included}; {reason}"


# Headers that the build or a compiled model writes, and those of libraries.
WRITTEN = re.compile(r"\.(h|cpp)\.inc$|\.pb\.h$")
OF_LIBRARIES = re.compile(r"(clang|gtest|lld|llvm|llvm-c|mlir|nlohmann)/")
# Compiled outside the build, as users compile them; another one's copies; a file of LLVM's folder.
COMPILED_ELSEWHERE = ("examples/", "test/Driver/Inputs/", "test/Faults/host.c", "test/FakeCuda/toolkit/", "test/Library/", "cmake/absent.c")


def check_include_style(files):
    """One style everywhere: an include names a file from the root of the repository, or below include/."""
    known = set(files)
    for name in filter(is_code, files):
        if name.startswith(COMPILED_ELSEWHERE) or name.endswith(".td"):
            continue
        for number, included in quoted_includes(name):
            if included in known or f"include/{included}" in known or WRITTEN.search(included) or OF_LIBRARIES.match(included):
                continue
            yield f'{name}:{number}: includes "{included}"; expected the path from the root of the repository, or below include/'


def check_command_line_options(files):
    for name in filter(is_code, files):
        if name.startswith("tools/") or name.startswith("test/"):
            continue
        if re.search(r"\bcl::(opt|list|bits|alias)\b|llvm/Support/CommandLine\.h", read(name)):
            yield f"{name}: command line options belong to tools/; expected an options struct"


def check_library_output(files):
    """No exit and no printing from libraries: callers own the process and its streams."""
    pattern = re.compile(r"\bstd::(cout|cerr)\b|\bllvm::(outs|errs)\(\)|\b(exit|abort|_exit)\s*\(")
    for name in filter(is_code, files):
        if not name.startswith("runtime/") or "/cts/" in name:
            continue
        for number, line in enumerate(read(name).splitlines(), 1):
            if pattern.search(line.split("//")[0]):
                yield f"{name}:{number}: a library neither prints nor ends the process: {line.strip()}"


def check_null_json(files):
    """nlohmann-json 3.11.2 turns a null into an object or array before it has memory for it: where there
    is none, the destructor follows a null pointer. Found by the injection of faults."""
    pattern = re.compile(r"^\s*(nlohmann::(ordered_)?json|Json) \w+(;|\{\};)")
    for name in filter(is_code, files):
        if not name.startswith("runtime/"):
            continue
        for number, line in enumerate(read(name).splitlines(), 1):
            if pattern.search(line):
                yield f"{name}:{number}: a null value; expected Json::object() or Json::array(): {line.strip()}"


def check_licence(files):
    for name in files:
        if not (is_code(name) or name.endswith(SCRIPTS) or name.startswith("scripts/")):
            continue
        head = "\n".join(read(name).splitlines()[:3])
        if LICENCE not in head:
            yield f"{name}: the first lines lack '{LICENCE}'"


def check_machine_paths(files):
    """Nothing that only one machine has: a clone must work anywhere."""
    # Put together so that this file does not match itself.
    patterns = ["/" + "work/", "/" + "root/", "/ho" + "me/[a-z]", "/tmp/" + "land", r"\.inter" + r"nal\b"]
    pattern = re.compile("|".join(rf"(?<![\w.])({p})" for p in patterns))
    for name in filter(is_text, files):
        for number, line in enumerate(read(name).splitlines(), 1):
            if pattern.search(line):
                yield f"{name}:{number}: a path of one machine: {line.strip()[:120]}"


def check_file_length(files):
    for name in filter(is_code, files):
        lines = read(name).count("\n")
        if lines > 500:
            yield f"{name}: {lines} lines; a file holds one noun or verb, at most 500 lines"
        if re.search(r"utils?\.|helpers?\.|misc\.", os.path.basename(name).lower()):
            yield f"{name}: the name says nothing; expected the noun or verb that it holds"


# A class holds one noun, at most so many methods.
MOST_METHODS = 25


def without_text(code):
    """Code without comments, and with literals and preprocessor lines emptied."""
    code = re.sub(r'R"\((.|\n)*?\)"', '""', code)
    code = re.sub(r'"(\\.|[^"\\\n])*"|//[^\n]*|/\*(.|\n)*?\*/', lambda m: '""' if m[0][0] == '"' else "", code)
    code = re.sub(r"'(\\.|[^'\\\n])'", "0", code)
    return re.sub(r"^\s*#(.*\\\n)*.*$", "", code, flags=re.M)


def class_bodies(code):
    """(name, text between the braces) of each class and struct, nested ones too."""
    for match in re.finditer(r"\b(?:class|struct)\s+(?:\[\[[^]]*\]\]\s*)?([A-Za-z_][\w:]*)(?:\s+final)?\s*(?::[^;{(]*)?\{", code):
        depth, at = 1, match.end()
        while depth and at < len(code):
            depth += {"{": 1, "}": -1}.get(code[at], 0)
            at += 1
        yield match.group(1), code[match.end() : at - 1]


def count_methods(body, name):
    """Functions that a class declares: constructors and what is nested are left out."""
    flat, depth = [], 0
    for character in body:
        if character == "}":
            depth -= 1
            if depth == 0:
                flat.append(";")
            continue
        depth += character == "{"
        if depth == 0:
            flat.append(character)
    count = 0
    for declaration in "".join(flat).split(";"):
        # A template's arguments and those of the function itself name no function.
        declaration = re.sub(r"\b(public|private|protected)\s*:", "", declaration)
        previous = None
        while previous != declaration:
            previous, declaration = declaration, re.sub(r"<[^<>()]*>", "", declaration)
        match = re.search(r"(operator\s*\S+?|~?\w+)\s*\(", declaration)
        if not match or match.group(1).lstrip("~") == name.rpartition("::")[2]:
            continue
        before = declaration[: match.start()]
        if "=" in before or re.search(r"\b(friend|using|enum|struct|class|static_assert)\b", before) or not before.strip():
            continue
        count += 1
    return count


def check_class_size(files):
    """Methods per class, wherever they are defined: the header declares all of them."""
    for name in filter(is_code, files):
        if not name.startswith(("runtime/", "lib/", "dialects/", "tools/")) or name.endswith(".td"):
            continue
        for class_name, body in class_bodies(without_text(read(name))):
            methods = count_methods(body, class_name)
            if methods > MOST_METHODS:
                yield f"{name}:{class_name}: {methods} methods; expected at most {MOST_METHODS}: split it along nouns"


def check_tool_length(files):
    """Tools are thin mains over libraries."""
    for name in files:
        folder, _, base = name.rpartition("/")
        if name.startswith("tools/") and base == os.path.basename(folder) + ".cpp":
            lines = read(name).count("\n")
            if lines > 60:
                yield f"{name}: {lines} lines; expected a main of at most 60 over a library"


def check_format(files):
    names = [name for name in files if name.endswith((".h", ".c", ".cpp"))]
    if not names:
        return
    result = subprocess.run(
        ["clang-format-22", "--dry-run", "--Werror", *names], cwd=ROOT, capture_output=True, text=True
    )  # fmt: skip
    if result.returncode != 0:
        wrong = sorted(set(re.findall(r"^(\S+?):\d+:\d+: error:", result.stderr, re.M)))
        for name in wrong:
            yield f"{name}: not formatted; run clang-format-22 -i {name}"
        if not wrong:
            yield f"clang-format-22 failed: {result.stderr[:500]}"


def check_shell(files):
    names = [
        name
        for name in files
        if name.endswith(".sh") or read_first_line(name).startswith(("#!/bin/bash", "#!/bin/sh"))
    ]
    result = subprocess.run(["shellcheck", *names], cwd=ROOT, capture_output=True, text=True)
    if result.returncode != 0:
        yield from result.stdout.splitlines()[:40]


def read_first_line(name):
    with open(os.path.join(ROOT, name), "rb") as handle:
        return handle.readline(200).decode(errors="replace")


# Some machines have files beside the repository. Models of other people are read there, in one
# file, and never copied; everything else that tests read is part of the repository.
READER = "test/places.py"
OUTSIDE = re.compile(r"MPC_SHARED|\.\./shared\b|\bshared/(?:fixtures|models|cases)\b|dirname [^)]*\)\"?/shared\b|[%$]\{?shared\b")
# A layer may have the name.
OUTSIDE_IN_PYTHON = re.compile(OUTSIDE.pattern + r"|(?<!name=)[\"']shared[\"']")
OF_OTHERS = {"sleepecg.keras", "dgaintel.h5", "fw_silero_v6.onnx", "dnsmos_v8.onnx"}


def check_what_is_read_from_outside(files):
    for name in files:
        if os.path.basename(name) in OF_OTHERS or name.startswith("shared/"):
            yield f"{name}: a model of other people; expected it beside the repository, never in it"
        runs = name.startswith(("test/", "scripts/", "cmake/", "benchmarks/", "python/", ".ci/")) or name.endswith("CMakeLists.txt")
        if not runs or name.endswith(".md") or name in (READER, "test/Checks/sources.py") or not is_text(name):
            continue
        pattern = OUTSIDE_IN_PYTHON if name.endswith(".py") else OUTSIDE
        for number, line in enumerate(read(name).splitlines(), 1):
            if pattern.search(line):
                yield f"{name}:{number}: reads what is not in the repository; expected places.models() of {READER} or the fixtures that CMake unpacks"


# One style of namespaces per tree: importers and exporters write blocks, the rest of the compiler `using`.
BLOCKS_OF_NAMESPACES = ("lib/Import/Keras/", "lib/Import/Common/", "lib/Export/")


def check_namespace_style(files):
    for name in files:
        if not name.startswith("lib/") or not name.endswith(".cpp"):
            continue
        text = read(name)
        if name.startswith(BLOCKS_OF_NAMESPACES):
            if re.search(r"^using namespace mpc\b", text, re.M):
                yield f"{name}: using namespace; expected a block, as the files around have"
        elif not name.startswith("lib/Import/"):
            # A pass's base class is generated into the namespace.
            if re.search(r"^namespace mpc\b.*\{", text, re.M) and "GEN_PASS_DEF" not in text:
                yield f"{name}: a block of namespace mpc; expected `using namespace mpc`, as the files around have"


# Machines of others call the scripts that everybody calls.
CALLERS = {
    ".github/workflows/test.yml": {"scripts/build", "scripts/test"},
    ".devcontainer/devcontainer.json": {"scripts/install-packages", "scripts/build"},
}


def check_what_other_machines_call(files):
    for name, expected in CALLERS.items():
        if name not in files:
            yield f"{name}: is missing; expected a file that calls {', '.join(sorted(expected))}"
            continue
        text = re.sub(r"^\s*(#|//).*$", "", read(name), flags=re.M)
        called = set(re.findall(r"\bscripts/[\w-]+", text))
        for script in sorted(expected - called):
            yield f"{name}: does not call {script}"
        for script in sorted(called):
            if not os.access(os.path.join(ROOT, script), os.X_OK):
                yield f"{name}: calls {script}, which is no program"


CHECKS = [
    check_dependency_direction,
    check_include_style,
    check_command_line_options,
    check_library_output,
    check_null_json,
    check_licence,
    check_machine_paths,
    check_file_length,
    check_class_size,
    check_tool_length,
    check_namespace_style,
    check_format,
    check_shell,
    check_what_is_read_from_outside,
    check_what_other_machines_call,
]


def main():
    files = repository_files()
    failed = 0
    for check in CHECKS:
        errors = list(check(files))
        failed += bool(errors)
        name = check.__name__.replace("check_", "").replace("_", " ")
        print(f"{'FAIL' if errors else 'ok  '}  {name}")
        for error in errors:
            print(f"    {error}")
    print(f"ran {len(CHECKS)} tests")
    return 1 if failed or len(files) < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
