// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Hostile and damaged archives give one clear error; none crashes or expands beyond its budget.
#include "mpc/Import/Keras/Archive.h"

#include "test/Unit/Fixtures.h"
#include "test/Unit/lib/Import/Keras/ZipBuilder.h"
#include <gtest/gtest.h>

using namespace mpc::keras;
using mpc::test::buildDeflatedZeros;
using mpc::test::buildZip;

namespace {

std::string errorOf(const std::string &bytes, const ArchiveLimits &limits = {}) {
  llvm::Expected<Archive> archive = readArchive(llvm::MemoryBufferRef(bytes, "m.keras"), limits);
  if (archive)
    return "";
  return llvm::toString(archive.takeError());
}

const std::vector<std::pair<std::string, std::string>> kMembers = {
    {"metadata.json", "{\"keras_version\": \"3.15.1\"}"},
    {"config.json", "{}"},
    {"model.weights.h5", "bytes of weights"}};

TEST(SniffContent, ReadsTheKindFromTheContent) {
  EXPECT_EQ(sniffContent(buildZip(kMembers)), FileKind::Zip);
  EXPECT_EQ(sniffContent(buildZip({})), FileKind::Zip);
  EXPECT_EQ(sniffContent("\x89HDF\r\n\x1a\n more"), FileKind::Hdf5);
  EXPECT_EQ(sniffContent(" \n {\"class_name\""), FileKind::Json);
  EXPECT_EQ(sniffContent("{-# dialect_resources"), FileKind::Other);
  EXPECT_EQ(sniffContent("module {"), FileKind::Other);
  EXPECT_EQ(sniffContent(""), FileKind::Other);
}

TEST(ReadArchive, ReadsTheThreeMembers) {
  const std::string bytes = buildZip(kMembers);
  llvm::Expected<Archive> archive = readArchive(llvm::MemoryBufferRef(bytes, "m.keras"));
  ASSERT_TRUE(bool(archive)) << llvm::toString(archive.takeError());
  EXPECT_EQ(archive->config, "{}");
  EXPECT_EQ(archive->metadata, kMembers[0].second);
  ASSERT_TRUE(archive->weights);
  EXPECT_EQ(archive->weights->getBuffer(), "bytes of weights");
  EXPECT_EQ(archive->weights->getBufferIdentifier(), "m.keras:model.weights.h5");
}

TEST(ReadArchive, ReadsAnArchiveThatKerasWrote) {
  const std::string path =
      mpc::test::fixturePath("keras/forward/sequential_mlp__float32/model.keras");
  auto file = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(file)) << path;
  llvm::Expected<Archive> archive = readArchive(**file);
  ASSERT_TRUE(bool(archive)) << llvm::toString(archive.takeError());
  EXPECT_EQ(archive->config.front(), '{');
  EXPECT_EQ(sniffContent(archive->weights->getBuffer()), FileKind::Hdf5);
}

TEST(ReadArchive, EveryTruncationIsAnError) {
  const std::string bytes = buildZip(kMembers);
  for (size_t length = 0; length < bytes.size(); ++length)
    EXPECT_NE(errorOf(bytes.substr(0, length)), "") << length;
}

TEST(ReadArchive, EveryFlippedByteIsReadOrRefused) {
  const std::string bytes = buildZip(kMembers);
  for (size_t index = 0; index < bytes.size(); ++index)
    for (unsigned char mask : {0x01, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[index] = char(damaged[index] ^ mask);
      errorOf(damaged);
    }
}

TEST(ReadArchive, NamesWhatIsWrong) {
  EXPECT_EQ(errorOf("hello"), "m.keras: not a zip archive (Not a zip archive); expected a .keras "
                              "archive as Model.save writes it; save the model again");
  EXPECT_NE(errorOf(buildZip(kMembers).substr(0, 60)).find("truncated or damaged zip archive"),
            std::string::npos);
  EXPECT_NE(errorOf(buildZip({{"metadata.json", "{}"}})).find("missing config.json"),
            std::string::npos);
  EXPECT_NE(errorOf(buildZip({{"config.json", "{}"}, {"config.json", "[]"}})), "");
  EXPECT_NE(errorOf(buildZip({{"config.json", "{}"}, {"model.weights.npz", ""}})).find("npz"),
            std::string::npos);
}

TEST(ReadArchive, ChecksumsAreVerified) {
  std::string bytes = buildZip(kMembers);
  const size_t at = bytes.find("bytes of weights");
  bytes[at] = 'B';
  EXPECT_NE(errorOf(bytes).find("m.keras:model.weights.h5: damaged archive member"),
            std::string::npos)
      << errorOf(bytes);
}

TEST(ReadArchive, UnsafeNamesAreRefused) {
  for (const char *name : {"../config.json", "/etc/passwd", "a/../../b", "a\\b", "C:x", ".."})
    EXPECT_NE(errorOf(buildZip({{"config.json", "{}"}, {name, "x"}})).find("unsafe member name"),
              std::string::npos)
        << name;
}

TEST(ReadArchive, BombsAreRefusedBeforeTheyExpand) {
  // 80 MiB of zeros deflate to some 80 KiB; the budget is 4 * that + 64 MiB.
  const std::string bomb = buildDeflatedZeros("config.json", size_t(80) << 20);
  ASSERT_LT(bomb.size(), size_t(1) << 20);
  EXPECT_NE(errorOf(bomb).find("decompression bomb"), std::string::npos) << errorOf(bomb);

  ArchiveLimits limits;
  limits.maxConfigBytes = 1;
  EXPECT_NE(errorOf(buildZip(kMembers), limits).find("at most 1 are accepted"), std::string::npos);
  limits = {};
  limits.maxMembers = 2;
  EXPECT_NE(errorOf(buildZip(kMembers), limits).find("3 members"), std::string::npos);
}

} // namespace
