// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// IDX files, plain and gzipped.
#include "runtime/data/idx.h"

#include "test/Unit/runtime/data/temporary_folder.h"
#include <gtest/gtest.h>
#include <zlib.h>

using namespace mpc::data;

static std::string idx(char type, std::vector<uint32_t> sizes, const std::string &data) {
  std::string bytes = {0, 0, type, static_cast<char>(sizes.size())};
  for (uint32_t size : sizes)
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes += static_cast<char>(size >> shift);
  return bytes + data;
}

static std::string gzipped(const TemporaryFolder &folder, const std::string &bytes) {
  gzFile file = gzopen(folder.path("z").c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  return TemporaryFolder::read(folder.path("z"));
}

TEST(Idx, PlainAndGzipped) {
  TemporaryFolder folder;
  std::string bytes = idx(8, {2, 3}, "abcdef");
  for (const std::string &content : {bytes, gzipped(folder, bytes)}) {
    Result<Array> array = readIdx(folder.write("i", content));
    ASSERT_TRUE(array) << array.failure().messages[0];
    EXPECT_EQ(array->dims(), (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(array->data()[5], 'f');
  }
  Result<Array> wide = readIdx(folder.write("i", idx(0x0c, {1}, std::string("\0\0\1\2", 4))));
  EXPECT_EQ(*wide->as<int32_t>(), 258);
}

TEST(Idx, EveryTruncationIsAnError) {
  TemporaryFolder folder;
  std::string bytes = idx(8, {2, 3}, "abcdef"), packed = gzipped(folder, bytes);
  for (const std::string &whole : {bytes, packed})
    for (size_t length = 0; length < whole.size(); ++length)
      EXPECT_FALSE(readIdx(folder.write("i", whole.substr(0, length)))) << length;
  EXPECT_FALSE(readIdx(folder.write("i", bytes + "x")));
}

TEST(Idx, LiesAboutSizesAllocateNothing) {
  TemporaryFolder folder;
  EXPECT_FALSE(readIdx(folder.write("i", idx(8, {0xffffffff, 0xffffffff}, "abc"))));
  EXPECT_FALSE(readIdx(folder.write("i", idx(8, {0x7fffffff}, "abc"))));
  EXPECT_FALSE(readIdx(folder.write("i", idx(7, {1}, "a"))));
  EXPECT_FALSE(readIdx(folder.write("i", idx(8, {}, "a"))));
}

TEST(Idx, NamesOfMnist) {
  TemporaryFolder folder;
  EXPECT_EQ(findIdx(folder.folder(), "train-images-idx3-ubyte"), "");
  std::string path = folder.write("train-images.idx3-ubyte", "");
  EXPECT_EQ(findIdx(folder.folder(), "train-images-idx3-ubyte"), path);
  path = folder.write("train-images-idx3-ubyte.gz", "");
  EXPECT_EQ(findIdx(folder.folder(), "train-images-idx3-ubyte"), path);
}
