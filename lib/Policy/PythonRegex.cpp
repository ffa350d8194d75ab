// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sequences, groups and repeats of Python regular expressions, after Python 3.11's re/_parser.py,
// so that the same patterns are accepted and the same texts say why one is not.
#include "PythonRegex.h"
#include "PythonRepr.h"
#include "mpc/Policy/DTypePolicy.h"
#include "mpc/Policy/PathPattern.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mpc;
using namespace mpc::python_regex;

/// Python's MAXREPEAT and MAXWIDTH; MAXWIDTH is 2^64 there, and nothing tells it from 2^63.
static constexpr uint64_t maxRepeat = 4294967295, maxWidth = uint64_t(1) << 63;
static constexpr uint64_t maxGroups = 1073741823;
/// PCRE2's own bound on a repeat. Paths are not longer either, so a larger maximum means none.
static constexpr uint64_t pcreMaxRepeat = 65535;
static constexpr int maxDepth = 200;

static uint64_t saturate(unsigned __int128 value) {
  return value > maxWidth ? maxWidth : static_cast<uint64_t>(value);
}

std::string Sequence::text() const {
  std::string out;
  for (const Item &item : items)
    out += item.text;
  return out;
}

uint64_t Sequence::minWidth() const {
  unsigned __int128 sum = 0;
  for (const Item &item : items)
    sum += item.minWidth;
  return saturate(sum);
}

uint64_t Sequence::maxWidth() const {
  unsigned __int128 sum = 0;
  for (const Item &item : items)
    sum += item.maxWidth;
  return saturate(sum);
}

llvm::Expected<std::string> Translator::run() {
  Item item = parseAlternatives(globalFlags, 0);
  if (!scanner.failed() && (globalFlags & Ascii) && (globalFlags & Unicode))
    return valueError("ASCII and UNICODE flags are incompatible");
  if (!scanner.atEnd())
    scanner.fail("unbalanced parenthesis");
  for (auto &[group, position] : conditionPositions)
    if (!scanner.failed() && group >= groupWidths.size())
      scanner.failAt("invalid group reference " + llvm::Twine(group), position);
  if (scanner.failed())
    return llvm::make_error<PolicyError>(PolicyErrorKind::Regex, scanner.getMessage());
  if (!compileError.empty())
    return llvm::make_error<PolicyError>(PolicyErrorKind::Regex, compileError);
  return item.text;
}

Item Translator::parseAlternatives(unsigned flags, int depth) {
  Item out;
  if (depth > maxDepth) {
    scanner.fail("groups are nested more than " + llvm::Twine(maxDepth) + " deep");
    return out;
  }
  bool first = true;
  do {
    Sequence sequence = parseSequence(flags, depth + 1, depth == 0 && first);
    uint64_t low = sequence.minWidth(), high = sequence.maxWidth();
    out.minWidth = first ? low : std::min(out.minWidth, low);
    out.maxWidth = first ? high : std::max(out.maxWidth, high);
    out.text += (first ? "" : "|") + sequence.text();
    first = false;
  } while (scanner.match('|'));
  out.text = "(?:" + out.text + ")";
  return out;
}

Sequence Translator::parseSequence(unsigned &flags, int depth, bool first) {
  Sequence out;
  while (!scanner.atEnd()) {
    if (scanner.peek() == U"|" || scanner.peek() == U")")
      break;
    Text token = scanner.get();
    char32_t c = token[0];
    if (flags & Verbose) {
      if (token.size() == 1 && c < 128 && llvm::isSpace(static_cast<char>(c)))
        continue;
      if (c == '#') {
        while (!scanner.atEnd() && scanner.get() != U"\n")
          ;
        continue;
      }
    }
    if (c == '\\')
      parseEscape(token, flags, out);
    else if (c == '[')
      parseSet(flags, out);
    else if (c == '*' || c == '+' || c == '?' || c == '{')
      parseRepeat(token, flags, out);
    else if (c == '(')
      parseGroup(flags, depth, first, out);
    else if (c == '.')
      out.items.push_back({Item::Atom, emitAny(flags), 1, 1});
    else if (c == '^')
      out.items.push_back({Item::Position, emitLineStart(flags), 0, 0});
    else if (c == '$')
      out.items.push_back({Item::Position, emitLineEnd(flags), 0, 0});
    else
      out.items.push_back({Item::Atom, emitLiteral(c, flags), 1, 1});
  }
  return out;
}

