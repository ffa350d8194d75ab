// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens, escapes, sets and inline flags of Python regular expressions (re/_parser.py of 3.11).
#include "PythonRegex.h"
#include "PythonRepr.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Unicode.h"

using namespace mpc;
using namespace mpc::python_regex;

std::string mpc::python_regex::toUTF8(const Text &text) {
  std::string out;
  for (char32_t c : text) {
    char buffer[UNI_MAX_UTF8_BYTES_PER_CODE_POINT];
    char *end = buffer;
    if (llvm::ConvertCodePointToUTF8(c, end))
      out.append(buffer, end);
  }
  return out;
}

std::string mpc::python_regex::reprOf(const Text &text) {
  return pythonRepr(llvm::StringRef(toUTF8(text)));
}

std::optional<Text> mpc::python_regex::fromUTF8(llvm::StringRef utf8) {
  Text out(utf8.size(), 0);
  const auto *from = reinterpret_cast<const llvm::UTF8 *>(utf8.bytes_begin());
  auto *to = reinterpret_cast<llvm::UTF32 *>(out.data());
  auto *end = to + out.size();
  if (llvm::ConvertUTF8toUTF32(&from, utf8.bytes_end(), &to, end, llvm::strictConversion) !=
      llvm::conversionOK)
    return std::nullopt;
  out.resize(reinterpret_cast<char32_t *>(to) - out.data());
  return out;
}

void Scanner::advance() {
  next.clear();
  if (failed() || index >= pattern.size())
    return;
  next.push_back(pattern[index++]);
  if (next[0] != '\\')
    return;
  if (index >= pattern.size()) {
    next.clear();
    return failAt("bad escape (end of pattern)", pattern.size() - 1);
  }
  next.push_back(pattern[index++]);
}

bool Scanner::match(char32_t c) {
  if (next.size() != 1 || next[0] != c)
    return false;
  advance();
  return true;
}

Text Scanner::get() {
  Text token = next;
  advance();
  return token;
}

Text Scanner::getWhile(int n, llvm::StringRef set) {
  Text out;
  for (int i = 0; i < n && next.size() == 1 && next[0] < 128; ++i) {
    if (!set.contains(static_cast<char>(next[0])))
      break;
    out += get();
  }
  return out;
}

Text Scanner::getUntil(char32_t terminator, llvm::StringRef what) {
  Text out;
  while (true) {
    bool ended = atEnd();
    Text token = get();
    if (ended) {
      if (out.empty())
        fail("missing " + what);
      else
        fail("missing " + llvm::Twine(static_cast<char>(terminator)) + ", unterminated name",
             out.size());
      return out;
    }
    if (token.size() == 1 && token[0] == terminator) {
      if (out.empty())
        fail("missing " + what, 1);
      return out;
    }
    out += token;
  }
}

void Scanner::seek(size_t position) {
  index = position;
  advance();
}

void Scanner::failAt(const llvm::Twine &text, size_t position) {
  if (failed())
    return;
  message = (text + " at position " + llvm::Twine(position)).str();
  if (pattern.find('\n') != Text::npos) {
    size_t line = 1, lineStart = 0;
    for (size_t i = 0; i < position && i < pattern.size(); ++i)
      if (pattern[i] == '\n') {
        ++line;
        lineStart = i + 1;
      }
    message += " (line " + std::to_string(line) + ", column " +
               std::to_string(position - lineStart + 1) + ")";
  }
  next.clear();
}

/// The character of \a \f \n \r \t \v \\, and of \b inside sets.
static std::optional<uint32_t> simpleEscape(char32_t c) {
  switch (c) {
  case 'a':
    return 7;
  case 'f':
    return 12;
  case 'n':
    return 10;
  case 'r':
    return 13;
  case 't':
    return 9;
  case 'v':
    return 11;
  case '\\':
    return '\\';
  default:
    return std::nullopt;
  }
}

static std::optional<Category> categoryEscape(char32_t c) {
  switch (c) {
  case 'd':
    return Category::Digit;
  case 'D':
    return Category::NotDigit;
  case 's':
    return Category::Space;
  case 'S':
    return Category::NotSpace;
  case 'w':
    return Category::Word;
  case 'W':
    return Category::NotWord;
  default:
    return std::nullopt;
  }
}

static uint32_t parseNumber(const Text &digits, unsigned base) {
  uint64_t value = 0;
  for (char32_t digit : digits)
    value = value * base + llvm::hexDigitValue(static_cast<char>(digit));
  return static_cast<uint32_t>(std::min<uint64_t>(value, UINT32_MAX));
}

