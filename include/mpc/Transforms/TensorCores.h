// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tensor Cores ask for extents that are multiples of a number.
#ifndef MPC_TRANSFORMS_TENSORCORES_H
#define MPC_TRANSFORMS_TENSORCORES_H

#include "mlir/IR/Types.h"
#include <algorithm>

namespace mpc {

/// Operands are read in vectors of 16 bytes (CUDA, cuBLAS guide, section 2.1.11): extents are
/// multiples of this many elements.
inline int64_t tensorCoreMultiple(mlir::Type element) {
  return 128 / std::min(element.getIntOrFloatBitWidth(), 16u);
}

} // namespace mpc

#endif // MPC_TRANSFORMS_TENSORCORES_H
