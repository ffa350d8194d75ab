// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constant descriptors of library calls, as include/mpc-rt/executable.h declares them.
#ifndef MPC_LIB_CONVERSION_MPCRTTOLLVM_DESCRIPTORS_H
#define MPC_LIB_CONVERSION_MPCRTTOLLVM_DESCRIPTORS_H

#include "Lowering.h"
#include "dialects/mpcrt/IR/Mpcrt.h"

namespace mpc {

/// The address, at `op`, of a constant mpc_rt_contract_t. `rhsVariable` is the index of the
/// variable that the right operand is, or -1.
mlir::FailureOr<mlir::Value> describeCall(mpcrt::ContractOp op, int32_t rhsVariable,
                                          TablePositions &tables);
/// The same for mpc_rt_convolution_t.
mlir::FailureOr<mlir::Value> describeCall(mpcrt::ConvolveOp op, int32_t rhsVariable,
                                          TablePositions &tables);

} // namespace mpc

#endif // MPC_LIB_CONVERSION_MPCRTTOLLVM_DESCRIPTORS_H
