// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Directories of zip archives: each kind of lie, made byte by byte.
#include "runtime/untrusted/zip_directory.h"

#include <cstring>
#include <functional>
#include <gtest/gtest.h>

using namespace mpc::untrusted;

namespace {

void put(std::string &out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    out += i < 8 ? static_cast<char>(value >> (8 * i)) : '\0';
}

/// A stored member, and what its headers claim.
struct Entry {
  std::string name, data, localName;
  uint64_t size, compressedSize, localSize, localCompressedSize;
  uint32_t crc = 7, localCrc = 7;
  uint64_t offset = UINT64_MAX; // of another member's header
  uint16_t flags = 0, localFlags = 0, method = 0, localMethod = 0;
  bool isWide = false, isLocalWide = false; // sizes in an extra field
  std::string behind;                       // the data, before the next header

  Entry(std::string name, std::string data)
      : name(name), data(data), localName(name), size(data.size()), compressedSize(size),
        localSize(size), localCompressedSize(size) {}
};

struct Archive {
  std::vector<Entry> entries;
  std::string comment, before;
  bool isWide = false;
  uint64_t countDelta = 0, directoryDelta = 0;

  std::string bytes() const {
    std::string out = before, directory;
    for (const Entry &e : entries) {
      const uint64_t offset = e.offset == UINT64_MAX ? out.size() : e.offset;
      std::string wide;
      put(wide, 1, 2), put(wide, 16, 2), put(wide, e.localSize, 8),
          put(wide, e.localCompressedSize, 8);
      put(out, 0x04034b50, 4), put(out, 20, 2), put(out, e.localFlags, 2);
      put(out, e.localMethod, 2), put(out, 0, 4), put(out, e.localCrc, 4);
      put(out, e.isLocalWide ? 0xffffffff : e.localCompressedSize, 4);
      put(out, e.isLocalWide ? 0xffffffff : e.localSize, 4);
      put(out, e.localName.size(), 2), put(out, e.isLocalWide ? wide.size() : 0, 2);
      out += e.localName + (e.isLocalWide ? wide : "") + e.data + e.behind;
      wide.clear();
      put(wide, 1, 2), put(wide, 24, 2), put(wide, e.size, 8), put(wide, e.compressedSize, 8),
          put(wide, offset, 8);
      put(directory, 0x02014b50, 4), put(directory, 45, 2), put(directory, 20, 2);
      put(directory, e.flags, 2), put(directory, e.method, 2), put(directory, 0, 4);
      put(directory, e.crc, 4), put(directory, e.isWide ? 0xffffffff : e.compressedSize, 4);
      put(directory, e.isWide ? 0xffffffff : e.size, 4), put(directory, e.name.size(), 2);
      put(directory, e.isWide ? wide.size() : 0, 2), put(directory, 0, 10);
      put(directory, e.isWide ? 0xffffffff : offset, 4);
      directory += e.name + (e.isWide ? wide : "");
    }
    const uint64_t begin = out.size() + directoryDelta, count = entries.size() + countDelta;
    out += directory;
    const uint64_t end = out.size();
    if (isWide) {
      put(out, 0x06064b50, 4), put(out, 44, 8), put(out, 45, 4), put(out, 0, 8);
      put(out, count, 8), put(out, count, 8), put(out, directory.size(), 8), put(out, begin, 8);
      put(out, 0x07064b50, 4), put(out, 0, 4), put(out, end, 8), put(out, 1, 4);
    }
    put(out, 0x06054b50, 4), put(out, 0, 4);
    put(out, isWide ? 0xffff : count, 2), put(out, isWide ? 0xffff : count, 2);
    put(out, isWide ? 0xffffffff : directory.size(), 4);
    put(out, isWide ? 0xffffffff : begin, 4), put(out, comment.size(), 2);
    return out + comment;
  }
};

ZipDirectory read(const std::string &bytes, uint64_t most = 1000) {
  return readZipDirectory(
      [&](uint64_t offset, void *to, size_t size) {
        EXPECT_LE(offset + size, bytes.size());
        std::memcpy(to, bytes.data() + offset, size);
        return true;
      },
      bytes.size(), most);
}

/// Two members, of which `change` changes something.
std::string faultOf(const std::function<void(Archive &)> &change) {
  Archive archive{{Entry("a", "first"), Entry("b", "second")}, "", ""};
  change(archive);
  ZipDirectory directory = read(archive.bytes());
  EXPECT_EQ(directory.members.empty(), !directory.fault.empty());
  return directory.fault;
}

} // namespace

