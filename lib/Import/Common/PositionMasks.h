// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Masks that compare the positions of two dimensions. They are made of two vectors of positions, so
// that a mask of 32,768 targets and sources is no constant of a billion elements.
#ifndef MPC_LIB_IMPORT_COMMON_POSITIONMASKS_H
#define MPC_LIB_IMPORT_COMMON_POSITIONMASKS_H

#include "lib/Import/Common/ValueBuilder.h"

namespace mpc {

/// i1 [rows, columns], with `leading` dimensions of 1 before: whether `column` compares to
/// `row + diagonal` so.
mlir::Value makeDiagonalMask(ValueBuilder &b, int64_t rows, int64_t columns,
                             ComparePredicate predicate, int64_t diagonal = 0,
                             unsigned leading = 0);
/// i1 [1, targets, sources]: true where a target may see a source, that is at or before it.
mlir::Value makeCausalMask(ValueBuilder &b, int64_t targets, int64_t sources);
/// i1 [1, targets, sources]: true where both are less than `window` apart.
mlir::Value makeWindowMask(ValueBuilder &b, int64_t targets, int64_t sources, int64_t window);

} // namespace mpc

#endif // MPC_LIB_IMPORT_COMMON_POSITIONMASKS_H
