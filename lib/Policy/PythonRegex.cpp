// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Python's regular expressions as people write them in keys, checked and spelled for PCRE2. Both
// languages mean the same by most of the syntax, which is copied; what they read differently is
// rewritten, and what is left is refused by name.
#include "lib/Policy/PythonRepr.h"
#include "mpc/Policy/PathPattern.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/JSON.h"
#include <map>

using namespace mpc;

static constexpr size_t kMaxBytes = 1 << 14;
static constexpr size_t kMaxDepth = 200;
/// PCRE2's bound on a repeat.
static constexpr uint64_t kMaxRepeat = 65535;

/// Bytes of UTF-8 that only go on with a character.
static bool continues(char c) { return (c & 0xc0) == 0x80; }
static bool isOneOf(char c, llvm::StringRef set) { return set.contains(c); }

namespace {

/// Goes over a pattern once. Each function consumes one construct, appends its spelling to `out`
/// and returns whether it was well formed; the first error sticks.
class Translator {
public:
  explicit Translator(llvm::StringRef pattern) : pattern(pattern) {}
  llvm::Expected<std::string> run();

private:
  /// A parenthesis that is still open.
  struct Group {
    size_t position;
    uint64_t number; ///< 0: it captures nothing
    bool verbose;    ///< outside of it
  };
  /// Tells whether there is something for a quantifier to repeat.
  enum class Last { Nothing, Atom, Repeat };

  bool translateOne();
  bool translateEscape();
  bool translateSet();
  bool translateSetMember(std::string &character);
  bool translateRepeat();
  bool openGroup();
  bool openExtension(size_t start);
  bool openNamed(size_t start);
  bool translateFlags(size_t start);
  bool translateCondition(size_t start);
  bool closeGroup();
  bool translateReference(uint64_t number, size_t position);
  bool push(size_t start, bool captures, llvm::StringRef spelling);

  bool atEnd() const { return next >= pattern.size(); }
  bool match(llvm::StringRef text);
  /// Copies up to `end`, and the rest of its last character.
  void copy(size_t end);
  llvm::StringRef getUntil(char terminator);
  bool fail(const llvm::Twine &text, size_t position);
  /// Python takes it, mpc does not.
  bool refuse(const llvm::Twine &what, const llvm::Twine &instead, size_t position);

  const llvm::StringRef pattern; ///< valid UTF-8
  size_t next = 0;
  std::string out, message;
  size_t globalFlagsEnd = 0; ///< in `out`
  bool verbose = false;
  Last last = Last::Nothing;
  llvm::SmallVector<Group> open;
  llvm::StringMap<uint64_t> names;
  uint64_t captures = 0;
  /// The groups that `(?(1)…)` names; one may come later.
  std::map<uint64_t, size_t> conditions;
};

} // namespace

bool Translator::fail(const llvm::Twine &text, size_t position) {
  const size_t characters = position - llvm::count_if(pattern.take_front(position), continues);
  message = (text + " at position " + llvm::Twine(characters)).str();
  return false;
}

bool Translator::refuse(const llvm::Twine &what, const llvm::Twine &instead, size_t position) {
  return fail("mpc takes no " + what + " in keys of a policy map; write " + instead + ":",
              position);
}

bool Translator::match(llvm::StringRef text) {
  const bool matches = pattern.substr(next).starts_with(text);
  next += matches ? text.size() : 0;
  return matches;
}

void Translator::copy(size_t end) {
  while (end < pattern.size() && continues(pattern[end]))
    ++end;
  out += pattern.slice(next, end);
  next = end;
}

/// Empty where the terminator, or what it ends, is missing.
llvm::StringRef Translator::getUntil(char terminator) {
  const llvm::StringRef text = pattern.slice(next, pattern.find(terminator, next));
  if (next + text.size() >= pattern.size())
    return {};
  next += text.size() + 1;
  return text;
}

llvm::Expected<std::string> Translator::run() {
  while (!atEnd() && translateOne())
    ;
  if (message.empty() && !open.empty())
    fail("missing ), unterminated subpattern", open.back().position);
  for (auto [group, position] : conditions)
    if (message.empty() && group > captures)
      fail("invalid group reference " + llvm::Twine(group), position);
  if (!message.empty())
    return llvm::make_error<PolicyError>(PolicyErrorKind::Regex, message);
  return out;
}

