// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// JSON in Python's dialect. llvm::json recurses and keeps some 60 bytes per value, so depth and
// count are bounded by a scan before it runs; the same scan replaces the literals that only Python
// writes.
#include "lib/Support/JsonScanner.h"
#include "mpc/Import/Keras/Config.h"
#include "mpc/Import/Keras/InputError.h"

#include "llvm/Support/ConvertUTF.h"

namespace mpc::keras {
namespace {

struct Literal {
  llvm::StringLiteral python, replacement;
};
// 1e999 is read as infinity; NaN has no numeric spelling that llvm::json reads.
constexpr Literal kLiterals[] = {
    {"-Infinity", "-1e999"}, {"Infinity", "1e999"}, {"NaN", "\"NaN\""}};

/// A string literal with UTF-8 in the place of escaped pairs of surrogates, in which Python writes
/// what lies beyond U+FFFF: llvm::json decodes them to other code points from U+20000 on.
std::string decodePairs(llvm::StringRef literal) {
  if (!literal.contains("\\u"))
    return literal.str();
  auto unit = [&](size_t at) {
    unsigned value = 0;
    const bool isUnit = literal.substr(at, 2) == "\\u" && literal.size() >= at + 6 &&
                        !literal.substr(at + 2, 4).getAsInteger(16, value);
    return isUnit ? value : 0;
  };
  std::string result;
  for (size_t at = 0; at < literal.size();) {
    const unsigned high = unit(at), low = unit(at + 6);
    if (high >= 0xd800 && high < 0xdc00 && low >= 0xdc00 && low < 0xe000) {
      char bytes[UNI_MAX_UTF8_BYTES_PER_CODE_POINT], *end = bytes;
      llvm::ConvertCodePointToUTF8(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), end);
      result.append(bytes, end);
      at += 12;
      continue;
    }
    const size_t length = literal[at] == '\\' ? 2 : 1; // an escaped backslash begins no unit
    result += literal.substr(at, length);
    at += length;
  }
  return result;
}

} // namespace

llvm::Expected<llvm::json::Value> parsePythonJson(llvm::StringRef text, llvm::StringRef fileName,
                                                  const ConfigLimits &limits) {
  text.consume_front("\xef\xbb\xbf");
  if (text.size() > limits.maxBytes)
    return inputError(fileName, "JSON of " + llvm::Twine(text.size()) + " bytes; at most " +
                                    llvm::Twine(limits.maxBytes) + " are accepted");
  std::string plain;
  plain.reserve(text.size());
  unsigned depth = 0;
  uint64_t values = 1;
  while (!text.empty()) {
    const char first = text.front();
    size_t length = 1;
    llvm::StringRef replacement;
    if (first == '"') {
      length = std::min(JsonScanner(text).endOfString(0), text.size());
    } else if (first == '{' || first == '[') {
      ++values;
      if (++depth > limits.maxDepth)
        return inputError(fileName, "JSON is nested deeper than " + llvm::Twine(limits.maxDepth) +
                                        " levels; refused");
    } else if (first == '}' || first == ']') {
      depth -= depth > 0;
    } else if (first == ',') {
      ++values;
    } else if (first == 'N' || first == 'I' || first == '-') {
      for (const Literal &literal : kLiterals)
        if (text.starts_with(literal.python)) {
          length = literal.python.size();
          replacement = literal.replacement;
          break;
        }
    }
    if (values > limits.maxValues)
      return inputError(fileName,
                        "JSON has more than " + llvm::Twine(limits.maxValues) + " values; refused");
    if (first == '"')
      plain += decodePairs(text.take_front(length));
    else
      plain += replacement.empty() ? text.take_front(length) : replacement;
    text = text.drop_front(length);
  }
  llvm::Expected<llvm::json::Value> parsed = llvm::json::parse(plain);
  if (!parsed)
    return inputError(fileName, "not valid JSON " + llvm::toString(parsed.takeError()) +
                                    "; expected what Keras wrote; save the model again");
  return parsed;
}

} // namespace mpc::keras
