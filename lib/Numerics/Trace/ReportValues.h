// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The steps of mpc-trace-numerics.
#ifndef MPC_LIB_NUMERICS_TRACE_REPORTVALUES_H
#define MPC_LIB_NUMERICS_TRACE_REPORTVALUES_H

#include "dialects/mpc/IR/Mpc.h"

namespace mpc {

/// Makes the entry report its values in place of updating variables. Returns how many it reports.
int64_t reportValues(mlir::func::FuncOp entry);

/// Gives every value that is narrower than float32 that type. Fails, and leaves the entry broken,
/// where an op has no form in it.
llvm::LogicalResult widenEntry(mlir::func::FuncOp entry);

} // namespace mpc

#endif // MPC_LIB_NUMERICS_TRACE_REPORTVALUES_H
