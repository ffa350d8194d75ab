#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Presses the tab key in bash and zsh, on a terminal, and asks fish what it would offer: of the completions that were
made of what the tools say (cmake/describe-tool.py). Usage: completions.py DESCRIBED"""

import os
import pty
import select
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from commands import Failure  # noqa: E402  pylint: disable=wrong-import-position
import named_tests  # noqa: E402  pylint: disable=wrong-import-position

# A line that is typed, and what it is behind the tab.
LINES = {
    "mpcc --po": "mpcc --policy=",
    "mpcc --policy=mi": "mpcc --policy=mixed_",
    "mpcc --policy=mixed_b": "mpcc --policy=mixed_bfloat16 ",
    "mpcc --policy=mod": "mpcc --policy=model.keras ",
    "mpcc --policy mixed_b": "mpcc --policy mixed_bfloat16 ",
    "mpcc --mode=tr": "mpcc --mode=train ",
    "mpcc --target=cu": "mpcc --target=cuda ",
    "mpcc mod": "mpcc model.keras ",
    "mpcc my": r"mpcc my\ model.json ",
    "mpcc --explain mod": "mpcc --explain model.keras ",
    "mpcc --explain=j": "mpcc --explain=json ",
    "mpc-run pred": "mpc-run predict ",
    "mpc-run predict --thr": "mpc-run predict --threads ",
    "mpc-run predict --device cu": "mpc-run predict --device cuda:0 ",
    "mpc-run predict mod": "mpc-run predict model.keras ",
    "mpc-run train --shuffle of": "mpc-run train --shuffle off ",
}
DISCARD, TAB, SHOW = b"\x15", b"\t", b"\x07"  # keys
BASH = """source '{0}/mpcc.bash'; source '{0}/mpc-run.bash'
shown() {{ printf '%s\\n' "$READLINE_LINE" >shown.new; mv shown.new shown; }}; bind -x '"\\C-g": shown'; echo >ready
"""
ZSH = """fpath=('{0}' $fpath); autoload -U compinit; compinit -u -D
shown() {{ print -r -- "$BUFFER" >shown.new; mv shown.new shown }}; zle -N shown; bindkey '^G' shown; echo >ready
"""


class Terminal:
    """A shell that somebody types into, in a folder with some files."""

    def __init__(self, command, folder, settings):
        self.folder, self.output = folder, b""
        self.process, self.screen = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            try:
                os.execvpe(command[0], command, {"PATH": "/usr/bin:/bin", "TERM": "dumb", "HOME": folder, "LC_ALL": "C.UTF-8"})
            finally:
                os._exit(127)
        with open(os.path.join(folder, "settings"), "w", encoding="utf-8") as file:
            file.write(settings)
        os.write(self.screen, b". ./settings\n")
        self.wait("ready")

    def wait(self, name):
        """The content of a file that the shell writes."""
        path = os.path.join(self.folder, name)
        end = time.monotonic() + 60
        while not os.path.exists(path) or not os.path.getsize(path):
            if time.monotonic() > end:
                raise Failure(f"the shell says {self.output.decode(errors='replace')[-1000:]}")
            if select.select([self.screen], [], [], 0.05)[0]:
                try:
                    self.output += os.read(self.screen, 1 << 16)
                except OSError as problem:
                    raise Failure(f"the shell ended: {self.output.decode(errors='replace')[-1000:]}") from problem
        with open(path, encoding="utf-8") as file:
            content = file.read()
        os.remove(path)
        return content

    def completed(self, line):
        os.write(self.screen, DISCARD + line.encode() + TAB + SHOW)
        return self.wait("shown").rstrip("\n")

    def close(self):
        os.write(self.screen, DISCARD + b"exit\n")
        os.close(self.screen)
        os.waitpid(self.process, 0)


class Suite:
    def __init__(self, described):
        self.described = os.path.abspath(described)

    @staticmethod
    def make_files(folder):
        for name in ["model.keras", "my model.json"]:
            with open(os.path.join(folder, name), "w", encoding="utf-8"):
                pass

    def type(self, command, settings):
        with tempfile.TemporaryDirectory() as folder:
            self.make_files(folder)
            terminal = Terminal(command, folder, settings.format(self.described))
            try:
                found = {line: terminal.completed(line) for line in LINES}
            finally:
                terminal.close()
        wrong = [f"'{line}' becomes '{found[line]}', expected '{expected}'" for line, expected in LINES.items() if found[line] != expected]
        if wrong:
            raise Failure("\n".join(wrong))

    def test_bash(self):
        self.type(["bash", "--norc", "--noprofile", "-i"], BASH)

    def test_zsh(self):
        self.type(["zsh", "-f", "-i"], ZSH)

    def test_fish(self):
        """The words that it offers: each goes on with what was typed, and one of them is the expected one."""
        for line, expected in LINES.items():
            with tempfile.TemporaryDirectory() as folder:
                self.make_files(folder)
                script = f"source '{self.described}/mpcc.fish'; source '{self.described}/mpc-run.fish'; complete -C '{line}'"
                result = subprocess.run(["fish", "-c", script], cwd=folder, env={**os.environ, "HOME": folder}, capture_output=True, text=True, check=False)
            offered = [each.split("\t")[0] for each in result.stdout.splitlines()]
            wanted = expected[line.rindex(" ") + 1 :].replace("\\", "").strip(" =")
            if result.returncode or result.stderr or not any(each.replace("\\", "").startswith(wanted) for each in offered):
                raise Failure(f"'{line}': exit {result.returncode}, offered {offered} {result.stderr}; expected {wanted}")


if __name__ == "__main__":
    sys.exit(named_tests.run(named_tests.methods(Suite(sys.argv[1]))))
