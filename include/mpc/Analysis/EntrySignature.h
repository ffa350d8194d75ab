// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The meaning of an entry's arguments once memory is planned.
#ifndef MPC_ANALYSIS_ENTRYSIGNATURE_H
#define MPC_ANALYSIS_ENTRYSIGNATURE_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

/// The part of the contract of the phases buffers and kernels that code generation relies on: a
/// body, no results, each argument in one role with the type of that role, and the arena's size.
mlir::LogicalResult verifyEntrySignature(mlir::func::FuncOp entry);

} // namespace mpc

#endif // MPC_ANALYSIS_ENTRYSIGNATURE_H
