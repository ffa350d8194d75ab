// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that make numbers of 8 bits of sums.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_REQUANTIZATION_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_REQUANTIZATION_H

#include "lib/Conversion/LinalgToMpcrt/ElementKernel.h"
#include "runtime/rules/requantization.h"

namespace mpc {

/// What the kernel computes of its argument `sums`, where it is that and nothing else.
std::optional<rules::Requantization> findRequantization(mlir::func::FuncOp kernel, unsigned sums);

} // namespace mpc

#endif
