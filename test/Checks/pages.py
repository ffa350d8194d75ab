#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the pages are true as far as can be seen without running what they show (that is
test/Install/pages.py): links and paths lead somewhere, options, passes, functions and variables of the
environment exist, no option of a tool is left untold, tables of contents are whole, numbers are those of
the tests, and --help of a script is what its head says. Takes the build folder."""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import pages  # noqa: E402  pylint: disable=wrong-import-position

ROOT = pages.ROOT
COMMANDS = ["predict", "evaluate", "train", "gradients", "compare", "numerics", "bench", "tune", "devices", "inspect"]
TOOLS = ["mpcc", "mpc-convert", "mpc-opt", "mpc-translate", "mpc-reduce", "mpc-lsp-server", "mpc-check-certificate"]
FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")
# Options of other people's programs.
FOREIGN = {"--benchmark_out", "--benchmark_enable_random_interleaving", "--split-compile", "--build", "--install", "--prefix", "--cflags", "--libs", "--variable"}
# Options that LLVM gives every tool.
GENERAL = {"--help", "--help-list", "--help-hidden", "--help-list-hidden", "--version", "--print-options", "--print-all-options"}
# Variables that only tests and machines in them set.
TESTS_OWN = re.compile(r"MPC_CTS_|MPC_FAKE_|MPC_MATH_|TERM$|DNNL_MAX_CPU_ISA$")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", stdin=subprocess.DEVNULL, check=True, timeout=60)


def listed(*patterns):
    text = run("git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", *patterns).stdout
    return [name for name in text.splitlines() if os.path.isfile(os.path.join(ROOT, name))]


def anchor(heading):
    heading = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", re.sub(r"[`*]", "", heading.strip().lower()))
    return re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", heading))


def spans(name):
    """Code in the prose of a page: what stands in backticks."""
    return re.findall(r"`([^`\n]+)`", re.sub(r"^ *```.*?^ *```", "", pages.read(name), flags=re.M | re.S))


class Checks:
    def __init__(self, build):
        self.files = listed()
        self.pages = pages.names()
        self.current = [name for name in self.pages if name != "CHANGELOG.md"]  # what was, may be gone
        self.text = {name: pages.read(name) for name in self.pages}
        tool = os.path.join(build, "bin", "")
        self.mpcc = tool + "mpcc"
        self.help = {name: run(tool + name, "--help").stdout for name in TOOLS}
        self.help.update({f"mpc-run {name}": run(tool + "mpc-run", name, "--help").stdout for name in COMMANDS})
        self.flags = {name: set(FLAG.findall(text)) for name, text in self.help.items()}

    def check_links(self):
        for name in listed("*.md"):
            for target in re.findall(r"\]\(([^)\s]+)\)", pages.read(name)):
                path, _, place = target.partition("#")
                path = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
                if target.startswith("http"):
                    continue
                if not os.path.exists(os.path.join(ROOT, path)):
                    yield f"{name}: the link {target} leads nowhere"
                elif place and place not in map(anchor, re.findall(r"^#+ (.*)$", pages.read(path), re.M)):
                    yield f"{name}: the link {target} leads to no heading"

    def check_paths(self):
        """Paths that begin with a folder of the repository."""
        top = "|".join(sorted({file.split("/")[0] for file in self.files if "/" in file}))
        for name in self.current:
            for path in re.findall(rf"(?<![\w./$(\"-])((?:{top})/[\w./*+-]+)", self.text[name]):
                path = path.rstrip(".-")
                found = glob.glob(os.path.join(ROOT, path)) + glob.glob(os.path.join(ROOT, path + "*"))
                if not found and not glob.glob(os.path.join(ROOT, os.path.dirname(name), path)):
                    yield f"{name}: there is no {path}"

    def check_options(self):
        """Of the tool where one is named in front of it, else of anything in the repository."""
        programs = [name for name in self.files if not name.endswith(".md") and pages.is_text(name)]
        known = set().union(FOREIGN, *self.flags.values(), *(FLAG.findall(pages.read(name)) for name in programs
                            if name.startswith(("scripts/", "benchmarks/", "examples/", "python/", "test/"))))  # fmt: skip
        for name in self.current:
            code = spans(name) + [line for block in pages.blocks(name) for line in block.text.replace("\\\n", " ").splitlines()]
            for flag in FLAG.findall(self.text[name]):
                if flag not in known:
                    yield f"{name}: nothing has the option {flag}"
            for command in (part for line in code for part in re.split(r"\||&&|;|  #", line)):
                tool = re.match(r"\$? ?(mpc-run \w+|mpc[\w-]+)\b", command.strip())
                if tool and tool[1] in self.flags:
                    for flag in set(FLAG.findall(command)) - self.flags[tool[1]] - GENERAL:
                        yield f"{name}: {tool[1]} has no option {flag}"

    def check_untold_options(self):
        told = set(FLAG.findall("\n".join(self.text[name] for name in self.current)))
        for tool in ["mpcc", "mpc-convert", *(name for name in self.flags if name.startswith("mpc-run"))]:
            for flag in sorted(self.flags[tool] - told - GENERAL):
                yield f"{tool} {flag}: no page tells of it; expected docs/tools.md or docs/training.md to"

    def check_passes(self):
        known = set(re.findall(r"--([\w-]+)", self.help["mpc-opt"])) | set(TOOLS) | {"mpc-run", "mpc-tools", "mpc-runtime", "mpc-runtime-static", "mpc-rt"}
        # Categories of remarks, columns of benchmarks, programs that are built for tests.
        known |= {word for name in self.files if name.startswith(("lib/", "benchmarks/")) and pages.is_text(name)
                  for word in re.findall(r"[\"(](mpc-[a-z0-9-]+)", pages.read(name))}  # fmt: skip
        for name in self.current:
            for word in {word for span in spans(name) for word in re.findall(r"(?<![\w/.-])(?:mpc|convert)-[a-z0-9-]+\b(?![-/])", span)}:
                if word not in known:
                    yield f"{name}: there is no pass or tool {word}"

    def check_functions(self):
        with tempfile.TemporaryDirectory() as folder:
            model = os.path.join(ROOT, "examples", "c_predict", "blobs.json")
            run(self.mpcc, model, "-q", "--name=NAME", "-o", folder)
            header = pages.read(os.path.join(folder, "NAME.h"))
        interface = "".join(pages.read(name) for name in self.files if name.startswith("include/mpc-rt/"))
        for name in self.current:
            for word in {word for span in spans(name) for word in re.findall(r"\b(?:NAME_[a-z]|mpc_rt_)\w+", span)}:
                if word.startswith("NAME_") and word not in header:
                    yield f"{name}: no header that mpcc writes has {word}"
                elif word.startswith("mpc_rt_") and word not in interface:
                    yield f"{name}: include/mpc-rt has no {word}"

    def check_environment(self):
        read = {variable for name in self.files if name.startswith(("lib/", "tools/", "runtime/", "python/mpc/")) and "/cts/" not in name
                for variable in re.findall(r"(?:getenv|GetEnv|environ\.get)\(\s*\"(\w+)\"", pages.read(name))}  # fmt: skip
        sources = "".join(pages.read(name) for name in self.files if not name.endswith(".md") and pages.is_text(name))
        for variable in sorted(read):
            if not TESTS_OWN.match(variable) and variable not in self.text["docs/tools.md"]:
                yield f"docs/tools.md: {variable} is read and not told"
        for name in self.current:
            for variable in set(re.findall(r"\bMPC_[A-Z_]+\b", self.text[name])):
                if variable not in sources:
                    yield f"{name}: nothing knows {variable}"

    def check_contents(self):
        """Each page is reached from the README, each decision stands in the list under its own title and
        links what was measured for it."""
        for name in self.pages:
            folder, base = os.path.split(name)
            if folder == "docs" and f"](docs/{base})" not in self.text["README.md"]:
                yield f"README.md: has no link to {name}"
            if folder == "docs/decisions" and base != "README.md":
                number, title = re.match(r"# (\d{4}) (.*)\n", self.text[name]).groups()
                if f"| [{number}]({base}) | {title} |" not in self.text["docs/decisions/README.md"]:
                    yield f"docs/decisions/README.md: has no row '| [{number}]({base}) | {title} |'"
        for name in listed("benchmarks/results/*/notes.md"):
            for heading, number in re.findall(r"^## (.*\((\d{4})\))$", pages.read(name), re.M):
                if not any(f"{name}#{anchor(heading)})" in text for page, text in self.text.items() if f"docs/decisions/{number}-" in page):
                    yield f"{name}: decision {number} has no link to '{heading}'"
        for folder in sorted({name.split("/")[1] for name in self.files if re.match(r"examples/\w+/", name)}):
            if f"`{folder}`" not in self.text["examples/README.md"]:
                yield f"examples/README.md: does not name {folder}"

    def check_numbers(self):
        with open(os.path.join(ROOT, "test", "Conformance", "supported.json"), encoding="utf-8") as handle:
            numbers = [f"{count} `{kind}`" for kind, count in json.load(handle)["expected_cases"].items()]
        for page in ("operations", "layers"):
            numbers.append(re.findall(r"^(\d+ of )(\d+)\.$", pages.read(f"docs/generated/{page}.md"), re.M)[0])
        for number in numbers:
            if (number if isinstance(number, str) else "the ".join(number)) not in self.text["README.md"]:
                yield f"README.md: does not say {''.join(number)}"

    def check_blocks(self):
        for name in self.pages:
            for block in pages.blocks(name):
                by = block.markers.get("run by")
                if by and (not os.path.exists(os.path.join(ROOT, by)) or name not in pages.read(by) and "run_readme" not in pages.read(by)):
                    yield f"{name}:{block.line}: {by} does not run it"
                if block.language not in ("sh", "console", "text") and not block.markers:
                    yield f"{name}:{block.line}: a block in '{block.language}' is neither run nor said to be not run"
            if re.search(r"\n\n    \S", self.text[name]):
                yield f"{name}: an indented block; fences say what is in one"

    def check_help_of_scripts(self):
        for name in listed("scripts/*", "examples/train-fashion"):
            text = pages.read(name)
            if not text.startswith("#!/bin/bash"):
                continue
            head = re.match(r"#!.*\n#.*\n#\n((?:#.*\n)+)", text)[1]
            if run(os.path.join(ROOT, name), *["a", "1", "labels"][: 3 * (name[0] == "e")], "--help").stdout != re.sub(r"^# ?", "", head, flags=re.M):
                yield f"{name}: --help does not print the comment at its head"


def main():
    checks = Checks(os.path.abspath(sys.argv[1]))
    names = sorted(name for name in dir(checks) if name.startswith("check_"))
    failed = False
    for name in names:
        errors = list(dict.fromkeys(getattr(checks, name)()))
        failed |= bool(errors)
        print(f"{'FAIL' if errors else 'ok  '}  {name[6:].replace('_', ' ')}", *errors, sep="\n    ")
    print(f"ran {len(names)} tests")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
