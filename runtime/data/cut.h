// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The first places of an array along a dimension.
#ifndef MPC_RUNTIME_DATA_CUT_H
#define MPC_RUNTIME_DATA_CUT_H

#include "runtime/data/array.h"

namespace mpc::data {

/// A copy with `extent` places along `axis`, at most as many as there are. Fails only for lack of
/// memory.
Result<Array> cut(const Array &array, size_t axis, int64_t extent);

} // namespace mpc::data
#endif