/// The number of a `{m,n}` bound; beyond Python's limit it is an OverflowError there.
static uint64_t parseBound(const Text &digits, Scanner &scanner) {
  uint64_t value = 0;
  for (char32_t digit : digits) {
    value = value * 10 + (digit - '0');
    if (value >= maxRepeat) {
      scanner.fail("the repetition number is too large");
      return 0;
    }
  }
  return value;
}

void Translator::parseRepeat(const Text &token, unsigned flags, Sequence &out) {
  size_t here = scanner.tell();
  uint64_t low = token == U"+" ? 1 : 0, high = token == U"?" ? 1 : maxRepeat;
  if (token == U"{") {
    if (scanner.peek() == U"}") {
      out.items.push_back({Item::Atom, emitLiteral('{', flags), 1, 1});
      return;
    }
    constexpr int noLimit = 1 << 30;
    Text lowDigits = scanner.getWhile(noLimit, "0123456789"), highDigits = lowDigits;
    if (scanner.match(','))
      highDigits = scanner.getWhile(noLimit, "0123456789");
    if (!scanner.match('}')) {
      out.items.push_back({Item::Atom, emitLiteral('{', flags), 1, 1});
      scanner.seek(here);
      return;
    }
    if (!lowDigits.empty())
      low = parseBound(lowDigits, scanner);
    if (!highDigits.empty()) {
      high = parseBound(highDigits, scanner);
      if (high < low)
        scanner.fail("min repeat greater than max repeat", scanner.tell() - here);
    }
  }
  size_t offset = scanner.tell() - here + token.size();
  if (out.items.empty() || out.items.back().kind == Item::Position)
    return scanner.fail("nothing to repeat", offset);
  Item &item = out.items.back();
  if (item.kind == Item::Repeat)
    return scanner.fail("multiple repeat", offset);
  if (globalFlags & Template)
    failCompilation("internal: unsupported template operator MAX_REPEAT");
  if (low > pcreMaxRepeat)
    failCompilation("the repetition number " + llvm::Twine(low) + " is larger than " +
                    llvm::Twine(pcreMaxRepeat) + ", mpc's limit");

  std::string bounds = "{" + std::to_string(low) + ",";
  if (high <= pcreMaxRepeat)
    bounds += std::to_string(high);
  item.text = "(?:" + item.text + ")" + bounds + "}";
  if (scanner.match('?'))
    item.text += "?";
  else if (scanner.match('+'))
    item.text += "+";
  item.kind = Item::Repeat;
  item.minWidth = saturate((unsigned __int128)item.minWidth * low);
  item.maxWidth = high == maxRepeat && item.maxWidth
                      ? maxWidth
                      : saturate((unsigned __int128)item.maxWidth * high);
}

void Translator::parseGroup(unsigned &flags, int depth, bool first, Sequence &out) {
  size_t start = scanner.tell() - 1;
  Group opened{true, false, {}, flags};
  if (scanner.match('?')) {
    std::optional<Group> extension = parseExtension(start, flags, depth, first, out);
    if (!extension)
      return;
    opened = std::move(*extension);
  }
  uint64_t number = groupWidths.size();
  if (opened.captures && !scanner.failed())
    openCapture(opened.name);
  Item body = parseAlternatives(opened.flags, depth + 1);
  if (!scanner.match(')'))
    scanner.fail("missing ), unterminated subpattern", scanner.tell() - start);
  if (scanner.failed())
    return;
  if (opened.captures) {
    groupWidths[number] = {body.minWidth, body.maxWidth};
    body.text = "(" + body.text + ")";
  } else if (opened.isAtomic) {
    body.text = "(?>" + body.text + ")";
  }
  out.items.push_back(std::move(body));
}

