// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/CodePoints.h"

#include "llvm/Support/ConvertUTF.h"

#include <map>

namespace mpc::onnx {

std::optional<std::vector<int32_t>> decodeText(llvm::StringRef utf8) {
  std::vector<llvm::UTF32> points(utf8.size());
  const auto *from = reinterpret_cast<const llvm::UTF8 *>(utf8.data());
  llvm::UTF32 *to = points.data();
  if (llvm::ConvertUTF8toUTF32(&from, from + utf8.size(), &to, to + points.size(),
                               llvm::strictConversion) != llvm::conversionOK)
    return std::nullopt;
  points.resize(size_t(to - points.data()));
  if (llvm::is_contained(points, 0u))
    return std::nullopt;
  return std::vector<int32_t>(points.begin(), points.end());
}

std::optional<std::vector<int64_t>> decodeTexts(llvm::ArrayRef<std::string> texts, int64_t &width) {
  std::vector<std::vector<int32_t>> all;
  width = 1;
  for (const std::string &text : texts) {
    std::optional<std::vector<int32_t>> points = decodeText(text);
    if (!points)
      return std::nullopt;
    width = std::max(width, int64_t(points->size()));
    all.push_back(std::move(*points));
  }
  std::vector<int64_t> numbers(texts.size() * size_t(width), 0);
  for (size_t i = 0; i < all.size(); ++i)
    llvm::copy(all[i], numbers.begin() + int64_t(i) * width);
  return numbers;
}

CodePointTable::CodePointTable(llvm::ArrayRef<int32_t> all) {
  std::map<std::vector<int32_t>, int64_t> known;
  for (size_t first = 0; first < all.size(); first += size_t(kPage)) {
    const auto own = all.slice(first, std::min<size_t>(size_t(kPage), all.size() - first));
    const auto [page, isNew] = known.try_emplace(own.vec(), int64_t(known.size()));
    if (isNew)
      numbers.insert(numbers.end(), own.begin(), own.end());
    pages.push_back(page->second);
  }
}

} // namespace mpc::onnx
