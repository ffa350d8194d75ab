// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// UTF-8 by the table of well-formed sequences of the Unicode standard (chapter 3, table 3-7).
#include "runtime/untrusted/code_points.h"

namespace mpc::untrusted {

CodePoint decodeUtf8(std::string_view text) {
  auto byte = [&](size_t at) -> unsigned {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0;
  };
  const unsigned first = byte(0);
  if (first < 0x80)
    return {first, 1, true};
  const CodePoint none{first, 1, false};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4)
    return none;
  uint32_t value = first & (0xffu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80)
      return none;
    value = value << 6 | (byte(i) & 0x3f);
  }
  const uint32_t least = bytes == 4 ? 0x10000 : bytes == 3 ? 0x800 : 0x80;
  if (value < least || value > 0x10ffff || (value >= 0xd800 && value <= 0xdfff))
    return none;
  return {value, bytes, true};
}

bool isShown(uint32_t codePoint) {
  // DerivedGeneralCategory.txt of Unicode 15.1: Cc, Cf, Zl and Zp. The range of tags is taken
  // whole, with the variation selectors behind it.
  static constexpr struct {
    uint32_t first, last;
  } hidden[] = {{0x0, 0x1f},        {0x7f, 0x9f},       {0xad, 0xad},       {0x600, 0x605},
                {0x61c, 0x61c},     {0x6dd, 0x6dd},     {0x70f, 0x70f},     {0x890, 0x891},
                {0x8e2, 0x8e2},     {0x180e, 0x180e},   {0x200b, 0x200f},   {0x2028, 0x202e},
                {0x2060, 0x206f},   {0xfdd0, 0xfdef},   {0xfeff, 0xfeff},   {0xfff9, 0xfffb},
                {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f}, {0x1bca0, 0x1bca3},
                {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
  for (const auto &range : hidden)
    if (codePoint <= range.last)
      return codePoint < range.first && (codePoint & 0xfffe) != 0xfffe;
  return (codePoint & 0xfffe) != 0xfffe;
}

} // namespace mpc::untrusted
