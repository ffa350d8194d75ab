// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Names on their way out: what each outlet shows, escapes and refuses.
#include "runtime/untrusted/outlets.h"

#include "runtime/untrusted/code_points.h"
#include <gtest/gtest.h>

using namespace mpc::untrusted;
using namespace std::string_literals;

TEST(CodePoints, Utf8IsDecodedStrictly) {
  for (const auto &[text, value] :
       std::vector<std::pair<std::string, uint32_t>>{{"a", 'a'},
                                                     {"\xc3\xb6", 0xf6},
                                                     {"\xe2\x80\xae", 0x202e},
                                                     {"\xf0\x9f\x98\x80", 0x1f600}}) {
    const CodePoint point = decodeUtf8(text);
    EXPECT_TRUE(point.isValid);
    EXPECT_EQ(point.value, value);
    EXPECT_EQ(point.bytes, text.size());
  }
  // Alone, overlong, a surrogate, too large, cut off.
  for (const std::string &text :
       {"\x80"s, "\xff"s, "\xc0\xaf"s, "\xe0\x80\xaf"s, "\xf0\x80\x80\xaf"s, "\xed\xa0\x80"s,
        "\xf4\x90\x80\x80"s, "\xf5\x80\x80\x80"s, "\xe2\x80"s, "\xc3"s, "\xc3("s}) {
    EXPECT_FALSE(decodeUtf8(text).isValid) << text.size();
    EXPECT_EQ(decodeUtf8(text).bytes, 1u);
  }
}

TEST(CodePoints, WhatTerminalsActUponIsNotShown) {
  for (uint32_t hidden :
       {0x0,    0x1b,   0x1f,   0x7f,    0x80,    0x9b,    0x9f,    0xad,    0x61c,
        0x200b, 0x200d, 0x200f, 0x2028,  0x2029,  0x202a,  0x202e,  0x2066,  0x2069,
        0xfeff, 0xfffe, 0xffff, 0x1d173, 0x1ffff, 0xe0001, 0xe007f, 0x10ffff})
    EXPECT_FALSE(isShown(hidden)) << std::hex << hidden;
  for (uint32_t visible :
       {0x20, 0x7e, 0xa0, 0xf6, 0x202f, 0x2030, 0x4e2d, 0xfffd, 0x1f600, 0xf0000})
    EXPECT_TRUE(isShown(visible)) << std::hex << visible;
}

TEST(Outlets, Terminal) {
  EXPECT_EQ(forLine("dense_1/kernel"), "dense_1/kernel");
  EXPECT_EQ(forLine("gr\xc3\xb6\xc3\x9f"
                    "e"),
            "gr\xc3\xb6\xc3\x9f"
            "e");
  EXPECT_EQ(forLine("\x1b[31mred\x07"), "\\x1b[31mred\\x07");
  EXPECT_EQ(forLine("a\nerror: b\tc\0d"s), "a\\nerror: b\\tc\\x00d");
  EXPECT_EQ(forLine("\xc2\x9b\xe2\x80\xae\xf3\xa0\x80\x81"), "\\u009b\\u202e\\U000e0001");
  EXPECT_EQ(forLine("\xff\xc0\xaf"), "\\xff\\xc0\\xaf");
  EXPECT_EQ(forTerminal("a\n\tb\r"), "a\n\tb\\x0d");
  EXPECT_EQ(forLine(""), "");
}

TEST(Outlets, FixedBuffers) {
  char text[8];
  copyShown("abc\x1b", /*isOneLine=*/true, text, sizeof text);
  EXPECT_STREQ(text, "abc\\x1b");
  copyShown("abcd\x1b"
            "e",
            /*isOneLine=*/true, text, sizeof text); // no half escape, nothing behind
  EXPECT_STREQ(text, "abcd");
  copyShown("abcdef\xc3\xb6", /*isOneLine=*/true, text, sizeof text);
  EXPECT_STREQ(text, "abcdef");
  copyShown("a\nb", /*isOneLine=*/false, text, sizeof text);
  EXPECT_STREQ(text, "a\nb");
  copyShown("a", /*isOneLine=*/true, text, 1);
  EXPECT_STREQ(text, "");
}

