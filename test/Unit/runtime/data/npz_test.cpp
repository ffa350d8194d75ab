// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// .npz archives: round trip, NumPy's own files, damage.
#include "runtime/data/npz.h"
#include "runtime/data/zip_writer.h"

#include "test/Unit/Fixtures.h"
#include "test/Unit/runtime/data/temporary_folder.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace mpc::data;

static NamedArrays someArrays() {
  float values[] = {1.5f, -2, 3, 4, 5, 6};
  int64_t count = 7;
  uint16_t halves[] = {0x3c00, 0x7c00};
  NamedArrays arrays;
  arrays.emplace("final:dense/kernel", Array::copyOf(MPC_RT_FLOAT32, {2, 3}, values));
  arrays.emplace("opt:adam/iteration", Array::copyOf(MPC_RT_INT64, {}, &count));
  arrays.emplace("half", Array::copyOf(MPC_RT_FLOAT16, {2}, halves));
  arrays.emplace("nothing", Array::copyOf(MPC_RT_FLOAT32, {0, 4}, nullptr));
  return arrays;
}

TEST(Npz, WhatIsWrittenIsRead) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeNpz(folder.path("a.npz"), someArrays()));
  Result<NamedArrays> back = readNpz(folder.path("a.npz"));
  ASSERT_TRUE(back) << back.failure().messages[0];
  EXPECT_EQ(back->size(), 4u);
  const Array &kernel = back->at("final:dense/kernel");
  EXPECT_EQ(kernel.dims(), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(kernel.as<float>()[1], -2);
  EXPECT_EQ(back->at("opt:adam/iteration").rank(), 0);
  EXPECT_EQ(*back->at("opt:adam/iteration").as<int64_t>(), 7);
  EXPECT_EQ(back->at("half").dtype(), uint32_t(MPC_RT_FLOAT32)) << "16-bit floats are widened";
  EXPECT_EQ(back->at("half").as<float>()[0], 1.0f);
}

TEST(Npz, SameArraysSameBytes) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeNpz(folder.path("a"), someArrays()));
  ASSERT_TRUE(writeNpz(folder.path("b"), someArrays()));
  EXPECT_EQ(TemporaryFolder::read(folder.path("a")), TemporaryFolder::read(folder.path("b")));
}

TEST(Npz, FixtureOfKeras) {
  std::string path = mpc::test::fixturePath("keras/train/mlp__float32/expected.npz");
  Result<NamedArrays> arrays = readNpz(path);
  ASSERT_TRUE(arrays) << arrays.failure().messages[0];
  EXPECT_EQ(arrays->at("loss").dims(), (std::vector<int64_t>{20}));
  EXPECT_EQ(arrays->at("final:dense/kernel").dims(), (std::vector<int64_t>{10, 16}));
}

TEST(Npz, EveryTruncationIsAnError) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeNpz(folder.path("a"), someArrays()));
  std::string whole = TemporaryFolder::read(folder.path("a"));
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(readNpz(folder.write("cut", whole.substr(0, length)))) << length;
}

TEST(Npz, FlippedBitsAreFoundOrHarmless) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeNpz(folder.path("a"), someArrays()));
  std::string whole = TemporaryFolder::read(folder.path("a"));
  Result<NamedArrays> sound = readNpz(folder.path("a"));
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    std::string damaged = whole;
    damaged[random() % damaged.size()] ^= static_cast<char>(1 << random() % 8);
    Result<NamedArrays> arrays = readNpz(folder.write("bad", damaged));
    if (!arrays)
      continue; // a name or a date may change unnoticed, an element may not
    for (const auto &[name, array] : *arrays)
      if (auto at = sound->find(name); at != sound->end())
        ASSERT_EQ(std::memcmp(array.data(), at->second.data(), array.bytes()), 0) << name;
  }
}

TEST(Npz, WhatIsNotWantedIsNotInflated) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeNpz(folder.path("a"), someArrays()));
  std::string bytes = TemporaryFolder::read(folder.path("a"));
  // An element of the kernel: its checksum is wrong now.
  const size_t header = bytes.find("final:dense/kernel.npy");
  bytes[header + 22 + 128] ^= 1;
  const std::string path = folder.write("damaged", bytes);
  EXPECT_FALSE(readNpz(path));
  Result<NpzContent> content =
      readNpz(path, [](const std::string &name) { return name == "half"; });
  ASSERT_TRUE(content) << content.failure().messages[0];
  EXPECT_EQ(content->names, (std::vector<std::string>{"final:dense/kernel", "half", "nothing",
                                                      "opt:adam/iteration"}));
  EXPECT_EQ(content->arrays.size(), 1u);
  EXPECT_EQ(content->arrays.count("half"), 1u);
}

TEST(Npz, OverlappingMembersAreRefused) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeNpz(folder.path("a"), someArrays()));
  std::string bytes = TemporaryFolder::read(folder.path("a"));
  // The directory's second entry at the offset of the first one's member.
  const size_t first = bytes.find("PK\1\2"), second = bytes.find("PK\1\2", first + 4);
  std::memcpy(&bytes[second + 42], &bytes[first + 42], 4);
  for (const bool isWanted : {true, false}) {
    Result<NpzContent> content =
        readNpz(folder.write("bomb", bytes), [&](const std::string &) { return isWanted; });
    ASSERT_FALSE(content);
  }
  auto member = [&](const std::string &name, const std::string &data) {
    ZipWriter writer(folder.path(name));
    EXPECT_TRUE(writer.open());
    writer.add(name, "", data.data(), data.size());
    EXPECT_TRUE(writer.finish());
    return readNpz(folder.path(name)).failure().messages[0];
  };
  EXPECT_NE(member("a.txt", "text").find(":a.txt: is no .npy member"), std::string::npos);
  EXPECT_NE(member("a.npy", "").find(":a: is no sound .npy"), std::string::npos);
}

TEST(Npz, NamesThatNoMemberMayHave) {
  TemporaryFolder folder;
  for (const std::string &name :
       {std::string("../a"), std::string("/a"), std::string("a\nb"), std::string("C:a"),
        std::string("a\\b"), std::string("\xff"), std::string(65532, 'a')}) {
    NamedArrays arrays = someArrays();
    arrays.emplace(name, Array::scalar(1));
    EXPECT_FALSE(writeNpz(folder.path("names"), arrays)) << name.substr(0, 100);
    EXPECT_FALSE(std::filesystem::exists(folder.path("names")));
  }
  NamedArrays arrays;
  arrays.emplace(std::string(65531, 'a'), Array::scalar(1));
  ASSERT_TRUE(writeNpz(folder.path("long"), arrays));
  EXPECT_EQ(readNpz(folder.path("long"))->begin()->first.size(), 65531u);
}

TEST(Npz, MoreMembersThanSixteenBitsCount) {
  TemporaryFolder folder;
  NamedArrays arrays;
  for (int i = 0; i < 65536; ++i)
    arrays.emplace(std::to_string(i), Array::scalar(static_cast<float>(i)));
  ASSERT_TRUE(writeNpz(folder.path("many"), arrays));
  Result<NamedArrays> back = readNpz(folder.path("many"));
  ASSERT_TRUE(back) << back.failure().messages[0];
  EXPECT_EQ(back->size(), arrays.size());
  EXPECT_EQ(*back->at("65535").as<float>(), 65535);
}

TEST(Npz, FoldersAndPipesAndAbsentFiles) {
  TemporaryFolder folder;
  EXPECT_FALSE(readNpz(folder.folder()));
  EXPECT_FALSE(readNpz(folder.path("absent")));
  EXPECT_FALSE(readNpz(folder.write("empty", "")));
}
