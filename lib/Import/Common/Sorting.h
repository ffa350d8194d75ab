// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sorted order as elementwise ops: the place of an element is how many others precede it. That
// takes the square of the extent in comparisons, all independent of each other.
#ifndef MPC_LIB_IMPORT_COMMON_SORTING_H
#define MPC_LIB_IMPORT_COMMON_SORTING_H

#include "lib/Import/Common/ValueBuilder.h"

namespace mpc {

/// The longest axis that is worth it.
constexpr int64_t kMostSorted = 2048;

/// Where the elements of the last axis, of any type, are in sorted order, int32: of equal ones the
/// first comes first; NaN counts as the largest, so that there is an order.
mlir::Value argsortLast(ValueBuilder &b, mlir::Value x, bool descending);

} // namespace mpc

#endif // MPC_LIB_IMPORT_COMMON_SORTING_H
