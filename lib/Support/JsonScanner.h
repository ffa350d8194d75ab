// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where values of JSON text end, for what parsers cannot do: bounds before the parser runs, the
// order of keys, the replacement of one value in text that stays as it is.
#ifndef MPC_LIB_SUPPORT_JSONSCANNER_H
#define MPC_LIB_SUPPORT_JSONSCANNER_H

#include "llvm/ADT/StringRef.h"
#include <algorithm>

namespace mpc {

/// Positions in JSON text; `npos` where it ends too early.
class JsonScanner {
public:
  static constexpr size_t npos = llvm::StringRef::npos;
  explicit JsonScanner(llvm::StringRef text) : text(text) {}

  size_t skipSpace(size_t at) const {
    return std::min(text.find_first_not_of(" \t\r\n", at), text.size());
  }

  /// Behind the string that starts at `at`.
  size_t endOfString(size_t at) const {
    for (++at; at < text.size(); ++at) {
      if (text[at] == '\\')
        ++at;
      else if (text[at] == '"')
        return at + 1;
    }
    return npos;
  }

  /// Behind the value that starts at `at`.
  size_t endOfValue(size_t at) const {
    if (at >= text.size())
      return npos;
    if (text[at] == '"')
      return endOfString(at);
    if (text[at] != '{' && text[at] != '[')
      return std::min(text.find_first_of(",]} \t\r\n", at), text.size());
    unsigned depth = 0;
    while (at < text.size()) {
      const char c = text[at];
      if (c == '"') {
        at = endOfString(at);
        continue;
      }
      depth += c == '{' || c == '[';
      ++at;
      if ((c == '}' || c == ']') && --depth == 0)
        return at;
    }
    return npos;
  }

  /// A member of an object: its key with quotes, and its value.
  struct Member {
    llvm::StringRef key, value;
    size_t next = npos; ///< where the member behind it starts, or the object's end
  };
  /// The member that starts at `at`; without a key where there is none.
  Member memberAt(size_t at) const {
    Member member;
    if (at >= text.size() || text[at] != '"')
      return member;
    const size_t end = endOfString(at);
    if (end == npos)
      return member;
    const size_t start = skipSpace(skipSpace(end) + 1), stop = endOfValue(start);
    if (stop == npos)
      return member;
    member.key = text.slice(at, end);
    member.value = text.slice(start, stop);
    member.next = skipSpace(stop);
    if (member.next < text.size() && text[member.next] == ',')
      member.next = skipSpace(member.next + 1);
    return member;
  }
  /// Where the first member of the object starts that is at `at`; npos where no object is.
  size_t firstMember(size_t at) const {
    return at < text.size() && text[at] == '{' ? skipSpace(at + 1) : npos;
  }

  const llvm::StringRef text;
};

} // namespace mpc

#endif // MPC_LIB_SUPPORT_JSONSCANNER_H