bool Translator::translateOne() {
  const char c = pattern[next];
  // The white space of verbose patterns is left out here: PCRE2 counts other characters to it.
  if (verbose && llvm::isSpace(c)) {
    ++next;
    return true;
  }
  if (verbose && c == '#') {
    next = std::min(pattern.find('\n', next), pattern.size());
    return true;
  }
  switch (c) {
  case '\\':
    return translateEscape();
  case '[':
    return translateSet();
  case '*':
  case '+':
  case '?':
  case '{':
    return translateRepeat();
  case '(':
    return openGroup();
  case ')':
    return closeGroup();
  case '|':
  case '^':
  case '$':
    last = Last::Nothing;
    copy(next + 1);
    return true;
  default:
    last = Last::Atom;
    copy(next + 1);
    return true;
  }
}

bool Translator::translateEscape() {
  const size_t start = next;
  if (start + 1 >= pattern.size())
    return fail("bad escape (end of pattern)", start);
  const char c = pattern[start + 1];
  const bool isPosition = isOneOf(c, "AZbB");
  last = isPosition ? Last::Nothing : Last::Atom;
  if (c == 'Z') {
    next += 2;
    out += "\\z";
    return true;
  }
  if (c == '0') {
    if (start + 2 < pattern.size() && llvm::isDigit(pattern[start + 2]))
      return refuse("octal escapes", "the character, or \\xhh", start);
    copy(start + 2);
    return true;
  }
  if (llvm::isDigit(c)) {
    next += 2;
    uint64_t number = c - '0';
    if (!atEnd() && llvm::isDigit(pattern[next]))
      number = number * 10 + (pattern[next++] - '0');
    if (!atEnd() && llvm::isDigit(pattern[next]))
      return refuse("octal escapes", "the character, or \\xhh", start);
    return translateReference(number, start);
  }
  if (c == 'x' || c == 'u') {
    const llvm::StringRef digits = pattern.substr(start + 2, c == 'x' ? 2 : 4);
    uint32_t value = 0;
    if (digits.size() != (c == 'x' ? 2 : 4) || !llvm::all_of(digits, llvm::isHexDigit))
      return fail("incomplete escape " + pattern.substr(start, 2), start);
    digits.getAsInteger(16, value);
    if (value >= 0xd800 && value < 0xe000)
      return refuse("surrogates", "the character", start);
    next = start + 2 + digits.size();
    out += "\\x{" + digits.str() + "}";
    return true;
  }
  if (isOneOf(c, "UN"))
    return refuse("escapes \\" + llvm::Twine(c), "the character", start);
  if (c == 'v') { // PCRE2's is any vertical space.
    next += 2;
    out += "\\x0b";
    return true;
  }
  if (llvm::isAlpha(c) && !isPosition && !isOneOf(c, "dDsSwWafnrt"))
    return fail("bad escape \\" + llvm::Twine(c), start);
  copy(start + 2);
  return true;
}

bool Translator::translateReference(uint64_t number, size_t position) {
  if (number > captures)
    return fail("invalid group reference " + llvm::Twine(number), position + 1);
  if (llvm::any_of(open, [&](const Group &group) { return group.number == number; }))
    return fail("cannot refer to an open group", position);
  out += "\\g{" + std::to_string(number) + "}";
  return true;
}

/// The character of \xhh and \uhhhh in UTF-8.
static std::string hexCharacter(llvm::StringRef digits) {
  uint32_t value = 0;
  digits.getAsInteger(16, value);
  char buffer[UNI_MAX_UTF8_BYTES_PER_CODE_POINT];
  char *end = buffer;
  llvm::ConvertCodePointToUTF8(value, end);
  return std::string(buffer, end);
}

