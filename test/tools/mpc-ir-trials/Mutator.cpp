// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Token by token, so that most mutants still parse; in one place, or everywhere at once, so that
// types still agree.
#include "test/tools/mpc-ir-trials/Mutator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

#include <array>
#include <random>
#include <vector>

using llvm::StringRef;

namespace {
class Mutator {
public:
  Mutator(StringRef text, uint64_t number) : random(number * 0x9e3779b97f4a7c15u + 1) {
    split(text);
  }

  std::string run() {
    for (unsigned change = 0, changes = 1 + pick(3); change < changes; ++change)
      changeOnce();
    std::string result;
    for (const std::string &token : tokens)
      result += token;
    return result;
  }

private:
  size_t pick(size_t count) { return count ? random() % count : 0; }

  static bool isWord(char c) { return llvm::isAlnum(c) || StringRef("_.$#@%!").contains(c); }

  void split(StringRef text) {
    while (!text.empty()) {
      size_t length = 1;
      if (text.front() == '"') {
        for (; length < text.size() && text[length] != '"' && text[length] != '\n'; ++length)
          length += text[length] == '\\';
        length = std::min(length + 1, text.size());
      } else if (llvm::isDigit(text.front())) {
        // A dimension ends in front of its x.
        while (length < text.size() && (llvm::isDigit(text[length]) || text[length] == '.'))
          ++length;
      } else if (isWord(text.front())) {
        if (text.front() != 'x' || text.size() < 2 || llvm::isAlpha(text[1]))
          while (length < text.size() && isWord(text[length]))
            ++length;
        // `xf32` is a dimension's end and an element type.
        static const StringRef elements[] = {"xf32", "xf16", "xbf16", "xf64", "xi1",
                                             "xi8",  "xi32", "xi64",  "xui8", "xindex"};
        if (llvm::is_contained(elements, text.take_front(length)))
          length = 1;
      }
      tokens.push_back(text.take_front(length).str());
      text = text.drop_front(length);
    }
  }

  /// Places of tokens for which `holds`.
  template <typename Predicate> std::vector<size_t> places(Predicate holds) {
    std::vector<size_t> found;
    for (auto [place, token] : llvm::enumerate(tokens))
      if (holds(StringRef(token)))
        found.push_back(place);
    return found;
  }

  /// One token that `holds` becomes `make(token)`; often all equal ones do.
  template <typename Predicate, typename Make> void replace(Predicate holds, Make make) {
    const std::vector<size_t> found = places(holds);
    if (found.empty())
      return;
    const size_t place = found[pick(found.size())];
    const std::string old = tokens[place], fresh = make(StringRef(old), found);
    if (pick(3) != 0) {
      tokens[place] = fresh;
      return;
    }
    for (std::string &token : tokens)
      if (token == old)
        token = fresh;
  }

  std::string other(const std::vector<size_t> &found) { return tokens[found[pick(found.size())]]; }

  void changeNumber() {
    replace([](StringRef token) { return llvm::isDigit(token.front()); },
            [&](StringRef old, const std::vector<size_t> &found) -> std::string {
              static const StringRef odd[] = {
                  "0",          "1",   "2",    "-1", "3", "64", "2147483647", "9223372036854775807",
                  "4294967296", "1.0", "-0.0", "17", "5", "7",  "65536",      "0x7FC00000"};
              int64_t number;
              if (pick(3) == 0 || old.getAsInteger(10, number))
                return odd[pick(std::size(odd))].str();
              return pick(2) ? other(found) : std::to_string(number + (pick(2) ? 1 : -1));
            });
  }

  void changeType() {
    static const StringRef types[] = {"f32",    "f16",      "bf16", "f64",  "i1",   "i8",
                                      "i16",    "i32",      "i64",  "ui8",  "ui32", "index",
                                      "f8E5M2", "f8E4M3FN", "i4",   "none", "?"};
    replace([&](StringRef token) { return llvm::is_contained(types, token); },
            [&](StringRef, const std::vector<size_t> &) {
              return types[pick(std::size(types))].str();
            });
  }

  /// Names of values, symbols, ops, keywords and strings become others of their kind.
  void changeName() {
    const char kinds[] = {'%', '@', '.', 'a', '"', '#', '!'};
    const char kind = kinds[pick(std::size(kinds))];
    replace(
        [&](StringRef token) {
          const bool isOp = llvm::isAlpha(token.front()) && token.contains('.');
          return kind == '.'   ? isOp
                 : kind == 'a' ? !isOp && token.size() > 1 && llvm::isAlpha(token.front())
                               : token.front() == kind;
        },
        [&](StringRef, const std::vector<size_t> &found) { return other(found); });
  }

  /// Ends of the line around `place`.
  std::pair<size_t, size_t> lineAround(size_t place) {
    size_t begin = place, end = place;
    while (begin > 0 && tokens[begin - 1] != "\n")
      --begin;
    while (end < tokens.size() && tokens[end] != "\n")
      ++end;
    return {begin, std::min(end + 1, tokens.size())};
  }

  /// A line goes, comes twice, or changes places with the next one.
  void changeLine() {
    auto [begin, end] = lineAround(pick(tokens.size()));
    const auto first = tokens.begin() + begin, last = tokens.begin() + end;
    switch (pick(3)) {
    case 0:
      tokens.erase(first, last);
      return;
    case 1: {
      const std::vector<std::string> copy(first, last);
      tokens.insert(last, copy.begin(), copy.end());
      return;
    }
    default:
      if (end < tokens.size())
        std::rotate(first, last, tokens.begin() + lineAround(end).second);
    }
  }

  /// An entry of a dictionary or a list goes, or comes twice.
  void changeEntry() {
    const std::vector<size_t> commas = places([](StringRef token) { return token == ","; });
    if (commas.empty())
      return;
    const size_t begin = commas[pick(commas.size())];
    size_t end = begin + 1;
    for (int depth = 0; end < tokens.size() && tokens[end] != "\n"; ++end) {
      const char c = tokens[end][0];
      if (depth == 0 && StringRef(",}])>").contains(c))
        break;
      depth += StringRef("([{<").contains(c) ? 1 : StringRef(")]}>").contains(c) ? -1 : 0;
    }
    const std::vector<std::string> entry(tokens.begin() + begin, tokens.begin() + end);
    if (pick(2))
      tokens.erase(tokens.begin() + begin, tokens.begin() + end);
    else
      tokens.insert(tokens.begin() + end, entry.begin(), entry.end());
  }

  void changeOnce() {
    switch (pick(12)) {
    case 0:
    case 1:
    case 2:
    case 3:
      return changeNumber();
    case 4:
    case 5:
      return changeType();
    case 6:
    case 7:
    case 8:
      return changeName();
    case 9:
      return changeEntry();
    default:
      return changeLine();
    }
  }

  std::mt19937_64 random;
  std::vector<std::string> tokens;
};
} // namespace

std::string mpc::mutate(StringRef text, uint64_t number) { return Mutator(text, number).run(); }
