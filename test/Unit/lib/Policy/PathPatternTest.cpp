// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Map keys as Python regular expressions. The expectations are those of CPython 3.11's re module.
#include "mpc/Policy/PathPattern.h"
#include <gtest/gtest.h>

using namespace mpc;

/// "match", "no match" or the text of the error.
static std::string match(llvm::StringRef pattern, llvm::StringRef path) {
  llvm::Expected<bool> result = PathPattern(pattern).fullMatch(path);
  if (!result)
    return llvm::toString(result.takeError());
  return *result ? "match" : "no match";
}

TEST(PathPattern, PythonOnlySyntax) {
  EXPECT_EQ(match("g{,}x{y}", "ggx{y}"), "match");
  EXPECT_EQ(match("a{,2}", "aaa"), "no match");
  EXPECT_EQ(match("(?P<n>a|b)/(?P=n)", "b/b"), "match");
  EXPECT_EQ(match("[]a]+", "]a"), "match");
  EXPECT_EQ(match("[[:alpha:]]+", "a]"), "match");
  EXPECT_EQ(match("[[:alpha:]]+", "b"), "no match");
  EXPECT_EQ(match("[^]a]+", "bc"), "match");
  EXPECT_EQ(match("[a\\]\\x62-d-]+", "a]cd-"), "match");
  EXPECT_EQ(match("[\\xe0-\xc3\xbc]", "\xc3\xa9"), "match");
  EXPECT_EQ(match("\\u00e9[\\u0430-\\u044f]", "\xc3\xa9\xd0\xb6"), "match");
  EXPECT_EQ(match("\\v", "\x0c"), "no match");
  EXPECT_EQ(match("(?x) a [ ]  b # (", "a b"), "match");
  EXPECT_EQ(match("(?x: a (?-x:  )) ( c )", "a  ( c )"), "no match");
  EXPECT_EQ(match("(?x: a (?-x:  )) ( c )", "a    c "), "match");
  EXPECT_EQ(match("a(?#comment)+", "aa"), "match");
  EXPECT_EQ(match("(?P<n>a)?(?(n)b|c)", "ab"), "match");
  EXPECT_EQ(match("(?P<n>a)?(?(n)b|c)", "c"), "match");
}

TEST(PathPattern, WhatNobodyWritesIsRefusedByName) {
  EXPECT_EQ(match("a\\N{BULLET}", "a"),
            "mpc takes no escapes \\N in keys of a policy map; write the "
            "character: at position 1");
  EXPECT_EQ(match("\\U00000061", "a"),
            "mpc takes no escapes \\U in keys of a policy map; write the "
            "character: at position 0");
  EXPECT_EQ(match("\\07", "\x07"), "mpc takes no octal escapes in keys of a policy map; write the "
                                   "character, or \\xhh: at position 0");
  EXPECT_EQ(match("\\141", "a"), "mpc takes no octal escapes in keys of a policy map; write the "
                                 "character, or \\xhh: at position 0");
  EXPECT_EQ(match("[\\1]", "a"), "mpc takes no octal escapes in keys of a policy map; write the "
                                 "character, or \\xhh: at position 1");
  EXPECT_EQ(match("(?a)\\w", "a"),
            "mpc takes no flag 'a' in keys of a policy map; write i, m, s or "
            "x: at position 2");
  EXPECT_EQ(match("(?i-L:a)", "a"),
            "mpc takes no flag 'L' in keys of a policy map; write i, m, s or "
            "x: at position 4");
}

TEST(PathPattern, PcreOnlySyntaxIsRefused) {
  EXPECT_EQ(match("\\Qa\\E", "a"), "bad escape \\Q at position 0");
  EXPECT_EQ(match("a\\K", "a"), "bad escape \\K at position 1");
  EXPECT_EQ(match("\\h", " "), "bad escape \\h at position 0");
  EXPECT_EQ(match("\\g{1}", "a"), "bad escape \\g at position 0");
  EXPECT_EQ(match("(?<n>a)", "a"), "unknown extension ?<n at position 1");
  EXPECT_EQ(match("(?|a|b)", "a"), "unknown extension ?| at position 1");
  EXPECT_EQ(match("(?R)", "a"), "unknown extension ?R at position 1");
  EXPECT_EQ(match("(?&n)", "a"), "unknown extension ?& at position 1");
  EXPECT_EQ(match("(*ACCEPT)", "a"), "nothing to repeat at position 1");
  EXPECT_EQ(match("\\x{61}", "a"), "incomplete escape \\x at position 0");
}

