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

/// The type whose elements are float32 where they were narrower; others stay.
mlir::Type widenedType(mlir::Type type);
/// The operand that the op rounds to float8, and does nothing else with; null for other ops.
mlir::Value roundedToFloat8(mlir::Operation *op);
/// Gives that type to an op's results, whose operands have it already.
void widenOp(mlir::Operation *op);

/// Makes an entry that reports its values compute each layer from what the layers around it are in
/// float32, which it computes besides. Verification says whether every op has a form in that type.
void separateLayers(mlir::func::FuncOp entry);

} // namespace mpc

#endif // MPC_LIB_NUMERICS_TRACE_REPORTVALUES_H
