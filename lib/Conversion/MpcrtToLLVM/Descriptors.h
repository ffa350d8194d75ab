// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Constant descriptors of library calls, as include/mpc-rt/services.h declares them.
#ifndef MPC_LIB_CONVERSION_MPCRTTOLLVM_DESCRIPTORS_H
#define MPC_LIB_CONVERSION_MPCRTTOLLVM_DESCRIPTORS_H

#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/MpcrtToLLVM/Lowering.h"

namespace mpc {

/// The address, at `op`, of a constant descriptor of the call: mpc_rt_contract_t,
/// mpc_rt_convolution_t, mpc_rt_attention_t or mpc_rt_trace_t. `rhsVariable` is the index of the
/// variable that the right one of two factors is, or -1.
mlir::FailureOr<mlir::Value> describeCall(mlir::Operation *op, int32_t rhsVariable,
                                          TablePositions &tables);

/// Where mpc_rt_services_t has the service that answers a call, in bytes.
int64_t serviceOf(mlir::Operation *op);

} // namespace mpc

#endif // MPC_LIB_CONVERSION_MPCRTTOLLVM_DESCRIPTORS_H
