// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime/collectives/part_tree.h"

#include "runtime/base/dtype.h"
#include "runtime/collectives/combine.h"
#include "runtime/rules/batch_parts.h"

#include <algorithm>
#include <cstring>

namespace mpc::rt {
namespace {

// Each level of the tree has so many bytes in the second cache; with 8 KB, in the first one, memory
// is read at two thirds of the speed. A sum of all parts stands on a level of its own above each
// halving, and a part below the last one.
constexpr size_t bytesOfLevel = 32768, mostLevels = 12;
static_assert(rules::mostBatchParts <= int64_t(1) << (mostLevels - 2));
// A thread takes so many at a time, which are worth the way to it.
constexpr size_t elementsOfBlock = 65536;

} // namespace

PartTree::PartTree(Reduction reduction, bool rounds,
                   const std::vector<std::vector<RankArray>> &parts, char *result)
    : reduction(reduction), rounds(rounds), parts(parts), result(result),
      element(dtypeSize(reduction.dtype)) {
  // An array without elements has a block, too, so that some thread ends the last one.
  starts.push_back(0);
  for (const RankArray &array : parts[0])
    starts.push_back(starts.back() +
                     (array.isSummed && !result ? 0 : array.count / elementsOfBlock) + 1);
}

bool PartTree::work() {
  size_t worked = 0;
  for (size_t block; (block = next++) < starts.back(); ++worked) {
    const size_t array =
        size_t(std::upper_bound(starts.begin(), starts.end(), block) - starts.begin() - 1);
    const size_t begin = (block - starts[array]) * elementsOfBlock;
    const size_t end = std::min(begin + elementsOfBlock, parts[0][array].count);
    const size_t atOnce = bytesOfLevel / element;
    for (size_t at = begin; at < end; at += atOnce)
      combineBlock(array, at, std::min(atOnce, end - at));
  }
  return worked != 0 && (ended += worked) == starts.back();
}

void PartTree::combineBlock(size_t array, size_t begin, size_t count) {
  alignas(64) char scratch[mostLevels * bytesOfLevel];
  const auto many = static_cast<unsigned>(parts.size());
  const char *summed = sum(0, many, array, begin, count, scratch);
  char *first = static_cast<char *>(parts[0][array].data) + begin * element, *to = first;
  if (result) {
    to = result + begin * element;
    for (size_t before = 0; before != array; ++before)
      to += parts[0][before].count * element;
  }
  if (to != summed)
    std::memcpy(to, summed, count * element);
}

// A part alone is where it is, or rounded, and what parts have summed before is with the first one;
// what has been summed is in `scratch`, behind which the levels below have theirs.
const char *PartTree::sum(unsigned first, unsigned many, size_t array, size_t begin, size_t count,
                          char *scratch) {
  const size_t bytes = count * element;
  if (many == 1 || parts[first][array].isSummed) {
    const char *own = static_cast<const char *>(parts[first][array].data) + begin * element;
    if (!rounds)
      return own;
    std::memcpy(scratch, own, bytes);
    keepBFloat16(reinterpret_cast<float *>(scratch), count);
    return scratch;
  }
  char *below = scratch + bytesOfLevel;
  const char *left = sum(first, many / 2, array, begin, count, scratch);
  if (left != scratch)
    std::memcpy(scratch, left, bytes);
  const char *right = sum(first + many / 2, many / 2, array, begin, count, below);
  combine(reduction.dtype, reduction.kind, scratch, right, count);
  if (rounds)
    keepBFloat16(reinterpret_cast<float *>(scratch), count);
  return scratch;
}

} // namespace mpc::rt