TEST(PathPattern, UnicodeAndCase) {
  EXPECT_EQ(match("\\w+", "\xe5\xb1\x82"
                          "1_"),
            "match");
  EXPECT_EQ(match("\\d", "\xd9\xa3"), "match");
  EXPECT_EQ(match("[\\W\\d]", "7"), "match");
  EXPECT_EQ(match("[^\\W\\d]", "7"), "no match");
  EXPECT_EQ(match("[^\\W\\d]", "x"), "match");
  EXPECT_EQ(match("(?i)k", "\xe2\x84\xaa"), "match"); // Kelvin sign
  EXPECT_EQ(match("(?i)(?s)A.", "a\n"), "match");
  EXPECT_EQ(match("(?i:A)b", "ab"), "match");
  EXPECT_EQ(match("(?i:A)b", "aB"), "no match");
  EXPECT_EQ(match("(?i)a(?-i:b)", "AB"), "no match");
}

TEST(PathPattern, Anchors) {
  EXPECT_EQ(match("a$", "a\n"), "no match");
  EXPECT_EQ(match("a$\\n", "a\n"), "match");
  EXPECT_EQ(match("(?m)a$.^b", "a\nb"), "no match");
  EXPECT_EQ(match("(?ms)a$.^b", "a\nb"), "match");
  EXPECT_EQ(match("\\b", ""), "no match");
  EXPECT_EQ(match(".*\\Bb", "ab"), "match");
  EXPECT_EQ(match("a|ab", "ab"), "match");
}

TEST(PathPattern, ErrorsNameThePosition) {
  EXPECT_EQ(match("(?<=a+)d", "d"), "look-behind requires fixed-width pattern");
  EXPECT_EQ(match("(a\\1)", "a"), "cannot refer to an open group at position 2");
  EXPECT_EQ(match("(?P<a>x)(?P<a>y)", "xy"),
            "redefinition of group name 'a' as group 2; was group 1 at position 12");
  EXPECT_EQ(match("(?P<1>x)", "x"), "bad character in group name '1' at position 4");
  EXPECT_EQ(match("\xc3\xa9(", "a"), "missing ), unterminated subpattern at position 1");
  EXPECT_EQ(match("(?i", "a"), "missing -, : or ) at position 3");
  EXPECT_EQ(match("(?i-i:a)", "a"), "bad inline flags: flag turned on and off at position 5");
  EXPECT_EQ(match("(?(2)a|b)(x)", "x"), "invalid group reference 2 at position 3");
  EXPECT_EQ(match("(?(n)a|b)", "x"), "unknown group name 'n' at position 3");
  EXPECT_EQ(match("[a-\\d]", "a"), "bad character range a-\\d at position 1");
  EXPECT_EQ(match("[\xd1\x8f-\xd0\xb0]", "a"),
            "bad character range \xd1\x8f-\xd0\xb0 at position 1");
  EXPECT_EQ(match("^*", "a"), "nothing to repeat at position 1");
  EXPECT_EQ(match("(?(1)a|b|c)(x)", "x").find("mpc cannot match this pattern: "), 0u);
}

TEST(PathPattern, MatchesShareABudget) {
  renewMatchBudget();
  // The first may take as long as it likes, and takes it from the others.
  const PathPattern hostile("(a+)+$"), plain("enc/.*");
  const std::string path = std::string(24, 'a') + "b";
  bool refused = false;
  for (unsigned layer = 0; layer < 200 && !refused; ++layer) {
    llvm::Expected<bool> result = hostile.fullMatch(path);
    refused = !result;
    if (!result)
      EXPECT_NE(llvm::toString(result.takeError()).find("for all keys and layers together"),
                std::string::npos);
    else
      EXPECT_FALSE(*result);
  }
  EXPECT_TRUE(refused);
  llvm::Expected<bool> behind = plain.fullMatch("enc/dense");
  EXPECT_FALSE(bool(behind));
  llvm::consumeError(behind.takeError());
  renewMatchBudget();
  // A thousand layers and a hundred keys that mean well.
  for (unsigned layer = 0; layer < 100'000; ++layer)
    EXPECT_TRUE(llvm::cantFail(plain.fullMatch("enc/dense")));
}

TEST(PathPattern, HostileKeysEnd) {
  renewMatchBudget();
  EXPECT_EQ(match("(?=(a*)*b)?" + std::string(20, 'a') + "c", "x"), "no match");
  std::string result = match("(?:(?:a|aa)+)+$(?!a)c?(?:a*)*(?<=x)", std::string(60, 'a'));
  EXPECT_NE(result, "match");
  renewMatchBudget();
  EXPECT_NE(match(std::string(100000, '('), "a").find("limit"), std::string::npos);
  EXPECT_NE(match(std::string(1000, '('), "a").find("nested"), std::string::npos);
  EXPECT_NE(match("a{70000}", "a").find("limit"), std::string::npos);
  EXPECT_NE(match("\xff", "a").find("UTF-8"), std::string::npos);
  EXPECT_NE(match(".*", "\xff").find("UTF-8"), std::string::npos);
}
