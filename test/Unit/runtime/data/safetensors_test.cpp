// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// safetensors: round trip and a strict reader.
#include "runtime/data/safetensors.h"

#include "test/Unit/runtime/data/temporary_folder.h"
#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace mpc::data;

static Result<Safetensors> parse(const std::string &bytes) {
  return parseSafetensors(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(), "place");
}

static std::string framed(const std::string &header, const std::string &data) {
  uint64_t size = header.size();
  return std::string(reinterpret_cast<const char *>(&size), 8) + header + data;
}

static Safetensors some() {
  float values[] = {1, 2, 3, 4};
  uint16_t halves[] = {0x3f80};
  Safetensors content;
  content.tensors.emplace("b/kernel", Array::copyOf(MPC_RT_FLOAT32, {2, 2}, values));
  content.tensors.emplace("a", Array::copyOf(MPC_RT_BFLOAT16, {1}, halves));
  content.tensors.emplace("empty", Array::copyOf(MPC_RT_INT8, {0}, nullptr));
  content.metadata["format"] = "mpc";
  return content;
}

TEST(Safetensors, WhatIsWrittenIsRead) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeSafetensors(folder.path("w"), some()));
  Result<Safetensors> back = readSafetensors(folder.path("w"));
  ASSERT_TRUE(back) << back.failure().messages[0];
  EXPECT_EQ(back->metadata, some().metadata);
  EXPECT_EQ(back->tensors.size(), 3u);
  EXPECT_EQ(back->tensors.at("b/kernel").as<float>()[3], 4);
  EXPECT_EQ(back->tensors.at("a").dtype(), uint32_t(MPC_RT_BFLOAT16));
  EXPECT_EQ(TemporaryFolder::read(folder.path("w")).find("BF16") != std::string::npos, true);
}

TEST(Safetensors, EveryTruncationIsAnError) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeSafetensors(folder.path("w"), some()));
  std::string whole = TemporaryFolder::read(folder.path("w"));
  ASSERT_TRUE(parse(whole));
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_FALSE(parse(whole.substr(0, length))) << length;
    EXPECT_FALSE(readSafetensors(folder.write("cut", whole.substr(0, length)))) << length;
  }
  EXPECT_FALSE(parse(whole + "x"));
}

TEST(Safetensors, FlippedBytesNeverCrash) {
  TemporaryFolder folder;
  ASSERT_TRUE(writeSafetensors(folder.path("w"), some()));
  std::string whole = TemporaryFolder::read(folder.path("w"));
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = whole;
    for (unsigned flips = 1 + random() % 3; flips; --flips)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    if (Result<Safetensors> content = parse(damaged))
      for (const auto &[name, array] : content->tensors)
        EXPECT_LE(array.bytes(), whole.size());
  }
}

TEST(Safetensors, Refused) {
  const std::string four(4, 'x');
  const std::string a = R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  EXPECT_TRUE(parse(framed("{" + a + "}", four)));
  for (const std::string &header : std::vector<std::string>{
           "{" + a + "," + a + "}",                                       // doubled name
           R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,3]}})",   // size
           R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",   // hole
           R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}})",  // negative
           R"({"a":{"dtype":"Q4","shape":[1],"data_offsets":[0,4]}})",    // type
           R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0]}})",     // offsets
           R"({"a":{"dtype":"F32","shape":[1]}})",                        // missing
           R"({"a":{"dtype":"F32","shape":[1.0],"data_offsets":[0,4]}})", // real
           R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}})",
           R"({"a":7})", R"([1])", R"({"__metadata__":{"k":1}})", "{", "",
           "{" + a + R"(,"b":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", // overlap
           std::string(1000, '[')})
    EXPECT_FALSE(parse(framed(header, four))) << header;
  uint64_t huge = uint64_t(1) << 60;
  EXPECT_FALSE(parse(std::string(reinterpret_cast<const char *>(&huge), 8) + "{}"));
}

TEST(Safetensors, HeadersBeyondTheLimits) {
  // Values that no tensor has; each of them would take a hundred bytes.
  std::string many = "{\"a\":[0";
  for (int i = 0; i < 1 << 20; ++i)
    many += ",0";
  Result<Safetensors> content = parse(framed(many + "]}", ""));
  ASSERT_FALSE(content);
  EXPECT_NE(content.failure().messages[0].find("at most 1048576 are accepted"), std::string::npos)
      << content.failure().messages[0];
  // In text they are none.
  EXPECT_TRUE(parse(framed("{\"__metadata__\":{\"\\\"a\":\"" + many.substr(8) + "\"}}", "")));
  content = parse(framed("{}" + std::string((64 << 20) - 1, ' '), ""));
  ASSERT_FALSE(content);
  EXPECT_NE(content.failure().messages[0].find("at most 64 MB"), std::string::npos);
}
