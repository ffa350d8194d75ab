// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Regex/Syntax.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Errc.h"

namespace mpc::onnx {

using Tree = std::unique_ptr<RegexNode>;

const CodePointSet &getWordCharacters() {
  static const CodePointSet word{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
  return word;
}

namespace {

constexpr int kMostRepeats = 1000; // as RE2
constexpr unsigned kMostDepth = 200;
constexpr size_t kMostCharacters = 1 << 14;

const CodePointSet *findPerlClass(int32_t letter) {
  static const CodePointSet digits{{'0', '9'}}, spaces{{'\t', '\n'}, {'\f', '\r'}, {' ', ' '}};
  switch (letter) {
  case 'd':
    return &digits;
  case 's':
    return &spaces;
  case 'w':
    return &getWordCharacters();
  default:
    return nullptr;
  }
}

/// The class in [:name:]; an empty set where there is none.
CodePointSet findPosixClass(llvm::StringRef name) {
  return llvm::StringSwitch<CodePointSet>(name)
      .Case("alnum", {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}})
      .Case("alpha", {{'A', 'Z'}, {'a', 'z'}})
      .Case("ascii", {{0, 0x7f}})
      .Case("blank", {{'\t', '\t'}, {' ', ' '}})
      .Case("cntrl", {{0, 0x1f}, {0x7f, 0x7f}})
      .Case("digit", {{'0', '9'}})
      .Case("graph", {{'!', '~'}})
      .Case("lower", {{'a', 'z'}})
      .Case("print", {{' ', '~'}})
      .Case("punct", {{'!', '/'}, {':', '@'}, {'[', '`'}, {'{', '~'}})
      .Case("space", {{'\t', '\r'}, {' ', ' '}})
      .Case("upper", {{'A', 'Z'}})
      .Case("word", getWordCharacters())
      .Case("xdigit", {{'0', '9'}, {'A', 'F'}, {'a', 'f'}})
      .Default({});
}

/// Goes over the pattern once, by recursive descent. The first error sticks, and what is read
/// behind it means nothing.
class Parser {
public:
  explicit Parser(std::vector<int32_t> pattern) : pattern(std::move(pattern)) {}

  llvm::Expected<Tree> run() {
    Tree tree = parseChoice();
    if (message.empty() && !atEnd())
      fail("has a ')' without '('");
    if (!message.empty())
      return llvm::createStringError(llvm::errc::invalid_argument, message);
    return tree;
  }

private:
  struct Flags {
    bool foldsCase = false, isMultiLine = false, dotTakesNewline = false;
  };

  bool atEnd() const { return next >= pattern.size(); }
  bool isAt(llvm::StringRef text) const {
    for (size_t i = 0; i < text.size(); ++i)
      if (next + i >= pattern.size() || pattern[next + i] != text[i])
        return false;
    return true;
  }
  bool take(llvm::StringRef text) {
    if (!isAt(text))
      return false;
    next += text.size();
    return true;
  }
  Tree fail(const llvm::Twine &text) {
    if (message.empty())
      message = (text + " at character " + llvm::Twine(next)).str();
    next = pattern.size();
    return std::make_unique<RegexNode>();
  }

  static Tree make(RegexNode::Kind kind) {
    auto node = std::make_unique<RegexNode>();
    node->kind = kind;
    return node;
  }
  Tree makeSet(CodePointSet set) const {
    Tree node = make(RegexNode::Kind::set);
    if (flags.foldsCase)
      set.addOtherCase();
    node->set = std::move(set);
    return node;
  }
  static Tree makeBoundary(Boundary boundary) {
    Tree node = make(RegexNode::Kind::boundary);
    node->boundary = boundary;
    return node;
  }

  Tree parseChoice();
  Tree parseSequence();
  Tree parseAtom();
  Tree parseGroup();
  bool parseFlags();
  Tree parseEscape();
  Tree parseQuoted();
  Tree parseClass();
  bool parseNamedClass(CodePointSet &set);
  /// A code point, which may be escaped; false after an error.
  bool parseCharacter(int32_t &point);
  bool parseEscapedCharacter(int32_t &point);
  bool parseHexadecimal(int32_t &point);
  /// Whether a repeat begins here, which is read.
  bool parseRepeat(int &least, int &most);
  bool parseCount(int &count);

  const std::vector<int32_t> pattern;
  size_t next = 0;
  unsigned depth = 0;
  Flags flags;
  std::string message;
};

Tree Parser::parseChoice() {
  if (++depth > kMostDepth)
    return fail("has more than " + llvm::Twine(kMostDepth) + " groups inside of each other");
  Tree choice = make(RegexNode::Kind::choice);
  do
    choice->children.push_back(parseSequence());
  while (take("|"));
  --depth;
  return choice->children.size() == 1 ? std::move(choice->children.front()) : std::move(choice);
}

Tree Parser::parseSequence() {
  Tree sequence = make(RegexNode::Kind::sequence);
  while (!atEnd() && !isAt("|") && !isAt(")")) {
    Tree atom = parseAtom();
    const bool isNothing = !atom; // flags for the rest
    int least = 0, most = 0;
    if (parseRepeat(least, most)) {
      if (isNothing)
        return fail("repeats nothing");
      take("?"); // the fewest: the same texts
      Tree repeat = make(RegexNode::Kind::repeat);
      repeat->least = least;
      repeat->most = most;
      repeat->children.push_back(std::move(atom));
      atom = std::move(repeat);
      if (parseRepeat(least, most))
        return fail("repeats a repeat");
    }
    if (atom)
      sequence->children.push_back(std::move(atom));
  }
  return sequence;
}

bool Parser::parseCount(int &count) {
  const size_t first = next;
  count = 0;
  while (!atEnd() && pattern[next] >= '0' && pattern[next] <= '9')
    count = std::min(10 * count + (pattern[next++] - '0'), 10 * kMostRepeats);
  return next > first;
}

bool Parser::parseRepeat(int &least, int &most) {
  if (isAt("*") || isAt("+") || isAt("?")) {
    least = isAt("+") ? 1 : 0;
    most = isAt("?") ? 1 : -1;
    ++next;
    return true;
  }
  const size_t first = next;
  if (!take("{"))
    return false;
  if (parseCount(least)) {
    most = least;
    const bool isRange = take(",");
    if (isRange && !parseCount(most))
      most = -1;
    if (take("}")) {
      if (least > kMostRepeats || most > kMostRepeats || (most >= 0 && most < least))
        fail("repeats a wrong number of times (at most " + llvm::Twine(kMostRepeats) + ")");
      return true;
    }
  }
  next = first; // a brace that stands for itself
  return false;
}

Tree Parser::parseAtom() {
  if (take("("))
    return parseGroup();
  if (take("["))
    return parseClass();
  if (isAt("\\"))
    return parseEscape();
  if (take(".")) {
    CodePointSet newline{{'\n', '\n'}};
    if (flags.dotTakesNewline)
      newline = {};
    newline.negate();
    Tree node = make(RegexNode::Kind::set);
    node->set = std::move(newline);
    return node;
  }
  if (take("^"))
    return makeBoundary(flags.isMultiLine ? Boundary::beginOfLine : Boundary::beginOfText);
  if (take("$"))
    return makeBoundary(flags.isMultiLine ? Boundary::endOfLine : Boundary::endOfText);
  if (isAt("*") || isAt("+") || isAt("?"))
    return fail("repeats nothing");
  const int32_t point = pattern[next++];
  return makeSet({{point, point}});
}

/// Behind '('. Null where the parentheses hold flags for what follows.
Tree Parser::parseGroup() {
  const Flags outer = flags;
  if (take("?P<") || take("?<")) {
    if (isAt("=") || isAt("!"))
      return fail("looks behind, which is not regular,");
    const size_t first = next;
    while (!atEnd() && !isAt(">"))
      if (!getWordCharacters().contains(pattern[next++]))
        return fail("has a group with a name of other characters than letters");
    if (next == first || !take(">"))
      return fail("has a group without a name");
  } else if (isAt("?=") || isAt("?!")) {
    return fail("looks ahead, which is not regular,");
  } else if (take("?")) {
    if (!parseFlags())
      return fail("has flags that RE2 does not know");
    if (take(")"))
      return nullptr;
    if (!take(":"))
      return fail("has flags that RE2 does not know");
  }
  Tree inner = parseChoice();
  flags = outer;
  if (!take(")"))
    return fail("has a '(' without ')'");
  return inner;
}

bool Parser::parseFlags() {
  bool value = true;
  for (; !atEnd() && !isAt(":") && !isAt(")"); ++next) {
    switch (pattern[next]) {
    case 'i':
      flags.foldsCase = value;
      break;
    case 'm':
      flags.isMultiLine = value;
      break;
    case 's':
      flags.dotTakesNewline = value;
      break;
    case 'U': // which repeats are greedy
      break;
    case '-':
      if (!value)
        return false;
      value = false;
      break;
    default:
      return false;
    }
  }
  return true;
}

Tree Parser::parseQuoted() {
  Tree sequence = make(RegexNode::Kind::sequence);
  while (!atEnd() && !take("\\E")) {
    const int32_t point = pattern[next++];
    sequence->children.push_back(makeSet({{point, point}}));
  }
  return sequence;
}

Tree Parser::parseEscape() {
  if (take("\\A"))
    return makeBoundary(Boundary::beginOfText);
  if (take("\\z"))
    return makeBoundary(Boundary::endOfText);
  if (take("\\b"))
    return makeBoundary(Boundary::word);
  if (take("\\B"))
    return makeBoundary(Boundary::noWord);
  if (take("\\Q"))
    return parseQuoted();
  CodePointSet named;
  if (parseNamedClass(named)) {
    Tree node = make(RegexNode::Kind::set);
    node->set = std::move(named);
    return node;
  }
  int32_t point = 0;
  if (!parseCharacter(point))
    return fail("has an escape that RE2 does not know");
  return makeSet({{point, point}});
}

/// \d, [:alpha:] and the like; their case is folded already.
bool Parser::parseNamedClass(CodePointSet &set) {
  if (isAt("\\") && next + 1 < pattern.size()) {
    const int32_t letter = pattern[next + 1];
    if (letter == 'p' || letter == 'P' || letter == 'C') {
      fail("names a class of Unicode or a byte (\\p, \\P, \\C), which is not supported,");
      return true;
    }
    const int32_t small = letter | 0x20;
    const CodePointSet *known =
        letter == small || letter == (small & ~0x20) ? findPerlClass(small) : nullptr;
    if (!known)
      return false;
    next += 2;
    set = *known;
    if (flags.foldsCase)
      set.addOtherCase();
    if (letter != small)
      set.negate();
    return true;
  }
  const size_t first = next;
  if (!take("[:"))
    return false;
  const bool isNegated = take("^");
  std::string name;
  while (!atEnd() && pattern[next] >= 'a' && pattern[next] <= 'z')
    name += char(pattern[next++]);
  if (!take(":]")) {
    next = first;
    return false;
  }
  set = findPosixClass(name);
  if (set.getRanges().empty()) {
    fail("names the class '" + name + "', which RE2 does not know,");
    return true;
  }
  if (flags.foldsCase)
    set.addOtherCase();
  if (isNegated)
    set.negate();
  return true;
}

Tree Parser::parseClass() {
  const bool isNegated = take("^");
  CodePointSet set, single;
  for (bool isFirst = true; isFirst || !isAt("]"); isFirst = false) {
    if (atEnd())
      return fail("has a '[' without ']'");
    CodePointSet named;
    if (parseNamedClass(named)) {
      set.add(named);
      continue;
    }
    int32_t low = 0, high = 0;
    if (!parseCharacter(low))
      return fail("has an escape that RE2 does not know");
    high = low;
    if (isAt("-") && next + 1 < pattern.size() && pattern[next + 1] != ']') {
      ++next;
      if (!parseCharacter(high) || high < low)
        return fail("has a range whose end is before its start");
    }
    single.add(low, high);
  }
  ++next;
  if (flags.foldsCase)
    single.addOtherCase();
  set.add(single);
  if (isNegated)
    set.negate();
  Tree node = make(RegexNode::Kind::set);
  node->set = std::move(set);
  return node;
}

bool Parser::parseCharacter(int32_t &point) {
  if (atEnd())
    return false;
  if (!take("\\")) {
    point = pattern[next++];
    return true;
  }
  return !atEnd() && parseEscapedCharacter(point);
}

bool Parser::parseHexadecimal(int32_t &point) {
  const bool hasBraces = take("{");
  size_t digits = 0;
  point = 0;
  while (!atEnd() && pattern[next] < 0x80 && llvm::isHexDigit(char(pattern[next])) &&
         (hasBraces || digits < 2)) {
    point = 16 * point + int32_t(llvm::hexDigitValue(char(pattern[next++])));
    ++digits;
    if (point >= kCodePointLimit)
      return false;
  }
  return hasBraces ? digits > 0 && take("}") : digits == 2;
}

bool Parser::parseEscapedCharacter(int32_t &point) {
  static constexpr llvm::StringLiteral letters("aftnrv"), meant("\a\f\t\n\r\v");
  const int32_t letter = pattern[next++];
  if (letter == 'x')
    return parseHexadecimal(point);
  if (letter >= '0' && letter <= '7') {
    // One digit but 0 would be a group that has matched.
    const auto isOctal = [&] { return !atEnd() && pattern[next] >= '0' && pattern[next] <= '7'; };
    if (letter != '0' && !isOctal())
      return false;
    point = letter - '0';
    for (int digits = 1; digits < 3 && isOctal(); ++digits)
      point = 8 * point + (pattern[next++] - '0');
    return true;
  }
  if (letter >= 0x80 || letter == '8' || letter == '9')
    return false;
  if (const size_t known = letters.find(char(letter)); known != llvm::StringRef::npos) {
    point = meant[known];
    return true;
  }
  point = letter;
  return !llvm::isAlnum(char(letter));
}

} // namespace

llvm::Expected<Tree> parseRegex(llvm::StringRef pattern) {
  std::optional<std::vector<int32_t>> points = decodeText(pattern);
  if (!points || points->size() > kMostCharacters)
    return llvm::createStringError(llvm::errc::invalid_argument,
                                   points ? "is longer than " + std::to_string(kMostCharacters) +
                                                " characters"
                                          : "is no UTF-8, or has U+0000");
  return Parser(std::move(*points)).run();
}

} // namespace mpc::onnx
