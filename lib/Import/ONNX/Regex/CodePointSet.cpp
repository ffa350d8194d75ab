// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/ONNX/Regex/CodePointSet.h"

#include "lib/Import/ONNX/CaseMapping.h"

#include "llvm/ADT/STLExtras.h"

#include <map>

namespace mpc::onnx {

void CodePointSet::add(int32_t first, int32_t last) {
  ranges.push_back({first, last});
  llvm::sort(ranges);
  size_t kept = 0;
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first <= ranges[kept].last + 1)
      ranges[kept].last = std::max(ranges[kept].last, ranges[i].last);
    else
      ranges[++kept] = ranges[i];
  ranges.resize(kept + 1);
}

void CodePointSet::add(const CodePointSet &other) {
  for (const Range &range : other.ranges)
    add(range.first, range.last);
}

void CodePointSet::negate() {
  std::vector<Range> others;
  int32_t next = 0;
  for (const Range &range : ranges) {
    if (range.first > next)
      others.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next < kCodePointLimit)
    others.push_back({next, kCodePointLimit - 1});
  ranges = std::move(others);
}

bool CodePointSet::contains(int32_t point) const {
  auto behind = llvm::upper_bound(
      ranges, point, [](int32_t wanted, const Range &range) { return wanted < range.first; });
  return behind != ranges.begin() && std::prev(behind)->last >= point;
}

/// The letters that fold to each other, by one of them. The dotted capital and the dotless small i
/// of Turkish fold to none.
static const std::map<int32_t, std::vector<int32_t>> &getFolds() {
  static const std::map<int32_t, std::vector<int32_t>> folds = [] {
    const std::vector<int32_t> lower = makeCaseMapping(Case::lower),
                               upper = makeCaseMapping(Case::upper);
    const auto isTurkish = [](int32_t point) { return point == 0x130 || point == 0x131; };
    const auto keyOf = [&](int32_t point) {
      const int32_t capital = point + upper[size_t(point)];
      return capital + lower[size_t(capital)];
    };
    std::map<int32_t, std::vector<int32_t>> byKey, all;
    for (int32_t point = 0; point < kCodePointLimit; ++point)
      if ((lower[size_t(point)] || upper[size_t(point)] || keyOf(point) != point) &&
          !isTurkish(point))
        byKey[keyOf(point)].push_back(point);
    for (auto &[key, points] : byKey) {
      if (!llvm::is_contained(points, key)) // a small letter without a capital of its own
        points.push_back(key);
      for (int32_t point : points)
        all[point] = points;
    }
    return all;
  }();
  return folds;
}

void CodePointSet::addOtherCase() {
  std::vector<int32_t> more;
  const auto &folds = getFolds();
  for (const Range &range : ranges)
    for (auto at = folds.lower_bound(range.first); at != folds.end() && at->first <= range.last;
         ++at)
      llvm::append_range(more, at->second);
  for (int32_t point : more)
    if (!contains(point))
      add(point, point);
}

} // namespace mpc::onnx