/// One member of a set. `character` is in UTF-8, whose order is that of the code points; it is
/// empty for a category.
bool Translator::translateSetMember(std::string &character) {
  const size_t start = next;
  const char c = pattern[start];
  if (c != '\\') {
    if (c == '[' || c == ']') // PCRE2 reads [: as a class of POSIX.
      out += '\\';
    copy(next + 1);
    character = pattern.slice(start, next).str();
    return true;
  }
  const char escaped = start + 1 < pattern.size() ? pattern[start + 1] : ' ';
  if (isOneOf(escaped, "1234567"))
    return refuse("octal escapes", "the character, or \\xhh", start);
  if (isOneOf(escaped, "ABZ89"))
    return fail("bad escape \\" + llvm::Twine(escaped), start);
  if (!translateEscape())
    return false;
  if (isOneOf(escaped, "dDsSwW"))
    character.clear();
  else if (escaped == 'x' || escaped == 'u')
    character = hexCharacter(pattern.slice(start + 2, next));
  else if (size_t control = llvm::StringRef("abtnvfr").find(escaped);
           control != llvm::StringRef::npos)
    character = std::string(1, static_cast<char>(control + '\a'));
  else
    character = escaped == '0' ? std::string(1, '\0') : pattern.slice(start + 1, next).str();
  return true;
}

bool Translator::translateSet() {
  const size_t start = next;
  copy(start + 1);
  if (match("^"))
    out += "^";
  for (bool first = true; first || !match("]"); first = false) {
    std::string low, high;
    const size_t member = next;
    if (atEnd())
      return fail("unterminated character set", start);
    if (!translateSetMember(low))
      return false;
    if (!match("-"))
      continue;
    // In front of the bracket a hyphen stands for itself.
    const bool isRange = !atEnd() && pattern[next] != ']';
    out += isRange ? "-" : "\\-";
    if (!isRange)
      continue;
    if (!translateSetMember(high))
      return false;
    if (low.empty() || high.empty() || high < low)
      return fail("bad character range " + pattern.slice(member, next), member);
  }
  out += "]";
  last = Last::Atom;
  return true;
}

bool Translator::translateRepeat() {
  const size_t start = next;
  std::string spelling(1, pattern[next++]);
  if (spelling == "{") {
    const llvm::StringRef bounds = getUntil('}');
    auto [lowText, highText] = bounds.split(',');
    if (bounds.empty() || !llvm::all_of(bounds, [](char c) { return isOneOf(c, "0123456789,"); }) ||
        highText.contains(',')) {
      next = start + 1;
      out += "\\{"; // It stands for itself.
      last = Last::Atom;
      return true;
    }
    uint64_t low = 0, high = kMaxRepeat;
    if ((!lowText.empty() && lowText.getAsInteger(10, low)) || low > kMaxRepeat ||
        (!highText.empty() && highText.getAsInteger(10, high)) || high > kMaxRepeat)
      return fail("a repetition number is above " + llvm::Twine(kMaxRepeat) + ", mpc's limit,",
                  start);
    if (high < low)
      return fail("min repeat greater than max repeat", start + 1);
    spelling = "{" + std::to_string(low) + (bounds.contains(',') ? "," + highText.str() : "") + "}";
  }
  if (last != Last::Atom)
    return fail(last == Last::Repeat ? "multiple repeat" : "nothing to repeat", start);
  out += spelling;
  if (match("?"))
    out += "?";
  else if (match("+"))
    out += "+";
  last = Last::Repeat;
  return true;
}

bool Translator::push(size_t start, bool isCapture, llvm::StringRef spelling) {
  if (open.size() >= kMaxDepth)
    return fail("groups are nested more than " + llvm::Twine(kMaxDepth) + " deep", start);
  open.push_back({start, isCapture ? ++captures : 0, verbose});
  out += spelling;
  last = Last::Nothing;
  return true;
}

bool Translator::closeGroup() {
  if (open.empty())
    return fail("unbalanced parenthesis", next);
  verbose = open.back().verbose;
  open.pop_back();
  out += ")";
  ++next;
  last = Last::Atom;
  return true;
}

bool Translator::openGroup() {
  const size_t start = next++;
  return match("?") ? openExtension(start) : push(start, true, "(");
}

bool Translator::openExtension(size_t start) {
  for (const char *kind : {":", ">", "=", "!", "<=", "<!"})
    if (match(kind))
      return push(start, false, std::string("(?") + kind);
  if (atEnd())
    return fail("unexpected end of pattern", next);
  const char c = pattern[next];
  if (c == '#')
    return getUntil(')').empty() ? fail("missing ), unterminated comment", start) : true;
  if (match("P"))
    return openNamed(start);
  if (match("("))
    return translateCondition(start);
  if (llvm::isAlpha(c) || c == '-')
    return translateFlags(start);
  return fail("unknown extension ?" + pattern.substr(next, c == '<' ? 2 : 1), start + 1);
}

