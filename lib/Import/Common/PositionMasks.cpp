// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Common/PositionMasks.h"
#include <algorithm>
#include <numeric>

namespace mpc {

using mlir::Value;

/// `first`, `first` + 1, … along the last dimension, or the one before it (`isRow`).
static Value makePositions(ValueBuilder &b, int64_t count, int64_t first, bool isRow,
                           unsigned leading) {
  llvm::SmallVector<int64_t> shape(leading, 1), positions(count);
  std::iota(positions.begin(), positions.end(), first);
  shape.append({isRow ? count : 1, isRow ? 1 : count});
  return b.makeIndices(shape, positions);
}

Value makeDiagonalMask(ValueBuilder &b, int64_t rows, int64_t columns, ComparePredicate predicate,
                       int64_t diagonal, unsigned leading) {
  // A diagonal beyond the corners keeps or hides all, as the one next to a corner does.
  diagonal = std::clamp(diagonal, -rows - 1, columns + 1);
  return b.makeCompare(predicate, makePositions(b, columns, 0, /*isRow=*/false, leading),
                       makePositions(b, rows, diagonal, /*isRow=*/true, leading));
}

Value makeCausalMask(ValueBuilder &b, int64_t targets, int64_t sources) {
  return makeDiagonalMask(b, targets, sources, ComparePredicate::LE, 0, /*leading=*/1);
}

Value makeWindowMask(ValueBuilder &b, int64_t targets, int64_t sources, int64_t window) {
  Value distance = b.make<SubtractOp>(makePositions(b, targets, 0, /*isRow=*/true, 1),
                                      makePositions(b, sources, 0, /*isRow=*/false, 1));
  const int64_t bound = std::min(window, targets + sources);
  return b.makeCompare(ComparePredicate::LT, b.make<AbsOp>(distance),
                       b.makeIndices({1, 1, 1}, {bound}));
}

} // namespace mpc
