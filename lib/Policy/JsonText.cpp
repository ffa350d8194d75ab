// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A walk over the characters of JSON text.
#include "lib/Policy/JsonText.h"
#include "lib/Support/JsonScanner.h"
#include "llvm/ADT/StringSet.h"

using namespace mpc;

llvm::Expected<llvm::json::Value> mpc::parseJsonText(llvm::StringRef text) {
  constexpr size_t maxBytes = 16 << 20;
  constexpr int maxNesting = 100;
  auto fail = [](const llvm::Twine &message) {
    return llvm::createStringError(llvm::inconvertibleErrorCode(), message);
  };
  if (text.size() > maxBytes)
    return fail("has " + llvm::Twine(text.size()) + " bytes; at most " + llvm::Twine(maxBytes) +
                " are read");
  int nesting = 0;
  const JsonScanner scan(text);
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') {
      i = std::min(scan.endOfString(i), text.size()) - 1;
    } else if (text[i] == '[' || text[i] == '{') {
      if (++nesting > maxNesting)
        return fail("is nested more than " + llvm::Twine(maxNesting) + " deep");
    } else if (text[i] == ']' || text[i] == '}') {
      --nesting;
    }
  }
  return llvm::json::parse(text);
}

/// The key as the parser decodes it, so that escapes compare equal to the parser's keys.
static std::optional<std::string> decodeKey(llvm::StringRef token) {
  llvm::Expected<llvm::json::Value> value = llvm::json::parse(token);
  if (value)
    return value->getAsString().value_or("").str();
  llvm::consumeError(value.takeError());
  return std::nullopt;
}

std::vector<std::string> mpc::jsonKeyOrder(llvm::StringRef text,
                                           llvm::ArrayRef<llvm::StringRef> path) {
  const JsonScanner scan(text);
  std::vector<std::string> keys;
  llvm::StringSet<> seen;
  size_t next = scan.firstMember(scan.skipSpace(0));
  while (next != JsonScanner::npos) {
    const JsonScanner::Member member = scan.memberAt(next);
    const std::optional<std::string> key = decodeKey(member.key);
    if (!key)
      break; // the object's end
    if (path.empty() && seen.insert(*key).second)
      keys.push_back(*key);
    else if (!path.empty() && *key == path.front())
      return jsonKeyOrder(member.value, path.drop_front());
    next = member.next;
  }
  return keys;
}
