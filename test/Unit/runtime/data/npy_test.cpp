// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The .npy reader: what NumPy writes, and everything else refused.
#include "runtime/data/npy.h"
#include "runtime/data/texts.h"

#include <algorithm>
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

// ---- Texts --------------------------------------------------------------------------------------

static std::string points(std::initializer_list<int32_t> all) {
  std::string bytes;
  for (int32_t point : all)
    bytes.append(reinterpret_cast<const char *>(&point), sizeof point);
  return bytes;
}

TEST(Npy, TextsAreCodePoints) {
  Result<Array> array = parse(npy(header("<U2", "(2, 1)"), points({'a', 0, 0x1f600, 0xe9})));
  ASSERT_TRUE(array) << array.failure().messages[0];
  EXPECT_TRUE(array->isText());
  EXPECT_EQ(array->dtype(), MPC_RT_INT32);
  EXPECT_EQ(array->dims(), (std::vector<int64_t>{2, 1, 2}));
  EXPECT_EQ(array->shape(), (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(textAt(*array, 0), "a");
  EXPECT_EQ(textAt(*array, 1), "\xf0\x9f\x98\x80\xc3\xa9");
  EXPECT_NE(npyHeader(*array).find("'descr': '<U2', 'fortran_order': False, 'shape': (2, 1), }"),
            std::string::npos);
  Result<Array> one = parse(npy(header("<U1", "()"), points({'x'})));
  ASSERT_TRUE(one);
  EXPECT_TRUE(one->shape().empty());
  EXPECT_NE(npyHeader(*one).find("'shape': (), }"), std::string::npos);
}

TEST(Npy, TextsOfOtherOrders) {
  std::string swapped = points({'a', 'b'});
  for (size_t i = 0; i < swapped.size(); i += 4)
    std::reverse(swapped.begin() + static_cast<long>(i),
                 swapped.begin() + static_cast<long>(i) + 4);
  Result<Array> big = parse(npy(header(">U2", "(1,)"), swapped));
  ASSERT_TRUE(big) << big.failure().messages[0];
  EXPECT_EQ(textAt(*big, 0), "ab");
  // A text stays in one piece where columns come first.
  Result<Array> columns =
      parse(npy(header("<U2", "(2, 2)", "True"), points({'a', '1', 'c', '3', 'b', '2', 'd', '4'})));
  ASSERT_TRUE(columns) << columns.failure().messages[0];
  EXPECT_TRUE(columns->isText());
  std::string all;
  for (int64_t i = 0; i < 4; ++i)
    all += textAt(*columns, i);
  EXPECT_EQ(all, "a1b2c3d4");
}

TEST(Npy, TextsThatAreNoneAreRefused) {
  EXPECT_NE(message(npy(header("<U1000000000", "(1,)"), "1234"))
                .find("has texts of 1000000000 characters; expected at most 65536"),
            std::string::npos);
  EXPECT_NE(message(npy(header("<U99999999999999999999", "(1,)"), "1234")).find("has dtype"),
            std::string::npos);
  EXPECT_NE(message(npy(header("<U3", "(1,)"), "1234")).find("has 4 bytes of elements"),
            std::string::npos);
  EXPECT_NE(message(npy(header("<U65536", "(4611686018427387904,)"), "1234"))
                .find("an impossible number"),
            std::string::npos);
  EXPECT_NE(message(npy(header("<U3", "(2,)"), points({'a', 0, 0, 'b', 0, 'c'})))
                .find("the text [1] has U+0000 inside"),
            std::string::npos);
  EXPECT_NE(message(npy(header("<U1", "()"), points({0x110000})))
                .find("the text has a character that Unicode does not have"),
            std::string::npos);
  EXPECT_NE(message(npy(header("<U1", "(1,)"), points({-1})))
                .find("the text [0] has a character that Unicode does not have"),
            std::string::npos);
  EXPECT_TRUE(parse(npy(header("<U0", "(3,)"), "")));
}