static constexpr llvm::StringLiteral octalDigits = "01234567";

std::optional<uint32_t> Translator::parseCodePointEscape(Text &token, bool inSet) {
  char32_t c = token[1];
  if (c == 'x' || c == 'u' || c == 'U') {
    int count = c == 'x' ? 2 : c == 'u' ? 4 : 8;
    token += scanner.getWhile(count, "0123456789abcdefABCDEF");
    if (token.size() != static_cast<size_t>(count) + 2) {
      scanner.fail("incomplete escape " + toUTF8(token), token.size());
      return std::nullopt;
    }
    uint32_t value = parseNumber(token.substr(2), 16);
    if (value > 0x10ffff) {
      scanner.fail("bad escape " + toUTF8(token), token.size());
      return std::nullopt;
    }
    return value;
  }
  if (c == 'N') {
    if (!scanner.match('{')) {
      scanner.fail("missing {");
      return std::nullopt;
    }
    Text name = scanner.getUntil('}', "character name");
    if (scanner.failed())
      return std::nullopt;
    std::string upper = llvm::StringRef(toUTF8(name)).upper();
    if (std::optional<char32_t> found = llvm::sys::unicode::nameToCodepointStrict(upper))
      return *found;
    scanner.fail("undefined character name " + reprOf(name), name.size() + 4);
    return std::nullopt;
  }
  bool octal = inSet ? c < 128 && octalDigits.contains(static_cast<char>(c)) : c == '0';
  if (!octal)
    return std::nullopt;
  token += scanner.getWhile(2, octalDigits);
  uint32_t value = parseNumber(token.substr(1), 8);
  if (value > 0377)
    scanner.fail("octal escape value " + toUTF8(token) + " outside of range 0-0o377", token.size());
  return value;
}

void Translator::parseEscape(const Text &given, unsigned flags, Sequence &out) {
  Text token = given;
  char32_t c = token[1];
  auto position = [&](std::string text) {
    out.items.push_back({Item::Position, std::move(text), 0, 0});
  };
  auto literal = [&](uint32_t value) {
    out.items.push_back({Item::Atom, emitLiteral(value, flags), 1, 1});
  };
  if (c == 'A')
    return position("\\A");
  if (c == 'Z')
    return position("\\z");
  if (c == 'b')
    return position(emitBoundary(flags));
  if (c == 'B')
    return position(emitNotBoundary(flags));
  if (std::optional<Category> category = categoryEscape(c)) {
    CharacterSet set;
    set.categories.push_back(*category);
    out.items.push_back({Item::Atom, emitSet(set, flags), 1, 1});
    return;
  }
  if (std::optional<uint32_t> value = simpleEscape(c))
    return literal(*value);
  if (std::optional<uint32_t> value = parseCodePointEscape(token, /*inSet=*/false))
    return literal(*value);
  if (scanner.failed())
    return;
  if (c < 128 && llvm::isDigit(static_cast<char>(c))) {
    // An octal escape of three digits, or the number of a group.
    Text digit = scanner.getWhile(1, "0123456789");
    token += digit;
    auto isOctal = [&](char32_t d) { return d >= '0' && d <= '7'; };
    if (!digit.empty() && isOctal(token[1]) && isOctal(token[2])) {
      Text third = scanner.getWhile(1, octalDigits);
      if (!third.empty()) {
        token += third;
        uint32_t value = parseNumber(token.substr(1), 8);
        if (value > 0377)
          return scanner.fail("octal escape value " + toUTF8(token) + " outside of range 0-0o377",
                              token.size());
        return literal(value);
      }
    }
    uint64_t group = parseNumber(token.substr(1), 10);
    if (group >= groupWidths.size())
      return scanner.fail("invalid group reference " + llvm::Twine(group), token.size() - 1);
    if (!isClosed(group))
      return scanner.fail("cannot refer to an open group", token.size());
    checkLookBehindGroup(group);
    return addReference(group, flags, out);
  }
  if (c < 128 && llvm::isAlpha(static_cast<char>(c)))
    return scanner.fail("bad escape " + toUTF8(token), token.size());
  literal(c);
}

bool Translator::parseSetMember(const Text &given, std::optional<uint32_t> &c, Category &category) {
  Text token = given;
  c.reset();
  if (token[0] != '\\') {
    c = token[0];
    return true;
  }
  char32_t escaped = token[1];
  if (escaped == 'b')
    c = 8;
  else if (std::optional<Category> found = categoryEscape(escaped))
    category = *found;
  else if (!(c = simpleEscape(escaped)) && !(c = parseCodePointEscape(token, /*inSet=*/true))) {
    if (escaped < 128 && llvm::isAlnum(static_cast<char>(escaped)))
      scanner.fail("bad escape " + toUTF8(token), token.size());
    c = escaped;
  }
  return !scanner.failed();
}

