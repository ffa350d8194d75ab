// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Gathering rows of a column into a batch buffer, converted to the tensor's element type.
#ifndef MPC_RUNTIME_DATA_GATHER_H
#define MPC_RUNTIME_DATA_GATHER_H

#include "runtime/data/bind.h"

namespace mpc::data {

/// Bytes of one row of the column's tensor.
size_t rowBytes(const Column &column);

/// Whether rows of the column lie as the entry wants them.
bool isAsWanted(const Column &column);

/// Where rows[0 .. count) are when they follow each other and lie as the entry wants them; else
/// null.
const void *findRows(const Column &column, const int64_t *rows, int64_t count);

/// Writes rows[0 .. count) of the column to `out` ([count, spec.dims...] of spec.dtype), as Keras
/// converts arrays: through float32 to floating types. Up to `threads` threads share what is long.
void gatherRows(const Column &column, const int64_t *rows, int64_t count, void *out,
                unsigned threads = 1);

} // namespace mpc::data
#endif