TEST(Outlets, Json) {
  EXPECT_EQ(forJson("{\n \"a\": \"\xc3\xb6\"\n}"), "{\n \"a\": \"\xc3\xb6\"\n}");
  EXPECT_EQ(forJson("\"\x7f\xc2\x9b\xe2\x80\xae\""), "\"\\u007f\\u009b\\u202e\"");
  EXPECT_EQ(forJson("\"\xf3\xa0\x80\x81\""), "\"\\udb40\\udc01\"");
  EXPECT_EQ(forJson("\"\xff\""), "\"\\ufffd\"");
}

TEST(Outlets, Csv) {
  EXPECT_EQ(forCsv("val_loss"), "val_loss");
  EXPECT_EQ(forCsv("a,\"b\""), "\"a,\"\"b\"\"\"");
  EXPECT_EQ(forCsv("a\nb\r"), "a\\nb\\x0d");
  EXPECT_EQ(forCsv("=1+1"), "'=1+1");
  EXPECT_EQ(forCsv("@a"), "'@a");
}

TEST(Outlets, Members) {
  for (const std::string &name : {"a"s, "dense/kernel.npy"s, "grad:dense/kernel.npy"s,
                                  "gr\xc3\xb6\xc3\x9f"
                                  "e"s,
                                  "a..b"s, "..a/b.."s, ".a"s, "ab:c"s, std::string(65535, 'a')})
    EXPECT_TRUE(isMemberName(name)) << name.substr(0, 100);
  for (const std::string &name : {""s,
                                  "/"s,
                                  "/etc/passwd"s,
                                  ".."s,
                                  "../a"s,
                                  "a/../b"s,
                                  "a/.."s,
                                  "a/. ./b"s,
                                  ".. /b"s,
                                  "./a"s,
                                  "a//b"s,
                                  "a/"s,
                                  "a\\b"s,
                                  "..\\a"s,
                                  "C:a"s,
                                  "c:/a"s,
                                  "a\nb"s,
                                  "a\0b"s,
                                  "\x1b[31m"s,
                                  "\xe2\x80\xae"
                                  "gpj.npy"s,
                                  "\xff"s,
                                  "\xc2\x9b"s,
                                  "\x7f"s,
                                  std::string(65536, 'a')})
    EXPECT_FALSE(isMemberName(name)) << name.substr(0, 100);
}

TEST(Outlets, CComments) {
  EXPECT_EQ(forCComment("dense/kernel"), "dense/kernel");
  for (const std::string &name :
       {"*/ int x;"s, "a\\\nb"s, "a*\?\?/\n/ int x;"s, "/*"s, "//"s, "***/"s, "*\\/"s,
        "\?\?/\?\?/"s, "////"s, "*"s + std::string(3, '?') + "/"}) {
    const std::string text = forCComment(name);
    for (const char *wrong : {"*", "\\", "\?\?", "//", "\n"})
      EXPECT_EQ(text.find(wrong), std::string::npos) << text << " has " << wrong;
  }
}

TEST(Outlets, CIdentifiers) {
  EXPECT_EQ(forCIdentifier("dense_1/kernel"), "DENSE_1_KERNEL");
  EXPECT_EQ(forCIdentifier("\xc3\xb6;\n"), "____");
  EXPECT_EQ(forCIdentifier(std::string(70000, 'a')).size(), 200u);
  std::set<std::string> taken;
  // "A_2" exists before a second "A" wants it.
  for (const char *wanted : {"A_2", "A", "A_2_2", "A_3"})
    EXPECT_EQ(makeDistinct(wanted, taken), wanted);
  EXPECT_EQ(makeDistinct("A", taken), "A_4");
  EXPECT_EQ(makeDistinct("A_2", taken), "A_2_3");
  EXPECT_EQ(taken.size(), 6u);
}

TEST(Outlets, Xml) {
  EXPECT_EQ(forXml("a<b> & \"c\" 'd'\n"), "a&lt;b&gt; &amp; &quot;c&quot; &apos;d&apos;\\n");
  EXPECT_EQ(forXml("\x1b\xff"), "\\x1b\\xff");
}

TEST(Outlets, Dot) {
  EXPECT_EQ(forDot("a \"b\" \\N\n"), "a \\\"b\\\" \\\\N\\\\n");
  EXPECT_EQ(forDot("\x1b"), "\\\\x1b");
  EXPECT_EQ(forDot(std::string(8191, 'a') + "é\"b"), std::string(8191, 'a') + "é…");
  EXPECT_EQ(forDot(std::string(20000, '"')).size(), 8192u + 3);
}
