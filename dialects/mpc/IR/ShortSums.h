// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Products that are no work for a matrix library.
#ifndef MPC_DIALECTS_MPC_IR_SHORTSUMS_H
#define MPC_DIALECTS_MPC_IR_SHORTSUMS_H

#include "dialects/mpc/IR/Mpc.h"

namespace mpc {

/// Whether it is a product of two matrices of 16-bit floats or float32 whose results are sums of at
/// most 16 terms in float32, without an epilogue.
bool hasShortSums(ContractOp op);

} // namespace mpc

#endif // MPC_DIALECTS_MPC_IR_SHORTSUMS_H
