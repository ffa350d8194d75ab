// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Replaces one value in the text of a JSON object: parsing and printing again would reorder keys
// and lose what only Python's JSON can say (NaN, Infinity).
#include "lib/Support/JsonScanner.h"
#include "mpc/Export/Keras/KerasFile.h"

namespace mpc::keras {

std::optional<std::string> spliceJson(llvm::StringRef text, llvm::ArrayRef<llvm::StringRef> keys,
                                      llvm::StringRef value) {
  const JsonScanner scan(text);
  size_t at = scan.skipSpace(0);
  for (size_t level = 0; level < keys.size(); ++level) {
    size_t next = scan.firstMember(at);
    if (next == JsonScanner::npos)
      return std::nullopt;
    const bool empty = next >= text.size() || text[next] != '"';
    bool found = false;
    while (!found && next < text.size() && text[next] == '"') {
      const JsonScanner::Member member = scan.memberAt(next);
      if (member.key.empty())
        return std::nullopt;
      found = member.key.drop_front().drop_back() == keys[level];
      if (found)
        at = size_t(member.value.data() - text.data());
      next = member.next;
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
  const size_t end = scan.endOfValue(at);
  if (end == llvm::StringRef::npos)
    return std::nullopt;
  return (text.take_front(at) + value + text.drop_front(end)).str();
}

} // namespace mpc::keras
