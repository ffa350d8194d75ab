// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gathering rows of a column into a batch buffer, converted to the tensor's element type.
#ifndef MPC_RUNTIME_DATA_GATHER_H
#define MPC_RUNTIME_DATA_GATHER_H

#include "data/bind.h"

namespace mpc::data {

/// Bytes of one row of the column's tensor.
size_t rowBytes(const Column &column);

/// Writes rows[0 .. count) of the column to `out` ([count, spec.dims...] of spec.dtype), as Keras
/// converts arrays: through float32 to floating types.
void gatherRows(const Column &column, const int64_t *rows, int64_t count, void *out);

} // namespace mpc::data
#endif
