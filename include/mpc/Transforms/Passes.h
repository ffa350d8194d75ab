// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Passes over the mpc dialect.
#ifndef MPC_TRANSFORMS_PASSES_H
#define MPC_TRANSFORMS_PASSES_H

#include "dialects/mpc/IR/Mpc.h"
#include "mlir/Pass/Pass.h"

namespace mpc {

/// What mpc-apply-policy leaves on quantized layers until they are inlined: the name of their
/// policy. That of others follows from their precision.
inline constexpr llvm::StringLiteral kQuantizedPolicyAttr = "mpc.quantized_policy";

#define GEN_PASS_DECL
#include "mpc/Transforms/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "mpc/Transforms/Passes.h.inc"

} // namespace mpc

#endif // MPC_TRANSFORMS_PASSES_H
