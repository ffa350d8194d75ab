#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Man page and shell completions of a tool, from what its --help says: describe-tool.py TOOL VERSION FOLDER

Writes TOOL.1.gz, TOOL.bash, _TOOL (zsh) and TOOL.fish. The option tables of the tools are the only source: what
is written here is made with every build, and never by hand.
"""
import gzip
import os
import re
import subprocess
import sys


class Option:
    def __init__(self, name, value, text):
        self.name, self.value, self.text, self.choices = name, value, text, []
        self.is_optional = value.startswith("[=")  # then only what follows "=" is the value
        inner = re.search("<(.*)>", value)
        words = re.sub(r"\[[^\]]*\]", "", inner[1] if inner else value.strip("[]= ")).split("|")
        self.takes_files = "FILE" in words
        if len(words) > 1 and all(re.fullmatch(r"[\w.-]+(:[A-Z]+)*", word) for word in words):
            words = [word for word in words if not word.isupper()]  # N and FILE stand for values
            self.choices = [re.sub("(:[A-Z]+)+$", ":0" if name == "--device" else ":", word) for word in words]


def help_of(*command):
    environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0", COLUMNS="100", LC_ALL="C.UTF-8")
    result = subprocess.run([*command, "--help"], capture_output=True, text=True, env=environment, errors="replace")
    if result.returncode:
        sys.exit(f"describe-tool: error: {' '.join(command)} --help ended with {result.returncode}: {result.stderr}")
    return result.stdout


def options_of(text):
    """Lines of LLVM's tables, `  --name=<value>   - text` with `    =choice` below, and of mpc-run's,
    `  --name VALUE   text`."""
    options = []
    for line in text.splitlines():
        found = re.match(r"  (--?[A-Za-z][\w-]*)(.*)", line)
        choice = re.match(r"    =(\S+)\s+-", line)
        if found:
            name, rest = found.groups()
            parts = re.match(r"((?:\[?=\S+|\s<[^>]*>)?)\s+-\s+(.*)", rest)
            parts = parts or re.match(r"((?:\S+| \S+)?)(?:\s{2,}|$)(.*)", rest) or re.match(r"( \S+)\s(.*)", rest)
            options.append(Option(name, parts[1] if parts else "", parts[2] if parts else rest.strip()))
        elif choice and options:
            options[-1].choices.append(choice[1])
    return options


def commands_of(text):
    """Those of mpc-run: `  name   text` below the usage."""
    return dict(re.findall(r"^  ([a-z]+) {2,}(\S.*)$", text, re.M)) if "COMMAND" in text else {}


def roff(text):
    return "".join("\\e" if c == "\\" else "\\-" if c == "-" else c for c in text).replace("\n.", "\n\\&.").replace("\n'", "\n\\&'")


def man_page(name, version, text, commands, helps):
    def section(title, options):
        lines = [f".SH {title}"]
        for option in options:
            lines += [".TP", f"\\fB{roff(option.name)}\\fR{roff(option.value)}", "\\&" + roff(option.text)]
            if option.choices and "|" not in option.value:
                lines += [".br", roff("One of: " + ", ".join(option.choices) + ".")]
        return lines

    first = next(line for line in text.splitlines() if line.strip())
    summary = re.sub(rf"^(OVERVIEW: )?({re.escape(name)}: )?", "", first).strip()
    usage = next((line.split(":", 1)[1].strip() for line in text.splitlines() if line.lower().startswith("usage:")), name)
    lines = [f'.TH {name.upper()} 1 "" "mpc {version}" "User commands"', ".SH NAME", f"{roff(name)} \\- {roff(summary)}",
             ".SH SYNOPSIS", f".B {roff(usage)}"]  # fmt: skip
    examples = re.search(r"^examples?:\n((?:  .*\n)+)", text, re.M | re.I)
    if commands:
        lines.append(".SH COMMANDS")
        for command, what in commands.items():
            lines += [".TP", f"\\fB{roff(command)}\\fR", roff(what)]
        for command in commands:
            lines += section(f"OPTIONS OF {command.upper()}", options_of(helps[command]))
    else:
        lines += section("OPTIONS", options_of(text))
    if examples:
        lines += [".SH EXAMPLES", ".nf", roff(examples[1].rstrip()), ".fi"]
    lines += [".SH EXIT STATUS", roff("0 done; 1 the input is wrong or unsupported; 2 usage; 3 internal error; 130, 143 after a signal.")]
    return "\n".join(lines) + "\n"


def word(option):
    return option.name + ("=" if option.value.startswith("=") else "")


def bash_pattern(option):
    return f"{option.name}=" if option.is_optional else f"{option.name} | {option.name}="


def bash_function(function, options, indent=""):
    """Sets `words` for the option before the cursor, or all options."""
    lines = [f'{indent}case "$option$equals" in']
    lines += [f"{indent}  {bash_pattern(o)}) words='{' '.join(o.choices)}'{' files=1' if o.takes_files else ''} ;;" for o in options if o.choices]
    lines += [f"{indent}  *) case \"$word\" in -*) words='{' '.join(word(o) for o in options)}' ;; esac ;;", f"{indent}esac"]
    return lines


def bash_completion(name, text, commands, helps):
    function = "_" + name.replace("-", "_")
    lines = [f"# bash completion of {name}; generated from its --help", f"{function}() {{",
             '  local word="${COMP_WORDS[COMP_CWORD]}" option="${COMP_WORDS[COMP_CWORD-1]}" words= files= equals=',
             '  if [ "$word" = = ]; then word= equals==; elif [ "$option" = = ]; then option="${COMP_WORDS[COMP_CWORD-2]}" equals==; fi']  # fmt: skip
    if commands:
        lines += [f'  if [ "$COMP_CWORD" = 1 ]; then words=\'{" ".join(commands)}\'; else', '    case "${COMP_WORDS[1]}" in']
        for command in commands:
            lines += [f"    {command})", *bash_function(function, options_of(helps[command]), "      "), "      ;;"]
        lines += ["    esac", "  fi"]
    else:
        lines += bash_function(function, options_of(text), "  ")
    # Only files are quoted for the shell: it would quote the "=" of options, too.
    lines += ['  if [ -n "$words" ]; then COMPREPLY=($(compgen -W "$words" -- "$word")); else files=1; fi',
              '  [ -z "$files" ] || { compopt -o filenames 2>/dev/null; mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$word"); }',
              '  [[ "${COMPREPLY[0]}" == *= || "${COMPREPLY[0]}" == *: ]] && compopt -o nospace 2>/dev/null',
              "  return 0", "}", f"complete -F {function} {name}"]  # fmt: skip
    return "\n".join(lines) + "\n"


def zsh_arguments(options):
    def quote(text):
        return text.replace("'", "").replace("[", "(").replace("]", ")").replace(":", ";").replace("\\", "")

    def escape(action):
        """A colon would end it."""
        return action.replace(":", r"\:")

    specs = []
    for option in options:
        spec = f"{option.name}=-[{quote(option.text)}]:" if option.is_optional else f"{word(option)}[{quote(option.text)}]"
        if option.value:
            words = f"({' '.join(option.choices)})"
            both = f'{{_alternative "words:value:{words}" "files:file:_files"}}'
            spec += ":value:" + escape("_files" if not option.choices else both if option.takes_files else words)
        specs.append(f"'{spec}'")
    return " \\\n    ".join(["_arguments", *specs, "'*:file:_files'"])


def zsh_completion(name, text, commands, helps):
    lines = [f"#compdef {name}", f"# generated from {name} --help"]
    if commands:
        lines += ["if (( CURRENT == 2 )); then", f"  _values command {' '.join(commands)}", "  return", "fi",
                  "shift words; (( CURRENT-- ))", 'case "$words[1]" in']  # fmt: skip
        lines += [f"{command})\n  {zsh_arguments(options_of(helps[command]))} ;;" for command in commands]
        lines.append("esac")
    else:
        lines.append(zsh_arguments(options_of(text)))
    return "\n".join(lines) + "\n"


def fish_completion(name, text, commands, helps):
    def quote(text):
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def lines_of(options, condition=""):
        for option in options:
            dashes = "-l" if option.name.startswith("--") else "-s" if len(option.name) == 2 else "-o"
            kind = "" if option.is_optional or not option.value else " -x" if option.choices and not option.takes_files else " -r"
            values = kind + (f" -a {quote(' '.join(option.choices))}" if option.choices else "")
            yield f"complete -c {name}{condition} {dashes} {option.name.lstrip('-')}{values} -d {quote(option.text)}"

    lines = [f"# fish completion of {name}; generated from its --help"]
    for command, what in commands.items():
        lines.append(f"complete -c {name} -n __fish_use_subcommand -f -a {command} -d {quote(what)}")
        lines += lines_of(options_of(helps[command]), f" -n '__fish_seen_subcommand_from {command}'")
    if not commands:
        lines += lines_of(options_of(text))
    return "\n".join(lines) + "\n"


def main():
    tool, version, folder = sys.argv[1:]
    name = os.path.basename(tool)
    text = help_of(tool)
    commands = commands_of(text)
    helps = {command: help_of(tool, command) for command in commands}
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name + ".1.gz"), "wb") as file:
        file.write(gzip.compress(man_page(name, version, text, commands, helps).encode(), mtime=0))
    for path, make in [(name + ".bash", bash_completion), ("_" + name, zsh_completion), (name + ".fish", fish_completion)]:
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.write(make(name, text, commands, helps))


if __name__ == "__main__":
    main()
