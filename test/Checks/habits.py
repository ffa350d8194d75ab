#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the worst habits of this repository's English, and lets their numbers only fall: blocks of
comments that begin with "Of …" or "What …", which are no sentences with a subject, decision pages of
more than 250 words, and sentences and rows of tables in pages that are too long. habits.json holds the
numbers. Who has brought one down writes the new one there:

  test/Checks/habits.py [--write | --list]
"""

import json
import os
import re
import sys

import sources

HERE = os.path.dirname(os.path.abspath(__file__))
NUMBERS = os.path.join(HERE, "habits.json")
COMMENT = {".cpp": "//", ".h": "//", ".c": "//", ".td": "//", ".inc": "//", ".def": "//", ".py": "#", ".sh": "#", ".cmake": "#", ".txt": "#"}
WORDS = 250
# Pages by hand, but for the list of changes and the first page, which are denser.
PAGES = re.compile(r"(?!CHANGELOG|README|docs/generated/|benchmarks/results/(?!.*/(README|notes)\.md)|examples/\w+/accuracy).*\.md")
SENTENCE, ROW = 35, 50


def first_lines(name):
    """(line number, text) of the first line of each block of comments."""
    mark = COMMENT[os.path.splitext(name)[1]]
    inside = False
    for number, line in enumerate(sources.read(name).splitlines(), 1):
        match = re.match(rf"\s*{mark}+!?\s?(.*)", line)
        text = match.group(1).strip() if match else ""
        # The line of the licence and an empty one begin no block.
        if match and not inside and text and "SPDX-License-Identifier" not in text and not text.startswith("!"):
            yield number, text
        inside = bool(match) and bool(text) and "SPDX-License-Identifier" not in text


def sentences(text):
    """Sentences of a page, without fences, comments, tables and headings; an item of a list begins one."""
    text = re.sub(r"^ *```.*?^ *```$|<!--.*?-->|^ *[|#].*?$", "", text, flags=re.M | re.S)
    text = re.sub(r"\]\([^)\s]*\)", "]", text)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.)\s)", text):
        yield from (sentence.split() for sentence in re.split(r"(?<=[.!?])[)*\"]*\s+", paragraph))


def long_passages(text):
    """Sentences and rows of a page that are too long, by their habit."""
    rows = [row.replace("|", " ") for row in re.findall(r"^ *\|.*$", re.sub(r"^ *```.*?^ *```$", "", text, flags=re.M | re.S), re.M)]
    return {
        f"sentences over {SENTENCE} words": [words for words in sentences(text) if len(words) > SENTENCE],
        f"rows of tables over {ROW} words": [row.split() for row in rows if len(row.split()) > ROW],
    }


def habits(files):
    """Places of each habit."""
    found = {"comments that begin with Of": [], "comments that begin with What": [], f"decision pages over {WORDS} words": []}
    found.update((habit, []) for habit in long_passages(""))
    for name in files:
        if os.path.splitext(name)[1] in COMMENT and (not name.endswith(".txt") or name.endswith("CMakeLists.txt")):
            for number, text in first_lines(name):
                for word in ("Of", "What"):
                    if re.match(rf"{word}\b(?!.*\?)", text):
                        found[f"comments that begin with {word}"].append(f"{name}:{number}: {text}")
        if re.fullmatch(r"docs/decisions/\d{4}-.*\.md", name):
            words = len(sources.read(name).split())
            if words > WORDS:
                found[f"decision pages over {WORDS} words"].append(f"{name}: {words} words")
        if PAGES.fullmatch(name):
            for habit, passages in long_passages(sources.read(name)).items():
                found[habit] += [f"{name}: {len(words)} words: {' '.join(words[:8])} …" for words in passages]
    return found


def main():
    found = habits(sources.repository_files())
    if "--list" in sys.argv:
        print("\n".join(place for places in found.values() for place in places))
        return 0
    counts = {habit: len(places) for habit, places in found.items()}
    if "--write" in sys.argv:
        with open(NUMBERS, "w") as handle:
            json.dump(counts, handle, indent=2)
            handle.write("\n")
        return 0
    with open(NUMBERS) as handle:
        allowed = json.load(handle)
    failed = 0
    for habit, count in counts.items():
        if count > allowed[habit]:
            failed += 1
            print(f"error: {habit}: {count}, at most {allowed[habit]} expected; write sentences with a subject, and short pages, sentences and rows; --list shows all places")
        else:
            print(f"ok    {habit}: {count}" + (f", before {allowed[habit]}: --write keeps it so" if count < allowed[habit] else ""))
    print(f"ran {len(counts)} tests")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
