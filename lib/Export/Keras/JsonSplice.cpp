// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces one value in the text of a JSON object: parsing and printing again would reorder keys
// and lose what only Python's JSON can say (NaN, Infinity).
#include "mpc/Export/Keras/KerasFile.h"

namespace mpc::keras {
namespace {

/// Positions in the text of an object; `npos` everywhere when it is malformed.
class Scanner {
public:
  explicit Scanner(llvm::StringRef text) : text(text) {}

  size_t skipSpace(size_t at) const {
    return std::min(text.find_first_not_of(" \t\r\n", at), text.size());
  }

  /// The end of the value that starts at `at`.
  size_t endOf(size_t at) const {
    if (at >= text.size())
      return llvm::StringRef::npos;
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
    return llvm::StringRef::npos;
  }

  llvm::StringRef text;

private:
  size_t endOfString(size_t at) const {
    for (++at; at < text.size(); ++at) {
      if (text[at] == '\\')
        ++at;
      else if (text[at] == '"')
        return at + 1;
    }
    return llvm::StringRef::npos;
  }
};

} // namespace

std::optional<std::string> spliceJson(llvm::StringRef text, llvm::ArrayRef<llvm::StringRef> keys,
                                      llvm::StringRef value) {
  Scanner scan(text);
  size_t at = scan.skipSpace(0);
  for (size_t level = 0; level < keys.size(); ++level) {
    if (at >= text.size() || text[at] != '{')
      return std::nullopt;
    bool empty = true, found = false;
    size_t next = scan.skipSpace(at + 1);
    while (next < text.size() && text[next] == '"') {
      empty = false;
      const size_t end = scan.endOf(next);
      if (end == llvm::StringRef::npos)
        return std::nullopt;
      const llvm::StringRef key = text.slice(next + 1, end - 1);
      const size_t start = scan.skipSpace(scan.skipSpace(end) + 1);
      const size_t stop = scan.endOf(start);
      if (stop == llvm::StringRef::npos)
        return std::nullopt;
      if (key == keys[level]) {
        found = true;
        at = start;
        break;
      }
      next = scan.skipSpace(stop);
      if (next < text.size() && text[next] == ',')
        next = scan.skipSpace(next + 1);
    }
    if (found)
      continue;
    // Nothing of that name: a new first member, with objects around it for the remaining keys.
    std::string member, closing;
    for (llvm::StringRef key : keys.drop_front(level)) {
      member += (member.empty() ? "\"" : "{\"") + key.str() + "\": ";
      if (key.data() != keys.back().data())
        closing += "}";
    }
    member += value.str() + closing;
    return (text.take_front(at + 1) + member + (empty ? "" : ", ") + text.drop_front(at + 1)).str();
  }
  const size_t end = scan.endOf(at);
  if (end == llvm::StringRef::npos)
    return std::nullopt;
  return (text.take_front(at) + value + text.drop_front(end)).str();
}

} // namespace mpc::keras
