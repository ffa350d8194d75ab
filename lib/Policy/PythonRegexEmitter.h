// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Python's atoms written in PCRE2 syntax. Everything is spelled out (no \w, \s, \b, $ or caseless
// default of PCRE2), because those differ from Python's in details that change between releases.
#ifndef MPC_LIB_POLICY_PYTHONREGEXEMITTER_H
#define MPC_LIB_POLICY_PYTHONREGEXEMITTER_H

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace mpc::python_regex {

/// Bits of Python's inline flags.
enum Flag : unsigned {
  IgnoreCase = 1,
  Multiline = 2,
  DotAll = 4,
  Verbose = 8,
  Ascii = 16,
  Unicode = 32,
  Template = 64,
  Locale = 128,
};

/// \d \D \s \S \w \W.
enum class Category { Digit, NotDigit, Space, NotSpace, Word, NotWord };

struct CharacterSet {
  bool negated = false;
  /// Inclusive code point ranges.
  std::vector<std::pair<uint32_t, uint32_t>> ranges;
  std::vector<Category> categories;
};

/// One character; code points, not UTF-8.
std::string emitLiteral(uint32_t c, unsigned flags);
std::string emitSet(const CharacterSet &set, unsigned flags);
/// `.`
std::string emitAny(unsigned flags);
/// `^`, `$`
std::string emitLineStart(unsigned flags);
std::string emitLineEnd(unsigned flags);
/// `\b`, `\B`; unlike PCRE2's, `\B` does not match in an empty string.
std::string emitBoundary(unsigned flags);
std::string emitNotBoundary(unsigned flags);
std::string emitBackReference(unsigned group, unsigned flags);

} // namespace mpc::python_regex

#endif // MPC_LIB_POLICY_PYTHONREGEXEMITTER_H
