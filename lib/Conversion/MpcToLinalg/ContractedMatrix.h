// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The questions that are asked of a contraction that could take over an elementwise op.
#ifndef MPC_LIB_CONVERSION_MPCTOLINALG_CONTRACTEDMATRIX_H
#define MPC_LIB_CONVERSION_MPCTOLINALG_CONTRACTEDMATRIX_H

#include "dialects/mpcrt/IR/Mpcrt.h"

namespace mpc {

/// The contraction whose result the value is, as it is or in another shape, and whether nothing
/// else reads it on the way; on demand also where the value is a part of the result, which
/// mpc-pad-dims padded.
std::pair<mpcrt::ContractOp, bool> findMatrix(mlir::Value value, bool inParts = false);

/// A contraction with a floating result of known width that is not added to another one.
bool isOpenMatrix(mpcrt::ContractOp op);

} // namespace mpc

#endif // MPC_LIB_CONVERSION_MPCTOLINALG_CONTRACTEDMATRIX_H
