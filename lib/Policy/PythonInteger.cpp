// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Python's `int(str)`: Keras reads the numbers inside quantization modes with it, so "int4/ 16",
// "int4/+16", "int4/1_000" and digits of any script are legal there.
#include "mpc/Policy/DTypePolicy.h"
#include "llvm/ADT/APInt.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/ConvertUTF.h"
#include <algorithm>

using namespace mpc;

/// The zeros of the runs of ten decimal digits (category Nd) of Unicode 14, Python 3.11's tables.
static const uint32_t decimalZeros[] = {
    0x30,    0x660,   0x6f0,   0x7c0,   0x966,   0x9e6,   0xa66,   0xae6,   0xb66,   0xbe6,
    0xc66,   0xce6,   0xd66,   0xde6,   0xe50,   0xed0,   0xf20,   0x1040,  0x1090,  0x17e0,
    0x1810,  0x1946,  0x19d0,  0x1a80,  0x1a90,  0x1b50,  0x1bb0,  0x1c40,  0x1c50,  0xa620,
    0xa8d0,  0xa900,  0xa9d0,  0xa9f0,  0xaa50,  0xabf0,  0xff10,  0x104a0, 0x10d30, 0x11066,
    0x110f0, 0x11136, 0x111d0, 0x112f0, 0x11450, 0x114d0, 0x11650, 0x116c0, 0x11730, 0x118e0,
    0x11950, 0x11c50, 0x11d50, 0x11da0, 0x16a60, 0x16ac0, 0x16b50, 0x1d7ce, 0x1d7d8, 0x1d7e2,
    0x1d7ec, 0x1d7f6, 0x1e140, 0x1e2f0, 0x1e950, 0x1fbf0};

/// str.isspace().
static bool isSpace(uint32_t c) {
  return (c >= 0x09 && c <= 0x0d) || (c >= 0x1c && c <= 0x20) || c == 0x85 || c == 0xa0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f ||
         c == 0x205f || c == 0x3000;
}

static std::optional<char> decimalDigit(uint32_t c) {
  const uint32_t *above = std::upper_bound(std::begin(decimalZeros), std::end(decimalZeros), c);
  if (above == std::begin(decimalZeros))
    return std::nullopt;
  uint32_t zero = *(above - 1);
  if (c - zero > 9)
    return std::nullopt;
  return static_cast<char>('0' + (c - zero));
}

std::optional<PythonInteger> mpc::parsePythonInteger(llvm::StringRef utf8) {
  // Python 3.11 refuses more than 4300 digits; no spelling of fewer needs more bytes than this.
  constexpr size_t maxDigits = 4300, maxBytes = 1 << 16;
  if (utf8.size() > maxBytes)
    return std::nullopt;
  llvm::SmallVector<uint32_t> text(utf8.size() + 1);
  const auto *from = reinterpret_cast<const llvm::UTF8 *>(utf8.bytes_begin());
  llvm::UTF32 *to = text.data();
  if (llvm::ConvertUTF8toUTF32(&from, utf8.bytes_end(), &to, text.data() + text.size(),
                               llvm::strictConversion) != llvm::conversionOK)
    return std::nullopt;
  llvm::ArrayRef<uint32_t> rest(text.data(), to - text.data());

  rest = rest.drop_while(isSpace);
  while (!rest.empty() && isSpace(rest.back()))
    rest = rest.drop_back();
  bool negative = false;
  if (!rest.empty() && (rest.front() == '+' || rest.front() == '-')) {
    negative = rest.front() == '-';
    rest = rest.drop_front();
  }
  // Digits with single underscores between them.
  llvm::SmallString<32> digits;
  bool lastWasDigit = false;
  for (uint32_t c : rest) {
    if (c == '_' && lastWasDigit) {
      lastWasDigit = false;
      continue;
    }
    std::optional<char> digit = decimalDigit(c);
    if (!digit)
      return std::nullopt;
    digits.push_back(*digit);
    lastWasDigit = true;
  }
  if (!lastWasDigit || digits.size() > maxDigits)
    return std::nullopt;

  llvm::StringRef significant = digits.str().ltrim('0');
  PythonInteger result;
  if (significant.empty())
    return result;
  result.text = (negative ? "-" : "") + significant.str();
  if (llvm::StringRef(result.text).getAsInteger(10, result.value))
    result.value = negative ? INT64_MIN : INT64_MAX;
  return result;
}
