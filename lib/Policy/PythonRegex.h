// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The scanner and the state of the translation of Python regular expressions.
#ifndef MPC_LIB_POLICY_PYTHONREGEX_H
#define MPC_LIB_POLICY_PYTHONREGEX_H

#include "PythonRegexEmitter.h"
#include "mpc/Policy/PolicyError.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace mpc::python_regex {

using Text = std::u32string;

std::string toUTF8(const Text &text);
/// `%r` of a name.
std::string reprOf(const Text &text);
std::optional<Text> fromUTF8(llvm::StringRef utf8);
/// str.isidentifier().
bool isIdentifier(const Text &name);

/// Python's sre tokenizer: a token is one character, or a backslash and the next one; empty at the
/// end. The first error sticks; after it every token is empty, so that all loops end.
class Scanner {
public:
  explicit Scanner(Text pattern) : pattern(std::move(pattern)) { advance(); }

  const Text &peek() const { return next; }
  bool atEnd() const { return next.empty(); }
  bool match(char32_t c);
  Text get();
  /// Up to n tokens out of `set`.
  Text getWhile(int n, llvm::StringRef set);
  /// The text before the terminator, which is consumed. Sets an error when it is missing.
  Text getUntil(char32_t terminator, llvm::StringRef what);
  size_t tell() const { return index - next.size(); }
  void seek(size_t position);

  bool failed() const { return !message.empty(); }
  /// `source.error(text, offset)`: the position is that of the next token minus the offset.
  void fail(const llvm::Twine &text, size_t offset = 0) { failAt(text, tell() - offset); }
  void failAt(const llvm::Twine &text, size_t position);
  const std::string &getMessage() const { return message; }

private:
  void advance();

  Text pattern;
  Text next;
  size_t index = 0;
  std::string message;
};

/// One element of a sequence, already in PCRE2 syntax.
struct Item {
  enum Kind { Atom, Position, Repeat };
  Kind kind = Atom;
  std::string text;
  /// Characters matched, as SubPattern.getwidth() counts them.
  uint64_t minWidth = 0, maxWidth = 0;
};

/// Characters of an alternative or of a whole group.
struct Sequence {
  std::vector<Item> items;

  std::string text() const;
  uint64_t minWidth() const;
  uint64_t maxWidth() const;
};

/// How a parenthesis opens a group, and the flags that hold inside.
struct Group {
  bool captures, isAtomic;
  Text name; ///< empty: it has none
  unsigned flags;
};

class Translator {
public:
  explicit Translator(Text pattern) : scanner(std::move(pattern)) {}
  llvm::Expected<std::string> run();

private:
  Item parseAlternatives(unsigned flags, int depth);
  Sequence parseSequence(unsigned &flags, int depth, bool first);
  void parseEscape(const Text &token, unsigned flags, Sequence &out);
  /// \x \u \U \N and octal escapes; nothing for the others.
  std::optional<uint32_t> parseCodePointEscape(Text &token, bool inSet);
  void parseSet(unsigned flags, Sequence &out);
  /// One member of a set: a code point or a category.
  bool parseSetMember(const Text &token, std::optional<uint32_t> &c, Category &category);
  void parseRepeat(const Text &token, unsigned flags, Sequence &out);
  void parseGroup(unsigned &flags, int depth, bool first, Sequence &out);
  /// What follows `(?`. Nothing when that is no group with a body, or an error: all of it is parsed
  /// then. `start` is the place of the parenthesis; global flags change `flags`.
  std::optional<Group> parseExtension(size_t start, unsigned &flags, int depth, bool first,
                                      Sequence &out);
  std::optional<Group> parseNamed(unsigned flags, Sequence &out);
  std::optional<Group> parseFlagGroup(const Text &token, size_t start, unsigned &flags,
                                      bool atStart);
  void skipComment(size_t start);
  /// Numbers the group, and notes its name if it has one.
  void openCapture(const Text &name);
  void parseNamedReference(unsigned flags, Sequence &out);
  void parseAssertion(char32_t direction, size_t start, unsigned flags, int depth, Sequence &out);
  void parseConditional(size_t start, unsigned flags, int depth, Sequence &out);
  /// Flags after `(?`; nothing when they were global ones.
  std::optional<std::pair<unsigned, unsigned>> parseFlags(Text token);

  bool isClosed(uint64_t group) const {
    return group < groupWidths.size() && groupWidths[group].has_value();
  }
  void checkLookBehindGroup(uint64_t group);
  void addReference(uint64_t group, unsigned flags, Sequence &out);
  /// Errors that Python finds only when it compiles what it has parsed.
  void failCompilation(const llvm::Twine &text) {
    if (compileError.empty())
      compileError = text.str();
  }

  Scanner scanner;
  unsigned globalFlags = 0;
  /// By number, group 0 never closed; the widths are set when the group closes.
  std::vector<std::optional<std::pair<uint64_t, uint64_t>>> groupWidths{std::nullopt};
  std::map<Text, uint64_t> groupNames;
  std::map<uint64_t, size_t> conditionPositions;
  std::optional<uint64_t> lookBehindGroups;
  std::string compileError;
};

} // namespace mpc::python_regex

#endif // MPC_LIB_POLICY_PYTHONREGEX_H