TEST(ZipDirectory, SoundArchives) {
  EXPECT_EQ(faultOf([](Archive &) {}), "");
  EXPECT_EQ(faultOf([](Archive &a) { a.comment = "PK\5\6 is no end here"; }), "");
  EXPECT_EQ(faultOf([](Archive &a) { a.isWide = true; }), "");
  EXPECT_EQ(faultOf([](Archive &a) { a.entries[1].isWide = a.entries[1].isLocalWide = true; }), "");
  EXPECT_EQ(faultOf([](Archive &a) { a.entries[0] = Entry("a", ""); }), "") << "nothing in it";
  EXPECT_EQ(faultOf([](Archive &a) { a.entries[0] = Entry("folder/", ""); }), "");
  EXPECT_EQ(faultOf([](Archive &a) { a.entries[0].behind = "a gap"; }), "");
  Archive archive{{Entry("a", "first"), Entry("b", "second")}, "", ""};
  ZipDirectory directory = read(archive.bytes());
  ASSERT_EQ(directory.members.size(), 2u);
  EXPECT_EQ(directory.members[1].begin, 36u);
  EXPECT_EQ(directory.members[1].end, 36u + 31 + 6);
  EXPECT_TRUE(isSame(directory.members[1], "b", 6, 6, 0));
  EXPECT_FALSE(isSame(directory.members[1], "b", 6, 5, 0));
  EXPECT_FALSE(isSame(directory.members[1], nullptr, 6, 6, 0));
  std::string empty;
  put(empty, 0x06054b50, 4), empty.append(18, '\0');
  EXPECT_EQ(read(empty).fault, "");
}

TEST(ZipDirectory, SizesBehindTheData) {
  auto late = [](Archive &a) {
    Entry &e = a.entries[0];
    e.flags = e.localFlags = 8;
    e.localCrc = 0;
    e.localSize = e.localCompressedSize = 0;
    put(e.behind, 0x08074b50, 4), put(e.behind, 7, 4), put(e.behind, 5, 4), put(e.behind, 5, 4);
  };
  EXPECT_EQ(faultOf(late), "");
  EXPECT_EQ(faultOf([&](Archive &a) {
              late(a);
              a.entries[0].localSize = 4; // neither unknown nor right
            }),
            "has a header that contradicts the directory");
}

TEST(ZipDirectory, OverlapsAreRefused) {
  const std::string overlap = "overlaps another member, as in a zip bomb";
  // Two names of one member: what a full overlap is.
  EXPECT_EQ(faultOf([](Archive &a) {
              a.entries[1] = Entry("a", "first");
              a.entries[1].offset = 0;
            }),
            overlap);
  // The first one's bytes go on over the second's header: a quoted overlap.
  EXPECT_EQ(faultOf([](Archive &a) {
              for (uint64_t *size :
                   {&a.entries[0].size, &a.entries[0].localSize, &a.entries[0].compressedSize,
                    &a.entries[0].localCompressedSize})
                *size = 5 + 31 + 6;
            }),
            overlap);
  EXPECT_EQ(faultOf([](Archive &a) {
              for (uint64_t *size :
                   {&a.entries[0].size, &a.entries[0].localSize, &a.entries[0].compressedSize,
                    &a.entries[0].localCompressedSize})
                *size = 6;
            }),
            overlap)
      << "one byte is enough";
  // The last one goes on over the directory.
  EXPECT_EQ(faultOf([](Archive &a) {
              for (uint64_t *size :
                   {&a.entries[1].size, &a.entries[1].localSize, &a.entries[1].compressedSize,
                    &a.entries[1].localCompressedSize})
                *size = 7;
            }),
            "overlaps the directory or is outside of the file");
}

// The fuzzer found that the name was read when its member was gone already.
TEST(ZipDirectory, NamesTheFaultyMember) {
  const std::string name(100, 'n');
  Archive archive{{Entry(name, "first"), Entry("b", "second")}, "", ""};
  archive.entries[0].localSize = 9;
  const ZipDirectory directory = read(archive.bytes());
  EXPECT_EQ(directory.fault, "has a header that contradicts the directory");
  EXPECT_EQ(directory.faultyMember, name);
  EXPECT_TRUE(directory.members.empty());
}

