// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The first dimension of layers' inputs and outputs, which is the batch.
#ifndef MPC_LIB_IMPORT_COMMON_BATCHAXIS_H
#define MPC_LIB_IMPORT_COMMON_BATCHAXIS_H

#include "lib/Import/Common/ValueBuilder.h"

namespace mpc {

/// Whether layers can take these results of a layer or an operation: none is null. One that has no
/// elements, or the batch in another place than the first, is an error.
bool judgeResults(ValueBuilder &b, llvm::ArrayRef<mlir::Value> results);

/// `axis` counted from the front; an error (and nothing) outside the rank, or for the batch.
std::optional<int64_t> resolveAxis(ValueBuilder &b, int64_t axis, mlir::Value value);

} // namespace mpc

#endif
