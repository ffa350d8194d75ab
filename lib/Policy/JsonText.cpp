// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A walk over the characters of JSON text.
#include "lib/Policy/JsonText.h"
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
  bool inString = false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (inString) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == '"')
        inString = false;
    } else if (text[i] == '"') {
      inString = true;
    } else if (text[i] == '[' || text[i] == '{') {
      if (++nesting > maxNesting)
        return fail("is nested more than " + llvm::Twine(maxNesting) + " deep");
    } else if (text[i] == ']' || text[i] == '}') {
      --nesting;
    }
  }
  return llvm::json::parse(text);
}

namespace {
/// Steps over valid JSON.
class Walker {
public:
  explicit Walker(llvm::StringRef text) : rest(text) {}

  bool startsObject() {
    skipSpace();
    return rest.consume_front("{");
  }

  /// The next key of the object, positioned at its value; false at the end of the object.
  bool nextKey(std::string &key) {
    skipSpace();
    rest.consume_front(",");
    skipSpace();
    if (!rest.starts_with("\""))
      return false;
    llvm::StringRef token = takeString();
    // Decoded by the parser, so that escapes compare equal to its keys.
    if (llvm::Expected<llvm::json::Value> value = llvm::json::parse(token)) {
      key = value->getAsString().value_or("").str();
    } else {
      llvm::consumeError(value.takeError());
      return false;
    }
    skipSpace();
    rest.consume_front(":");
    return true;
  }

  llvm::StringRef remaining() const { return rest; }

  void skipValue() {
    int nesting = 0;
    while (!rest.empty()) {
      char c = rest.front();
      if (c == '"') {
        takeString();
        continue;
      }
      if (nesting == 0 && (c == ',' || c == '}' || c == ']'))
        return;
      if (c == '{' || c == '[')
        ++nesting;
      if (c == '}' || c == ']')
        --nesting;
      rest = rest.drop_front();
    }
  }

private:
  void skipSpace() { rest = rest.ltrim(" \t\r\n"); }
  llvm::StringRef takeString() {
    size_t end = 1;
    while (end < rest.size() && rest[end] != '"')
      end += rest[end] == '\\' ? 2 : 1;
    llvm::StringRef token = rest.take_front(end + 1);
    rest = rest.drop_front(token.size());
    return token;
  }

  llvm::StringRef rest;
};
} // namespace

std::vector<std::string> mpc::jsonKeyOrder(llvm::StringRef text,
                                           llvm::ArrayRef<llvm::StringRef> path) {
  Walker walker(text);
  if (!walker.startsObject())
    return {};
  std::string key;
  if (path.empty()) {
    std::vector<std::string> keys;
    llvm::StringSet<> seen;
    while (walker.nextKey(key)) {
      if (seen.insert(key).second)
        keys.push_back(key);
      walker.skipValue();
    }
    return keys;
  }
  while (walker.nextKey(key)) {
    if (key == path.front()) {
      // The rest of the text follows; the recursion stops at the end of its object.
      return jsonKeyOrder(walker.remaining(), path.drop_front());
    }
    walker.skipValue();
  }
  return {};
}
