// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Python's atoms in PCRE2 syntax. Sources: Python 3.11's re/_compiler.py, re/_casefix.py and
// _sre.c for the meaning; pcre2pattern(3) for the spelling.
#include "PythonRegexEmitter.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mpc::python_regex;

static std::string codePoint(uint32_t c) {
  if (c < 128 && llvm::isAlnum(static_cast<char>(c)))
    return std::string(1, static_cast<char>(c));
  return "\\x{" + llvm::utohexstr(c, /*LowerCase=*/true) + "}";
}

/// The inside of a PCRE2 class that holds the category, or of one that holds what it leaves out.
static const char *classBody(Category category, unsigned flags) {
  bool ascii = flags & Ascii;
  switch (category) {
  case Category::Digit:
  case Category::NotDigit:
    return ascii ? "0-9" : "\\p{Nd}";
  case Category::Word:
  case Category::NotWord:
    return ascii ? "0-9A-Za-z_" : "\\p{L}\\p{N}_";
  case Category::Space:
  case Category::NotSpace:
    // str.isspace(): also the separators U+001C to U+001F, which PCRE2's \s leaves out.
    return ascii ? "\\x{9}-\\x{d}\\x{20}"
                 : "\\x{9}-\\x{d}\\x{1c}-\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}"
                   "\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}";
  }
  return "";
}

static bool isComplement(Category category) {
  return category == Category::NotDigit || category == Category::NotSpace ||
         category == Category::NotWord;
}

/// Adds what Python's caseless comparison adds beyond Unicode simple case folding (Unicode mode),
/// or all of it (ASCII mode, where PCRE2's caseless option would fold too much).
static void closeOverCase(std::vector<std::pair<uint32_t, uint32_t>> &ranges, unsigned flags) {
  auto contains = [&](uint32_t c) {
    return llvm::any_of(ranges, [&](auto &range) { return range.first <= c && c <= range.second; });
  };
  if (flags & Ascii) {
    auto original = ranges;
    for (auto &[low, high] : original)
      for (auto [from, to, delta] : {std::tuple('A', 'Z', 32), std::tuple('a', 'z', -32)}) {
        uint32_t first = std::max<uint32_t>(low, from), last = std::min<uint32_t>(high, to);
        if (first <= last)
          ranges.push_back({first + delta, last + delta});
      }
    return;
  }
  // Python lowers U+0130 to 'i' and treats U+0131 as another 'i' (re/_casefix.py).
  static constexpr uint32_t dotted[] = {0x49, 0x69, 0x130, 0x131};
  if (llvm::any_of(dotted, contains))
    for (uint32_t c : dotted)
      ranges.push_back({c, c});
}

std::string mpc::python_regex::emitSet(const CharacterSet &set, unsigned flags) {
  auto ranges = set.ranges;
  bool caseless = (flags & IgnoreCase) && !ranges.empty();
  if (caseless)
    closeOverCase(ranges, flags);
  std::string body;
  for (auto [low, high] : ranges)
    body += low == high ? codePoint(low) : codePoint(low) + "-" + codePoint(high);
  bool hasComplement = false;
  for (Category category : set.categories) {
    if (isComplement(category))
      hasComplement = true;
    else
      body += classBody(category, flags);
  }
  std::string open = caseless && !(flags & Ascii) ? "(?i:" : "(?:";
  if (!hasComplement)
    return open + (set.negated ? "[^" : "[") + body + "])";

  // A class cannot hold the complement of several classes: a union of alternatives instead.
  std::string any = body.empty() ? "" : "[" + body + "]";
  for (Category category : set.categories)
    if (isComplement(category))
      any += (any.empty() ? "[^" : "|[^") + std::string(classBody(category, flags)) + "]";
  return set.negated ? open + "(?!" + any + ")(?s:.))" : open + any + ")";
}

std::string mpc::python_regex::emitLiteral(uint32_t c, unsigned flags) {
  if (!(flags & IgnoreCase))
    return codePoint(c);
  CharacterSet set;
  set.ranges.push_back({c, c});
  return emitSet(set, flags);
}

std::string mpc::python_regex::emitAny(unsigned flags) {
  return flags & DotAll ? "(?s:.)" : "[^\\x{a}]";
}

std::string mpc::python_regex::emitLineStart(unsigned flags) {
  return flags & Multiline ? "(?:\\A|(?<=\\x{a}))" : "\\A";
}

std::string mpc::python_regex::emitLineEnd(unsigned flags) {
  return flags & Multiline ? "(?=\\x{a}|\\z)" : "(?=\\x{a}?\\z)";
}

std::string mpc::python_regex::emitBoundary(unsigned flags) {
  std::string word = "[" + std::string(classBody(Category::Word, flags)) + "]";
  return "(?:(?<=" + word + ")(?!" + word + ")|(?<!" + word + ")(?=" + word + "))";
}

std::string mpc::python_regex::emitNotBoundary(unsigned flags) {
  std::string word = "[" + std::string(classBody(Category::Word, flags)) + "]";
  return "(?:(?!\\A\\z)(?:(?<=" + word + ")(?=" + word + ")|(?<!" + word + ")(?!" + word + ")))";
}

std::string mpc::python_regex::emitBackReference(unsigned group, unsigned flags) {
  std::string reference = "\\g{" + std::to_string(group) + "}";
  return flags & IgnoreCase ? "(?i:" + reference + ")" : "(?:" + reference + ")";
}
