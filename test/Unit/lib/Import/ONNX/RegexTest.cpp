// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Patterns as automata: what they match, how small they are, what is refused and why. Random texts
// against Python are in test/ONNX/texts.py.
#include "lib/Import/ONNX/CaseMapping.h"
#include "lib/Import/ONNX/Regex/Automaton.h"

#include <gtest/gtest.h>

using namespace mpc::onnx;

namespace {

bool matches(llvm::StringRef pattern, llvm::StringRef text) {
  llvm::Expected<Automaton> automaton = makeAutomaton(pattern);
  if (!automaton) {
    ADD_FAILURE() << pattern.str() << ": " << llvm::toString(automaton.takeError());
    return false;
  }
  return automaton->matches(*decodeText(text));
}

std::string faultOf(llvm::StringRef pattern) {
  llvm::Expected<Automaton> automaton = makeAutomaton(pattern);
  return automaton ? "" : llvm::toString(automaton.takeError());
}

size_t countStates(llvm::StringRef pattern) { return makeAutomaton(pattern)->accepts.size(); }

} // namespace

TEST(Regex, TakesWholeTexts) {
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_TRUE(matches("a|bc*", "bccc"));
  EXPECT_FALSE(matches("a|bc*", "abc"));
  EXPECT_TRUE(matches(R"(www\.[\w.-]+\.\bcom\b)", "www.google.com"));
  EXPECT_FALSE(matches(R"(www\.[\w.-]+\.\bcom\b)", "www.bbc.co.uk"));
  EXPECT_TRUE(matches("(|a)+", "aaa"));
  EXPECT_TRUE(matches("(a*)*", ""));
  EXPECT_TRUE(matches("(?P<name>x)(?<other>y)(?:z)", "xyz"));
}

TEST(Regex, BoundariesLookAtBothSides) {
  EXPECT_TRUE(matches("^a$", "a"));
  EXPECT_FALSE(matches("a^b", "ab"));
  EXPECT_TRUE(matches("(^|,)a(,|$)", "a,"));
  EXPECT_FALSE(matches("a$\n", "a\n")); // $ is the end of the text alone
  EXPECT_TRUE(matches("(?m)a$\n^b", "a\nb"));
  EXPECT_TRUE(matches(R"(\Aa\z)", "a"));
  EXPECT_TRUE(matches(R"(a\b \bb)", "a b"));
  EXPECT_FALSE(matches(R"(a\bb)", "ab"));
  EXPECT_TRUE(matches(R"(a\Bb)", "ab"));
  EXPECT_FALSE(matches(R"(\b)", ""));
  EXPECT_TRUE(matches(R"(\B)", ""));
}

TEST(Regex, ClassesAndEscapes) {
  EXPECT_TRUE(matches(R"([]a-]+)", "]a-"));
  EXPECT_TRUE(matches(R"([^]a])", "b"));
  EXPECT_FALSE(matches(R"([^]a])", "]"));
  EXPECT_TRUE(matches(R"([[:alpha:]\d_]+)", "aZ9_"));
  EXPECT_FALSE(matches("\\s", "\v")); // RE2's has no vertical tab
  EXPECT_TRUE(matches(R"(\x41\x{1F600}\101\t\Qa.b\E)", "A\xf0\x9f\x98\x80"
                                                       "A\ta.b"));
  EXPECT_FALSE(matches(".", "\n"));
  EXPECT_TRUE(matches("(?s).", "\n"));
  EXPECT_TRUE(matches("[^a]", "\n"));
  EXPECT_TRUE(matches("a{,2}{", "a{,2}{"));
  EXPECT_TRUE(matches("(?i)stra\xc3\x9f"
                      "e",
                      "STRA\xe1\xba\x9e"
                      "E"));
  EXPECT_TRUE(matches("(?i)k", "\xe2\x84\xaa")); // the sign of Kelvin
  EXPECT_FALSE(matches("(?i)i", "\xc4\xb1"));    // the i without dot
  EXPECT_TRUE(matches("(?i:a)(?-i)b", "Ab"));
  EXPECT_FALSE(matches("(?i:a)b", "AB"));
}

TEST(Regex, IsTheSmallestAutomaton) {
  EXPECT_EQ(countStates("a"), 3u); // before, behind, and no way back
  EXPECT_EQ(countStates("a*"), 2u);
  EXPECT_EQ(countStates("(?s).*"), 1u);
  EXPECT_EQ(countStates("(a|b)(a|b)|aa|ab"), 4u);
  // The last but one of texts of a and b: two of them are remembered.
  EXPECT_EQ(countStates("[ab]*a[ab]"), 5u);
}