bool Translator::openNamed(size_t start) {
  const bool isReference = match("=");
  if (!isReference && !match("<"))
    return fail("unknown extension ?P" + pattern.substr(next, 1), start + 1);
  const size_t position = next;
  const llvm::StringRef name = getUntil(isReference ? ')' : '>');
  const std::string shown = pythonRepr(name);
  const auto isOfName = [](char c) { return c == '_' || llvm::isAlnum(c); };
  if (name.empty() || llvm::isDigit(name.front()) || !llvm::all_of(name, isOfName))
    return fail("bad character in group name " + shown, position);
  if (isReference) {
    last = Last::Atom;
    if (!names.contains(name))
      return fail("unknown group name " + shown, position);
    return translateReference(names[name], position);
  }
  if (!push(start, true, "("))
    return false;
  if (auto [found, isNew] = names.insert({name, captures}); !isNew)
    return fail("redefinition of group name " + shown + " as group " + llvm::Twine(captures) +
                    "; was group " + llvm::Twine(found->second),
                position);
  return true;
}

/// `(?(1)yes|no)`; PCRE2 has more kinds of conditions.
bool Translator::translateCondition(size_t start) {
  const size_t position = next;
  const llvm::StringRef name = getUntil(')');
  uint64_t group = names.lookup(name);
  if (group == 0 && (!llvm::all_of(name, llvm::isDigit) || name.getAsInteger(10, group)))
    return fail("unknown group name " + pythonRepr(name), position);
  if (group == 0)
    return fail("bad group number", position);
  conditions.insert({group, position});
  return push(start, false, "(?(" + std::to_string(group) + ")");
}

/// `(?i)` at the start, and `(?i-s:…)` anywhere.
bool Translator::translateFlags(size_t start) {
  std::string added, removed;
  std::string *flags = &added;
  for (; !atEnd() && pattern[next] != ')' && pattern[next] != ':'; ++next) {
    const char c = pattern[next];
    if (c == '-' && flags == &added) {
      flags = &removed;
      continue;
    }
    if (isOneOf(c, "aLtu"))
      return refuse("flag '" + llvm::Twine(c) + "'", "i, m, s or x", next);
    if (!isOneOf(c, "imsx"))
      return fail("unknown extension ?" + pattern.substr(start + 2, 1), start + 1);
    if (!llvm::is_contained(*flags, c))
      *flags += c;
  }
  if (atEnd())
    return fail("missing -, : or )", next);
  const bool isGlobal = pattern[next++] == ')';
  if (isGlobal && !removed.empty())
    return fail("missing :", next - 1);
  if (isGlobal && out.size() != globalFlagsEnd)
    return fail("global flags not at the start of the expression", start);
  if (llvm::any_of(added, [&](char c) { return llvm::is_contained(removed, c); }))
    return fail("bad inline flags: flag turned on and off", next - 1);
  const bool outer = verbose;
  verbose = (verbose || llvm::is_contained(added, 'x')) && !llvm::is_contained(removed, 'x');
  llvm::erase(added, 'x');
  llvm::erase(removed, 'x');
  const std::string change = added + (removed.empty() ? "" : "-" + removed);
  if (isGlobal) {
    out += change.empty() ? "" : "(?" + change + ")";
    globalFlagsEnd = out.size();
    return true;
  }
  if (!push(start, false, "(?" + change + ":"))
    return false;
  open.back().verbose = outer;
  return true;
}

llvm::Expected<std::string> mpc::translatePythonRegex(llvm::StringRef utf8) {
  if (utf8.size() > kMaxBytes)
    return llvm::make_error<PolicyError>(PolicyErrorKind::Regex,
                                         "the pattern has " + std::to_string(utf8.size()) +
                                             " bytes; mpc's limit is " + std::to_string(kMaxBytes));
  if (!llvm::json::isUTF8(utf8))
    return llvm::make_error<PolicyError>(PolicyErrorKind::Regex, "the pattern is not valid UTF-8");
  return Translator(utf8).run();
}
