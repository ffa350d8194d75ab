// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Warnings with a name (docs/lint.md), by which they can be silenced. Passes that find a hazard
// while they decide warn through here; all others are rules of lib/Numerics/Lint.
#ifndef MPC_ANALYSIS_LINTNAME_H
#define MPC_ANALYSIS_LINTNAME_H

#include "mlir/IR/Diagnostics.h"

namespace mpc {

/// These are found by passes. The table of rules has a row for each.
inline constexpr llvm::StringLiteral kInfiniteConstantLint = "infinite-constant";
inline constexpr llvm::StringLiteral kZeroConstantLint = "zero-constant";
inline constexpr llvm::StringLiteral kUnusedKeyLint = "unused-key";

/// A warning that bears the name of a lint.
mlir::InFlightDiagnostic emitLint(mlir::Location loc, llvm::StringRef name);

/// The name that emitLint gave it; empty for other diagnostics.
llvm::StringRef lintNameOf(mlir::Diagnostic &diagnostic);

} // namespace mpc

#endif // MPC_ANALYSIS_LINTNAME_H