void Translator::parseSet(unsigned flags, Sequence &out) {
  size_t here = scanner.tell() - 1;
  CharacterSet set;
  set.negated = scanner.match('^');
  auto unterminated = [&] { scanner.fail("unterminated character set", scanner.tell() - here); };
  auto isEmpty = [&] { return set.ranges.empty() && set.categories.empty(); };
  auto add = [&](std::optional<uint32_t> c, Category category) {
    if (c)
      set.ranges.push_back({*c, *c});
    else
      set.categories.push_back(category);
  };
  while (true) {
    Text token = scanner.get();
    if (token.empty())
      return unterminated();
    if (token == U"]" && !isEmpty())
      break;
    std::optional<uint32_t> low, high;
    Category category = Category::Digit, unused = Category::Digit;
    if (!parseSetMember(token, low, category))
      return;
    if (!scanner.match('-')) {
      add(low, category);
      continue;
    }
    Text last = scanner.get();
    if (last.empty())
      return unterminated();
    if (last == U"]") {
      add(low, category);
      set.ranges.push_back({'-', '-'});
      break;
    }
    if (!parseSetMember(last, high, unused))
      return;
    if (!low || !high || *high < *low)
      return scanner.fail("bad character range " + toUTF8(token) + "-" + toUTF8(last),
                          token.size() + 1 + last.size());
    set.ranges.push_back({*low, *high});
  }
  out.items.push_back({Item::Atom, emitSet(set, flags), 1, 1});
}

static unsigned flagOf(const Text &token) {
  switch (token.size() == 1 ? token[0] : 0) {
  case 'i':
    return IgnoreCase;
  case 'L':
    return Locale;
  case 'm':
    return Multiline;
  case 's':
    return DotAll;
  case 'x':
    return Verbose;
  case 'a':
    return Ascii;
  case 't':
    return Template;
  case 'u':
    return Unicode;
  default:
    return 0;
  }
}

std::optional<std::pair<unsigned, unsigned>> Translator::parseFlags(Text token) {
  constexpr unsigned typeFlags = Ascii | Locale | Unicode;
  unsigned added = 0, removed = 0;
  auto unknown = [&](llvm::StringRef missing) {
    // str.isalpha(); a letter beyond ASCII is told as a missing sign.
    bool letter = token.size() == 1 && token[0] < 128 && llvm::isAlpha(static_cast<char>(token[0]));
    scanner.fail(letter ? llvm::StringRef("unknown flag") : missing, token.size());
  };
  if (token != U"-") {
    while (true) {
      unsigned flag = flagOf(token);
      if (flag == Locale)
        scanner.fail("bad inline flags: cannot use 'L' flag with a str pattern");
      added |= flag;
      if ((flag & typeFlags) && (added & typeFlags) != flag)
        scanner.fail("bad inline flags: flags 'a', 'u' and 'L' are incompatible");
      token = scanner.get();
      if (token.empty())
        scanner.fail("missing -, : or )");
      if (scanner.failed() || token == U")" || token == U"-" || token == U":")
        break;
      if (!flagOf(token)) {
        unknown("missing -, : or )");
        break;
      }
    }
  }
  if (scanner.failed())
    return std::nullopt;
  if (token == U")") {
    globalFlags |= added;
    return std::nullopt;
  }
  if (added & Template)
    scanner.fail("bad inline flags: cannot turn on global flag", 1);
  if (token == U"-") {
    token = scanner.get();
    if (token.empty())
      scanner.fail("missing flag");
    else if (!flagOf(token))
      unknown("missing flag");
    while (!scanner.failed()) {
      unsigned flag = flagOf(token);
      if (flag & typeFlags)
        scanner.fail("bad inline flags: cannot turn off flags 'a', 'u' and 'L'");
      removed |= flag;
      token = scanner.get();
      if (token.empty())
        scanner.fail("missing :");
      if (scanner.failed() || token == U":")
        break;
      if (!flagOf(token))
        unknown("missing :");
    }
  }
  if (removed & Template)
    scanner.fail("bad inline flags: cannot turn off global flag", 1);
  if (added & removed)
    scanner.fail("bad inline flags: flag turned on and off", 1);
  return std::make_pair(added, removed);
}
