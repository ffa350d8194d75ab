// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Texts as mpc has them: code points in int32, a dimension more than the tensor of texts, with
// zeros behind the end of each.
#ifndef MPC_LIB_IMPORT_ONNX_CODEPOINTS_H
#define MPC_LIB_IMPORT_ONNX_CODEPOINTS_H

#include "runtime/rules/text_width.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mpc::onnx {

/// Unicode has none from here on.
constexpr int32_t kCodePointLimit = rules::codePointLimit;
/// The most code points of a text, of inputs as of results.
constexpr int64_t kMostTextWidth = rules::mostTextWidth;
/// Elements that constants of an operation have at most.
constexpr int64_t kMostTextConstants = int64_t(1) << 24;

/// Why texts of a file are refused.
constexpr const char *kTextFault =
    "has text that is no UTF-8, that has U+0000, which ends a text, or that has more than 2^16 "
    "characters (2^24 in all)";

/// The code points of UTF-8; nothing where it is none, or has U+0000, which ends a text.
std::optional<std::vector<int32_t>> decodeText(llvm::StringRef utf8);

/// The code points of every text, one after the other, each filled with zeros to the longest, which
/// `width` gets (at least 1). Nothing where decodeText gives nothing for one of them.
std::optional<std::vector<int64_t>> decodeTexts(llvm::ArrayRef<std::string> texts, int64_t &width);

/// A number for every code point, in pages of which equal ones are stored once.
class CodePointTable {
public:
  static constexpr int64_t kPage = 256;

  explicit CodePointTable(llvm::ArrayRef<int32_t> numbers);

  /// The page of code points from kPage * i on, and the numbers of all pages.
  std::vector<int64_t> pages, numbers;
};

} // namespace mpc::onnx

#endif