TEST(Regex, RefusesByName) {
  EXPECT_EQ(faultOf("a(?=b)"), "looks ahead, which is not regular, at character 2");
  EXPECT_EQ(faultOf("(?<!a)b"), "looks behind, which is not regular, at character 3");
  EXPECT_EQ(faultOf(R"((a)\1)"), "has an escape that RE2 does not know at character 5");
  EXPECT_EQ(faultOf(R"(\pL)"),
            "names a class of Unicode or a byte (\\p, \\P, \\C), which is not supported, at "
            "character 0");
  EXPECT_EQ(faultOf("(a"), "has a '(' without ')' at character 2");
  EXPECT_EQ(faultOf("a)"), "has a ')' without '(' at character 1");
  EXPECT_EQ(faultOf("[a"), "has a '[' without ']' at character 2");
  EXPECT_EQ(faultOf("*a"), "repeats nothing at character 0");
  EXPECT_EQ(faultOf("a**"), "repeats a repeat at character 3");
  EXPECT_NE(faultOf("a{2000}").find("at most 1000"), std::string::npos);
  EXPECT_NE(faultOf("[z-a]").find("whose end is before its start"), std::string::npos);
  EXPECT_NE(faultOf("[[:nothing:]]").find("the class 'nothing'"), std::string::npos);
  EXPECT_NE(faultOf("(?z)a").find("flags that RE2 does not know"), std::string::npos);
  EXPECT_EQ(faultOf("\xff"), "is no UTF-8, or has U+0000");
  EXPECT_NE(faultOf(std::string(300, '(') + std::string(300, ')')).find("more than 200 groups"),
            std::string::npos);
}

TEST(Regex, LimitsWhatPatternsAskFor) {
  EXPECT_NE(faultOf("((a{1000}){1000}){1000}").find("more than 20000 places"), std::string::npos);
  // 2^30 states.
  EXPECT_NE(faultOf("[ab]*a[ab]{30}").find("more than 10000 states"), std::string::npos);
}

TEST(CodePoints, AreThoseOfSoundText) {
  EXPECT_EQ(*decodeText("a\xc3\xa9\xf0\x9f\x98\x80"), (std::vector<int32_t>{'a', 0xe9, 0x1f600}));
  EXPECT_TRUE(decodeText("")->empty());
  EXPECT_FALSE(decodeText("\xc3"));         // cut off
  EXPECT_FALSE(decodeText("\xc0\xaf"));     // a slash in two bytes
  EXPECT_FALSE(decodeText("\xed\xa0\x80")); // a surrogate
  EXPECT_FALSE(decodeText(llvm::StringRef("a\0b", 3)));
  int64_t width = 0;
  EXPECT_EQ(*decodeTexts({"ab", "", "c"}, width), (std::vector<int64_t>{'a', 'b', 0, 0, 'c', 0}));
  EXPECT_EQ(width, 2);
  EXPECT_TRUE(decodeTexts({}, width)->empty());
  EXPECT_EQ(width, 1);
}

TEST(CodePoints, TablesHaveEveryNumber) {
  std::vector<int32_t> numbers(size_t(kCodePointLimit), 7);
  numbers[0] = 1;
  numbers[300] = 2;
  numbers.back() = 3;
  const CodePointTable table(numbers);
  EXPECT_EQ(table.numbers.size(), 4u * CodePointTable::kPage);
  for (size_t point = 0; point < numbers.size(); ++point)
    ASSERT_EQ(
        table.numbers[size_t(table.pages[point >> 8]) * CodePointTable::kPage + (point & 255)],
        numbers[point]);
}

TEST(CodePoints, CaseMappingsAreUnicodes) {
  const auto lower = makeCaseMapping(Case::lower), upper = makeCaseMapping(Case::upper);
  const auto change = [](const std::vector<int32_t> &mapping, int32_t point) {
    return point + mapping[size_t(point)];
  };
  EXPECT_EQ(change(lower, 'A'), 'a');
  EXPECT_EQ(change(upper, 'z'), 'Z');
  EXPECT_EQ(change(upper, 0xdf), 0xdf); // two letters would be another length
  EXPECT_EQ(change(lower, 0x130), 'i');
  EXPECT_EQ(change(lower, 0x3a3), 0x3c3);
  EXPECT_EQ(change(upper, 0x1fb3), 0x1fbc);
  EXPECT_EQ(change(lower, 0x10400), 0x10428);
  EXPECT_EQ(change(lower, '1'), '1');
}
