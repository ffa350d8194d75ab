# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What a loader reads of an ELF file of 64 bits: dynamic entries, segments, symbols, notes. Formats:
System V ABI, "Object Files"; the property note: x86-64 psABI, 3.1."""

import os
import struct

PT_DYNAMIC, PT_INTERP, PT_GNU_STACK, PT_GNU_RELRO, PT_GNU_PROPERTY = 2, 3, 0x6474E551, 0x6474E552, 0x6474E553
DT_NEEDED, DT_STRTAB, DT_SYMTAB, DT_STRSZ, DT_RPATH, DT_RUNPATH, DT_BIND_NOW, DT_FLAGS, DT_FLAGS_1 = 1, 5, 6, 10, 15, 29, 24, 30, 0x6FFFFFFB
DF_BIND_NOW, DF_1_NOW, DF_1_PIE, DF_TEXTREL, DT_TEXTREL = 8, 1, 0x08000000, 4, 22
ET_EXEC, ET_DYN = 2, 3
PROPERTY_X86_FEATURES, IBT, SHADOW_STACK = 0xC0000002, 1, 2


def is_elf(path):
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    with open(path, "rb") as handle:
        return handle.read(5) == b"\x7fELF\x02"


class Elf:
    def __init__(self, path):
        with open(path, "rb") as handle:
            self.content = handle.read()
        self.type, self.machine = struct.unpack_from("<HH", self.content, 16)
        offset, = struct.unpack_from("<Q", self.content, 32)
        size, count = struct.unpack_from("<HH", self.content, 54)
        self.segments = [struct.unpack_from("<IIQQQQQQ", self.content, offset + i * size) for i in range(count)]
        self.dynamic = []
        for kind, _, start, _, _, length, _, _ in self.segments:
            if kind == PT_DYNAMIC:
                self.dynamic = [struct.unpack_from("<qQ", self.content, start + i) for i in range(0, length, 16)]
        tags = [tag for tag, _ in self.dynamic]
        if 0 in tags:
            self.dynamic = self.dynamic[: tags.index(0)]

    def offset_of(self, address):
        for kind, _, offset, start, _, length, _, _ in self.segments:
            if kind == 1 and start <= address < start + length:
                return offset + address - start
        raise ValueError(f"no segment holds {address:#x}")

    def values(self, wanted):
        return [value for tag, value in self.dynamic if tag == wanted]

    def text(self, index):
        start = self.offset_of(self.values(DT_STRTAB)[0]) + index
        return self.content[start : self.content.index(b"\0", start)].decode()

    def search_path(self):
        """The elements of RPATH and RUNPATH; an empty one is the current folder to the loader."""
        return [part for tag in (DT_RPATH, DT_RUNPATH) for value in self.values(tag) for part in self.text(value).split(":")]

    def undefined_symbols(self):
        """Names that other libraries define: those of .dynsym without a section."""
        offset, = struct.unpack_from("<Q", self.content, 40)
        size, count = struct.unpack_from("<HH", self.content, 58)
        names = set()
        for i in range(count):
            _, kind, _, _, start, length, _, _, _, entry = struct.unpack_from("<IIQQQQIIQQ", self.content, offset + i * size)
            if kind == 11:  # SHT_DYNSYM
                for at in range(start, start + length, entry):
                    name, _, _, section = struct.unpack_from("<IBBH", self.content, at)
                    if section == 0 and name:
                        names.add(self.text(name))
        return names

    def flags_of(self, wanted):
        """The permissions of a segment (1 execute, 2 write, 4 read), or None."""
        return next((flags for kind, flags, *_ in self.segments if kind == wanted), None)

    def binds_now(self):
        flags = (self.values(DT_FLAGS) or [0])[0] & DF_BIND_NOW or (self.values(DT_FLAGS_1) or [0])[0] & DF_1_NOW
        return bool(flags or self.values(DT_BIND_NOW))

    def control_flow_features(self):
        """Bits IBT and SHADOW_STACK of the property note."""
        for kind, _, start, _, _, length, _, _ in self.segments:
            if kind != PT_GNU_PROPERTY:
                continue
            name, size, _ = struct.unpack_from("<III", self.content, start)
            at, end = start + 12 + (name + 3) // 4 * 4, min(start + length, start + 12 + name + size)
            while at < end:
                property_kind, data = struct.unpack_from("<II", self.content, at)
                if property_kind == PROPERTY_X86_FEATURES:
                    return struct.unpack_from("<I", self.content, at + 8)[0]
                at += 8 + (data + 7) // 8 * 8
        return 0
