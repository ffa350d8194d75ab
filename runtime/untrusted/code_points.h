// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// UTF-8 text as code points, and which of these a terminal acts upon instead of showing them.
#ifndef MPC_UNTRUSTED_CODE_POINTS_H
#define MPC_UNTRUSTED_CODE_POINTS_H

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mpc::untrusted {

/// One code point at the begin of a text, or one byte that begins none.
struct CodePoint {
  uint32_t value; // the byte, if it is none
  size_t bytes;   // how many of the text it takes
  bool isValid;
};

/// Strict (RFC 3629): no overlong forms, no surrogates, nothing above U+10FFFF. `text` is not
/// empty.
CodePoint decodeUtf8(std::string_view text);

/// Whether it is shown as itself: no control character (C0, DEL, C1), no format character (general
/// category Cf: writing direction, zero width, tags), no separator of lines, no noncharacter.
bool isShown(uint32_t codePoint);

} // namespace mpc::untrusted
#endif
