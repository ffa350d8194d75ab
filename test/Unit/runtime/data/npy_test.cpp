// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The .npy reader: what NumPy writes, and everything else refused.
#include "runtime/data/npy.h"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

using namespace mpc::data;

/// A .npy with the given header text, as NumPy would frame it, and `data`.
static std::string npy(const std::string &header, const std::string &data, char version = 1) {
  std::string text = std::string("\x93NUMPY") + version + '\0';
  size_t size = header.size();
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    text += static_cast<char>(size >> (8 * i));
  return text + header + data;
}

static Result<Array> parse(const std::string &bytes) {
  size_t at = 0;
  return readNpy(
      [&](void *out, uint64_t size) -> Status {
        if (size > bytes.size() - at)
          return Failure("place: short");
        if (size > 0) // `out` of nothing is null
          std::memcpy(out, bytes.data() + at, size);
        at += size;
        return Status();
      },
      bytes.size(), "place");
}

static std::string header(const std::string &descr, const std::string &shape,
                          const char *order = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
}

static std::string message(const std::string &bytes) {
  Result<Array> array = parse(bytes);
  return array ? "" : array.failure().messages[0];
}

TEST(Npy, WhatIsWrittenIsRead) {
  float values[] = {1, 2, 3, 4, 5, 6};
  for (const std::vector<int64_t> &dims :
       {std::vector<int64_t>{6}, {2, 3}, {1, 2, 3}, {6, 1, 1, 1}}) {
    Array array = Array::copyOf(MPC_RT_FLOAT32, dims, values);
    std::string text = npyHeader(array);
    EXPECT_EQ(text.size() % 64, 0u);
    text.append(reinterpret_cast<const char *>(values), sizeof values);
    Result<Array> back = parse(text);
    ASSERT_TRUE(back) << back.failure().messages[0];
    EXPECT_EQ(back->dims(), dims);
    EXPECT_EQ(std::memcmp(back->data(), values, sizeof values), 0);
  }
  EXPECT_NE(npyHeader(Array::scalar(1)).find("'shape': (), }"), std::string::npos);
  EXPECT_NE(npyHeader(Array::copyOf(MPC_RT_FLOAT32, {6}, values)).find("'shape': (6,), }"),
            std::string::npos);
}

TEST(Npy, ScalarEmptyAndAllVersions) {
  EXPECT_TRUE(parse(npy(header("<f4", "()"), "1234")));
  EXPECT_TRUE(parse(npy(header("<f4", "(0,)"), "")));
  EXPECT_TRUE(parse(npy(header("<f4", "(3, 0)"), "")));
  EXPECT_TRUE(parse(npy(header("|b1", "(2,)"), "\1\1", 2)));
  EXPECT_TRUE(parse(npy(header("|u1", "(2L,)"), "ab", 3)));
  EXPECT_FALSE(parse(npy(header("|u1", "(2,)"), "ab", 4)));
}

TEST(Npy, BigEndianAndFortranOrder) {
  Result<Array> big = parse(npy(header(">i2", "(2,)"), std::string("\0\1\1\0", 4)));
  ASSERT_TRUE(big);
  EXPECT_EQ(big->as<int16_t>()[0], 1);
  EXPECT_EQ(big->as<int16_t>()[1], 256);
  // Column by column: [[a, b, c], [d, e, f]].
  Result<Array> columns = parse(npy(header("|i1", "(2, 3)", "True"), "adbecf"));
  ASSERT_TRUE(columns);
  EXPECT_EQ(std::memcmp(columns->data(), "abcdef", 6), 0);
  Result<Array> cube = parse(npy(header("|i1", "(2, 1, 3)", "True"), "adbecf"));
  EXPECT_EQ(std::memcmp(cube->data(), "abcdef", 6), 0);
}

TEST(Npy, Refused) {
  EXPECT_NE(message(npy(header("|O", "(1,)"), "12345678")).find("holds Python objects"),
            std::string::npos);
  EXPECT_NE(message(npy(header(std::string("\0f4", 3), "(1,)"), "1234")).find("has dtype"),
            std::string::npos);
  EXPECT_NE(message(npy(header("<V2", "(1,)"), "12")).find("save bfloat16 as float32"),
            std::string::npos);
  EXPECT_NE(
      message(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234"))
          .find("structured array"),
      std::string::npos);
  EXPECT_NE(message(npy(header("<f4", "(2,)"), "1234")).find("expected 8 for shape [2]"),
            std::string::npos);
  for (const char *shape : {"(-1,)", "(1)", "(1,,)", "[1]", "(1, 2", "(9223372036854775808,)",
                            "(1.5,)", "(__import__('os'),)", "(4611686018427387904, 4)",
                            "(9223372036854775807, 9223372036854775807, 0)"})
    EXPECT_NE(message(npy(header("<f4", shape), "1234")), "") << shape;
  for (const char *text :
       {"", "{", "{}", "{'descr': '<f4'}", "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} + 1"})
    EXPECT_NE(message(npy(text, "1234")), "") << text;
  std::string deep = "(";
  for (int i = 0; i < 40; ++i)
    deep += "1, ";
  EXPECT_NE(message(npy(header("<f4", deep + ")"), "1234")), "");
}

TEST(Npy, EveryTruncationIsAnError) {
  std::string whole = npy(header("<f4", "(2, 3)"), std::string(24, 'x'));
  ASSERT_TRUE(parse(whole));
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(parse(whole.substr(0, length))) << length;
  EXPECT_FALSE(parse(whole + "x"));
}

TEST(Npy, FlippedBytesNeverCrash) {
  std::string whole = npy(header("<f4", "(2, 3)"), std::string(24, 'x'));
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = whole;
    for (unsigned flips = 1 + random() % 3; flips; --flips)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    if (Result<Array> array = parse(damaged))
      EXPECT_LE(array->bytes(), whole.size());
  }
}
