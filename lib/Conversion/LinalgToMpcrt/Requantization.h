// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that make numbers of 8 bits of sums.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_REQUANTIZATION_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_REQUANTIZATION_H

#include "lib/Conversion/LinalgToMpcrt/ElementKernel.h"
#include "runtime/rules/requantization.h"

namespace mpc {

/// Finds the rule by which the kernel makes numbers of 8 bits of its argument `sums`, and does
/// nothing else.
std::optional<rules::Requantization> findRequantization(mlir::func::FuncOp kernel, unsigned sums);

} // namespace mpc

#endif