void Translator::openCapture(const Text &name) {
  uint64_t number = groupWidths.size();
  groupWidths.push_back(std::nullopt);
  if (!name.empty() && !groupNames.insert({name, number}).second)
    scanner.fail("redefinition of group name " + reprOf(name) + " as group " + llvm::Twine(number) +
                     "; was group " + llvm::Twine(groupNames[name]),
                 name.size() + 1);
}

std::optional<Group> Translator::parseExtension(size_t start, unsigned &flags, int depth,
                                                bool first, Sequence &out) {
  Text token = scanner.get();
  if (token.empty()) {
    scanner.fail("unexpected end of pattern");
    return std::nullopt;
  }
  char32_t c = token.size() == 1 ? token[0] : 0;
  switch (c) {
  case 'P':
    return parseNamed(flags, out);
  case ':':
    return Group{false, false, {}, flags};
  case '>':
    return Group{false, true, {}, flags};
  case '#':
    skipComment(start);
    return std::nullopt;
  case '=':
  case '!':
  case '<':
    parseAssertion(c, start, flags, depth, out);
    return std::nullopt;
  case '(':
    parseConditional(start, flags, depth, out);
    return std::nullopt;
  default:
    break;
  }
  if (c && c < 128 && llvm::StringRef("iLmsxatu-").contains(static_cast<char>(c)))
    return parseFlagGroup(token, start, flags, first && out.items.empty());
  scanner.fail("unknown extension ?" + toUTF8(token), token.size() + 1);
  return std::nullopt;
}

std::optional<Group> Translator::parseNamed(unsigned flags, Sequence &out) {
  if (scanner.match('=')) {
    parseNamedReference(flags, out);
    return std::nullopt;
  }
  if (!scanner.match('<')) {
    Text extension = scanner.get();
    if (extension.empty())
      scanner.fail("unexpected end of pattern");
    else
      scanner.fail("unknown extension ?P" + toUTF8(extension), extension.size() + 2);
    return std::nullopt;
  }
  Text name = scanner.getUntil('>', "group name");
  if (!scanner.failed() && !isIdentifier(name))
    scanner.fail("bad character in group name " + reprOf(name), name.size() + 1);
  return Group{true, false, std::move(name), flags};
}

void Translator::skipComment(size_t start) {
  do {
    if (scanner.atEnd())
      return scanner.fail("missing ), unterminated comment", scanner.tell() - start);
  } while (scanner.get() != U")");
}

std::optional<Group> Translator::parseFlagGroup(const Text &token, size_t start, unsigned &flags,
                                                bool atStart) {
  std::optional<std::pair<unsigned, unsigned>> change = parseFlags(token);
  if (scanner.failed())
    return std::nullopt;
  if (!change) {
    if (!atStart)
      scanner.fail("global flags not at the start of the expression", scanner.tell() - start);
    flags = globalFlags;
    return std::nullopt;
  }
  unsigned inner = flags;
  if (change->first & (Ascii | Unicode))
    inner &= ~(Ascii | Unicode);
  return Group{false, false, {}, (inner | change->first) & ~change->second};
}

void Translator::checkLookBehindGroup(uint64_t group) {
  if (!lookBehindGroups)
    return;
  if (!isClosed(group))
    scanner.fail("cannot refer to an open group");
  else if (group >= *lookBehindGroups)
    scanner.fail("cannot refer to group defined in the same lookbehind subpattern");
}

void Translator::addReference(uint64_t group, unsigned flags, Sequence &out) {
  if (scanner.failed() || !isClosed(group))
    return;
  out.items.push_back({Item::Atom, emitBackReference(group, flags), groupWidths[group]->first,
                       groupWidths[group]->second});
}

