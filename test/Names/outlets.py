#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What left the tools, read by parsers that are not mpc's."""

import csv
import io
import json
import re
import struct
import unicodedata
import zipfile

import numpy


def check_shown(text, what, breaks="\n"):
    """Bytes that a terminal shows and does not act upon."""
    # Each character once: texts have megabytes.
    for character in sorted(set(text.decode("utf-8", errors="strict"))):
        hidden = unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        assert character in breaks or not hidden, f"{what}: U+{ord(character):04x} gets out"


def check_messages(text, what):
    """Each line is a message of its own, none is forged by a name."""
    check_shown(text, what)
    for line in text.decode().splitlines():
        assert re.match(r"(error|warning|note): ", line), f"{what}: the line {line[:100]!r}"
        assert not line.startswith("error: forged"), what


def read_json(text, what):
    check_shown(text, what, "\n\t")

    def once(pairs):
        assert len(dict(pairs)) == len(pairs), f"{what}: a key is there twice"
        return dict(pairs)

    return json.loads(text.decode(), object_pairs_hook=once)


def check_npz(path):
    """A sound archive whose members stay in the folder that they are extracted to; its names."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        names = archive.namelist()
    assert len(set(names)) == len(names)
    for name in names:
        check_shown(name.encode(), path)
        parts = name.split("/")
        assert len(name.encode()) <= 65535 and "\\" not in name and not re.match("[A-Za-z]:", name), repr(name)
        assert all(part.strip(". ") for part in parts), repr(name)
    with numpy.load(path, allow_pickle=False) as arrays:
        for name in arrays.files:
            arrays[name]
    return [name[: -len(".npy")] for name in names]


def check_csv(path, rows):
    with open(path, "rb") as handle:
        text = handle.read()
    check_shown(text, path)
    table = list(csv.reader(io.StringIO(text.decode(), newline=""), strict=True))
    assert len(table) == rows + 1, f"{path}: {len(table)} lines"
    assert {len(row) for row in table} == {len(table[0])}
    assert len(set(table[0])) == len(table[0]), "two columns of one name"
    assert not [cell for cell in table[0] if cell[:1] in tuple("=+-@")]


def check_events(path, epochs):
    """TFRecords of Event messages: every tag is text that is shown, and there once per epoch."""
    with open(path, "rb") as handle:
        data = handle.read()
    tags = []
    while data:
        (length,) = struct.unpack_from("<Q", data)
        tags += tags_of(data[12 : 12 + length])
        data = data[12 + length + 4 :]
    assert tags and {tags.count(tag) for tag in tags} == {epochs}, "two metrics of one tag"
    for tag in tags:
        check_shown(tag, path)


def fields(message):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(message):
        key = varint()
        size = {0: 0, 1: 8, 5: 4}.get(key & 7)
        if size is None:
            size = varint()
        elif size == 0:
            varint()
        yield key >> 3, message[at : at + size]
        at += size


def tags_of(event):
    return [tag for number, summary in fields(event) if number == 5
            for inner, value in fields(summary) if inner == 1
            for name, tag in fields(value) if name == 1]  # fmt: skip


def check_dot(text):
    """DOT's tokens, of which quoted strings have no line break; brackets pair."""
    check_shown(text, "DOT")
    token = re.compile(r'\s+|[A-Za-z_0-9.]+|"(?:[^"\\\n]|\\.)*"|->|[{}\[\]=,;]')
    depth = at = 0
    source = text.decode()
    while at < len(source):
        found = token.match(source, at)
        assert found, f"DOT: no token at {source[at : at + 60]!r}"
        depth += {"{": 1, "}": -1}.get(found.group(), 0)
        at = found.end()
    assert depth == 0
