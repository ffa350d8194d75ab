// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The rules of each outlet.
#include "runtime/untrusted/outlets.h"

#include "runtime/untrusted/code_points.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>

namespace mpc::untrusted {

/// Hands `put(const char *, size_t)` the text piece by piece, each of them shown as itself.
template <typename Put> static void writeShown(std::string_view text, bool isOneLine, Put &&put) {
  while (!text.empty()) {
    const CodePoint point = decodeUtf8(text);
    const bool isBreak = point.value == '\n' || point.value == '\t';
    if (isBreak && isOneLine) {
      put(point.value == '\n' ? "\\n" : "\\t", size_t(2));
    } else if (isBreak || (point.isValid && isShown(point.value))) {
      put(text.data(), point.bytes);
    } else {
      const char *format = !point.isValid || point.value < 0x80 ? "\\x%02x"
                           : point.value < 0x10000              ? "\\u%04x"
                                                                : "\\U%08x";
      char escape[16];
      std::snprintf(escape, sizeof escape, format, static_cast<unsigned>(point.value));
      put(escape, std::strlen(escape));
    }
    text.remove_prefix(point.bytes);
  }
}

static std::string shown(std::string_view text, bool isOneLine) {
  std::string result;
  result.reserve(text.size());
  writeShown(text, isOneLine, [&](const char *piece, size_t size) { result.append(piece, size); });
  return result;
}

std::string forTerminal(std::string_view text) { return shown(text, /*isOneLine=*/false); }

std::string forLine(std::string_view text) { return shown(text, /*isOneLine=*/true); }

void copyShown(std::string_view text, bool isOneLine, char *out, size_t capacity) {
  size_t used = 0;
  bool isFull = false;
  writeShown(text, isOneLine, [&](const char *piece, size_t size) {
    isFull = isFull || size >= capacity - used;
    if (isFull)
      return;
    std::memcpy(out + used, piece, size);
    used += size;
  });
  out[used] = 0;
}

std::string forJson(std::string_view json) {
  // Most of it is numbers.
  if (std::all_of(json.begin(), json.end(),
                  [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); }))
    return std::string(json);
  std::string result;
  result.reserve(json.size());
  auto put = [&](uint32_t unit) {
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(unit));
    result += escape;
  };
  while (!json.empty()) {
    const CodePoint point = decodeUtf8(json);
    // Serializers escape controls inside strings: those that are left stand between values.
    if (!point.isValid)
      put(0xfffd);
    else if (point.value < ' ' || isShown(point.value))
      result.append(json.substr(0, point.bytes));
    else if (point.value < 0x10000)
      put(point.value);
    else {
      put(0xd800 + ((point.value - 0x10000) >> 10));
      put(0xdc00 + ((point.value - 0x10000) & 0x3ff));
    }
    json.remove_prefix(point.bytes);
  }
  return result;
}

std::string forCell(std::string_view name) {
  std::string text = forLine(name);
  if (!text.empty() && std::strchr("=+-@", text[0]))
    text.insert(0, 1, '\'');
  return text;
}

std::string forCsv(std::string_view name) {
  const std::string text = forCell(name);
  if (text.find_first_of(",\"") == std::string::npos)
    return text;
  std::string quoted = "\"";
  for (char c : text)
    quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

bool isMemberName(std::string_view name) {
  constexpr size_t longest = 0xffff; // PKWARE APPNOTE 6.3.9, 4.4.10
  if (name.empty() || name.size() > longest || name.find('\\') != std::string_view::npos)
    return false;
  if (name.size() > 1 && name[1] == ':' && std::isalpha(static_cast<unsigned char>(name[0])))
    return false; // a drive
  for (std::string_view rest = name; !rest.empty();) {
    const CodePoint point = decodeUtf8(rest);
    if (!point.isValid || !isShown(point.value))
      return false;
    rest.remove_prefix(point.bytes);
  }
  // Windows drops dots and spaces at the end of a component.
  for (size_t begin = 0; begin <= name.size();) {
    const size_t end = std::min(name.find('/', begin), name.size());
    if (name.substr(begin, end - begin).find_first_not_of(". ") == std::string_view::npos)
      return false;
    begin = end + 1;
  }
  return true;
}

std::string makeDistinct(std::string name, std::set<std::string> &taken) {
  const std::string base = name;
  for (size_t number = 2; !taken.insert(name).second; ++number)
    name = base + "_" + std::to_string(number);
  return name;
}

std::string forCComment(std::string_view text) {
  std::string result = forLine(text);
  for (size_t i = 0; i < result.size(); ++i) {
    const bool isPair = i > 0 && result[i] == result[i - 1];
    // `??/` at the end of a line is a backslash; `//` and `/*` inside a comment are warned of.
    if (result[i] == '*' || result[i] == '\\' || ((result[i] == '?' || result[i] == '/') && isPair))
      result[i] = '_';
  }
  return result;
}

std::string forCIdentifier(std::string_view name) {
  constexpr size_t longest = 200;
  std::string result(name.substr(0, longest));
  for (char &c : result) {
    const auto code = static_cast<unsigned char>(c);
    c = code < 0x80 && std::isalnum(code) ? static_cast<char>(std::toupper(code)) : '_';
  }
  return result;
}

std::string forDot(std::string_view text) {
  // Graphviz reads no string of more than 16,384 bytes.
  constexpr size_t kLongest = 8192;
  std::string result;
  for (char c : forLine(text)) {
    const bool begins = (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    if (begins && result.size() >= kLongest)
      return result + "…";
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result;
}

std::string forXml(std::string_view text) {
  std::string result;
  for (char c : forLine(text)) {
    switch (c) {
    case '&':
      result += "&amp;";
      break;
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '"':
      result += "&quot;";
      break;
    case '\'':
      result += "&apos;";
      break;
    default:
      result += c;
    }
  }
  return result;
}

} // namespace mpc::untrusted