void Translator::parseNamedReference(unsigned flags, Sequence &out) {
  Text name = scanner.getUntil(')', "group name");
  if (scanner.failed())
    return;
  if (!isIdentifier(name))
    return scanner.fail("bad character in group name " + reprOf(name), name.size() + 1);
  auto found = groupNames.find(name);
  if (found == groupNames.end())
    return scanner.fail("unknown group name " + reprOf(name), name.size() + 1);
  if (!isClosed(found->second))
    return scanner.fail("cannot refer to an open group", name.size() + 1);
  checkLookBehindGroup(found->second);
  addReference(found->second, flags, out);
}

void Translator::parseAssertion(char32_t direction, size_t start, unsigned flags, int depth,
                                Sequence &out) {
  bool behind = direction == '<', outermost = false;
  Text sign(1, direction);
  if (behind) {
    sign = scanner.get();
    if (sign.empty())
      return scanner.fail("unexpected end of pattern");
    if (sign != U"=" && sign != U"!")
      return scanner.fail("unknown extension ?<" + toUTF8(sign), sign.size() + 2);
    outermost = !lookBehindGroups;
    if (outermost)
      lookBehindGroups = groupWidths.size();
  }
  Item body = parseAlternatives(flags, depth + 1);
  if (outermost)
    lookBehindGroups.reset();
  if (!scanner.match(')'))
    scanner.fail("missing ), unterminated subpattern", scanner.tell() - start);
  if (scanner.failed())
    return;
  if (behind && body.minWidth > maxRepeat)
    failCompilation("looks too much behind");
  if (behind && body.minWidth != body.maxWidth)
    failCompilation("look-behind requires fixed-width pattern");
  out.items.push_back({Item::Atom, (behind ? "(?<" : "(?") + toUTF8(sign) + body.text + ")", 0, 0});
}

void Translator::parseConditional(size_t start, unsigned flags, int depth, Sequence &out) {
  Text name = scanner.getUntil(')', "group name");
  if (scanner.failed())
    return;
  std::string shown = toUTF8(name);
  uint64_t group = 0;
  if (isIdentifier(name)) {
    auto found = groupNames.find(name);
    if (found == groupNames.end())
      return scanner.fail("unknown group name " + reprOf(name), name.size() + 1);
    group = found->second;
  } else {
    std::optional<PythonInteger> number = parsePythonInteger(shown);
    if (!number || number->value < 0)
      return scanner.fail("bad character in group name " + reprOf(name), name.size() + 1);
    if (number->value == 0)
      return scanner.fail("bad group number", name.size() + 1);
    if (static_cast<uint64_t>(number->value) >= maxGroups)
      return scanner.fail("invalid group reference " + number->text, name.size() + 1);
    group = number->value;
    conditionPositions.insert({group, scanner.tell() - name.size() - 1});
  }
  checkLookBehindGroup(group);
  Sequence yes = parseSequence(flags, depth + 1, false), no;
  bool hasNo = scanner.match('|');
  if (hasNo) {
    no = parseSequence(flags, depth + 1, false);
    if (scanner.peek() == U"|")
      return scanner.fail("conditional backref with more than two branches");
  }
  if (!scanner.match(')'))
    scanner.fail("missing ), unterminated subpattern", scanner.tell() - start);
  out.items.push_back(
      {Item::Atom,
       "(?(" + std::to_string(group) + ")" + yes.text() + (hasNo ? "|" + no.text() : "") + ")",
       hasNo ? std::min(yes.minWidth(), no.minWidth()) : 0,
       std::max(yes.maxWidth(), no.maxWidth())});
}

llvm::Expected<std::string> mpc::translatePythonRegex(llvm::StringRef utf8) {
  constexpr size_t maxBytes = 1 << 14;
  if (utf8.size() > maxBytes)
    return llvm::make_error<PolicyError>(PolicyErrorKind::Regex,
                                         "the pattern has " + std::to_string(utf8.size()) +
                                             " bytes; mpc's limit is " + std::to_string(maxBytes));
  std::optional<Text> text = fromUTF8(utf8);
  if (!text)
    return llvm::make_error<PolicyError>(PolicyErrorKind::Regex, "the pattern is not valid UTF-8");
  return Translator(std::move(*text)).run();
}