TEST(ZipDirectory, HeadersThatContradictEachOther) {
  const std::string contradiction = "has a header that contradicts the directory";
  EXPECT_EQ(faultOf([](Archive &a) { a.entries[0].localName = "c"; }), contradiction);
  EXPECT_EQ(faultOf([](Archive &a) { a.entries[0].localMethod = 8; }), contradiction);
  EXPECT_EQ(faultOf([](Archive &a) { a.entries[0].localCrc = 8; }), contradiction);
  EXPECT_EQ(faultOf([](Archive &a) { a.entries[0].localSize = 9; }), contradiction);
  EXPECT_EQ(faultOf([](Archive &a) { a.entries[0].localCompressedSize = 9; }), contradiction);
  EXPECT_EQ(faultOf([](Archive &a) { a.entries[0].localFlags = 1; }), contradiction);
  EXPECT_EQ(faultOf([](Archive &a) {
              a.entries[0].isLocalWide = true;
              a.entries[0].localSize = uint64_t(1) << 40;
            }),
            contradiction);
}

TEST(ZipDirectory, PlacesOutsideOfTheFile) {
  const std::string nowhere = "has no header where the directory says";
  EXPECT_EQ(faultOf([](Archive &a) { a.entries[0].offset = 1; }), nowhere);
  EXPECT_EQ(faultOf([](Archive &a) { a.entries[0].offset = 0xfffffff0; }), nowhere);
  EXPECT_EQ(faultOf([](Archive &a) {
              a.entries[0].isWide = true;
              a.entries[0].offset = UINT64_MAX - 1;
            }),
            nowhere);
  auto grow = [](Archive &a, uint64_t size) {
    Entry &e = a.entries[0];
    e.size = e.compressedSize = e.localSize = e.localCompressedSize = size;
    e.isWide = e.isLocalWide = true;
  };
  for (uint64_t size : {uint64_t(1) << 20, UINT64_MAX, UINT64_MAX - 60})
    EXPECT_EQ(faultOf([&](Archive &a) { grow(a, size); }),
              "overlaps the directory or is outside of the file");
  EXPECT_NE(faultOf([](Archive &a) { a.directoryDelta = 1; }), "");
  EXPECT_NE(faultOf([](Archive &a) { a.directoryDelta = uint64_t(1) << 31; }), "");
  EXPECT_NE(faultOf([](Archive &a) { a.directoryDelta = UINT64_MAX, a.isWide = true; }), "");
}

TEST(ZipDirectory, CountsThatAreWrong) {
  for (bool isWide : {false, true}) {
    EXPECT_NE(faultOf([&](Archive &a) { a.countDelta = 1, a.isWide = isWide; }), "");
    EXPECT_NE(faultOf([&](Archive &a) { a.countDelta = 60000, a.isWide = isWide; }), "");
  }
  EXPECT_NE(faultOf([](Archive &a) { a.countDelta = uint64_t(1) << 63, a.isWide = true; }), "");
  Archive archive{{Entry("a", ""), Entry("b", "")}, "", ""};
  EXPECT_EQ(read(archive.bytes(), 1).fault, "has 2 members; at most 1 are accepted");
}

TEST(ZipDirectory, KindsThatNobodyWrites) {
  for (uint16_t flag : {1, 1 << 6, 1 << 13})
    EXPECT_EQ(faultOf([&](Archive &a) { a.entries[1].flags = flag; }), "is encrypted");
  EXPECT_EQ(faultOf([](Archive &a) { a.entries[1].flags = 1 << 5; }), "is a patch of another file");
  EXPECT_EQ(faultOf([](Archive &a) { a.entries[1].size = 5; }), "is stored, but of two sizes");
  EXPECT_EQ(faultOf([](Archive &a) { a.entries[1].name = std::string("b\0c", 3); }),
            "has a name with a null character in it");
}

TEST(ZipDirectory, EveryTruncationAndEveryFlippedByte) {
  Archive archive{{Entry("a", "first"), Entry("b", "second")}, "", ""};
  for (bool isWide : {false, true}) {
    archive.isWide = archive.entries[0].isWide = archive.entries[0].isLocalWide = isWide;
    const std::string whole = archive.bytes();
    for (size_t size = 0; size < whole.size(); ++size)
      EXPECT_NE(read(whole.substr(0, size)).fault, "") << size;
    for (size_t at = 0; at < whole.size(); ++at)
      for (int value = 0; value < 256; ++value) { // whatever it says, within the file
        std::string damaged = whole;
        damaged[at] = static_cast<char>(value);
        for (const ZipMember &member : read(damaged).members)
          EXPECT_LE(member.end, damaged.size());
      }
  }
}
