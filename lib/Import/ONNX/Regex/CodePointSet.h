// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A set of code points as ranges: what one place of a regular expression matches.
#ifndef MPC_LIB_IMPORT_ONNX_REGEX_CODEPOINTSET_H
#define MPC_LIB_IMPORT_ONNX_REGEX_CODEPOINTSET_H

#include "lib/Import/ONNX/CodePoints.h"

#include <vector>

namespace mpc::onnx {

class CodePointSet {
public:
  struct Range {
    int32_t first, last;
    bool operator<(const Range &other) const { return first < other.first; }
    bool operator==(const Range &other) const { return first == other.first && last == other.last; }
  };

  CodePointSet() = default;
  CodePointSet(std::initializer_list<Range> list) {
    for (const Range &range : list)
      add(range.first, range.last);
  }

  void add(int32_t first, int32_t last);
  void add(const CodePointSet &other);
  /// The code points that differ from one of the set in case alone, as RE2 folds.
  void addOtherCase();
  void negate();
  bool contains(int32_t point) const;
  llvm::ArrayRef<Range> getRanges() const { return ranges; }
  bool operator<(const CodePointSet &other) const {
    return std::lexicographical_compare(ranges.begin(), ranges.end(), other.ranges.begin(),
                                        other.ranges.end(), [](const Range &a, const Range &b) {
                                          return std::pair(a.first, a.last) <
                                                 std::pair(b.first, b.last);
                                        });
  }

private:
  std::vector<Range> ranges; ///< sorted, with gaps between them
};

} // namespace mpc::onnx

#endif
