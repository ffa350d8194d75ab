// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Fitting lines into a width.
#include "runtime/commands/line_parts.h"

#include <algorithm>

namespace mpc::commands {

static size_t columnsOf(const std::string &text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string joinParts(const std::vector<LinePart> &parts) {
  std::string text;
  for (const LinePart &part : parts)
    text += (text.empty() ? "" : "  ") + part.text;
  return text;
}

std::vector<LinePart> fitParts(std::vector<LinePart> parts, size_t columns) {
  while (columnsOf(joinParts(parts)) > columns) {
    auto least = std::max_element(parts.begin(), parts.end(), [](const auto &a, const auto &b) {
      return a.dispensability < b.dispensability;
    });
    if (least == parts.end() || least->dispensability == 0)
      break;
    parts.erase(least);
  }
  return parts;
}

std::string wrapParts(const std::vector<LinePart> &parts, size_t columns) {
  const std::string indentation = "    ";
  std::string text;
  size_t used = 0;
  for (const LinePart &part : parts) {
    const size_t wanted = columnsOf(part.text);
    if (text.empty()) {
      used = wanted;
    } else if (used + 2 + wanted <= columns) {
      text += "  ";
      used += 2 + wanted;
    } else {
      text += "\n" + indentation;
      used = indentation.size() + wanted;
    }
    text += part.text;
  }
  return text;
}

} // namespace mpc::commands
