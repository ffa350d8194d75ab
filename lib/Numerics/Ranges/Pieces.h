// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions that read one number in several places, as x sigmoid(x).
#ifndef MPC_LIB_NUMERICS_RANGES_PIECES_H
#define MPC_LIB_NUMERICS_RANGES_PIECES_H

#include "mpc/Numerics/Ranges/Ranges.h"

namespace mpc {

/// Whether the op has one result, of which each element is computed of the operands' elements that
/// broadcasting puts at its place, all floating.
bool computesByElement(mlir::Operation *op);

/// Narrows the bound of an elementwise op that computes with one number on both sides: what the ops
/// from there give for small parts of that number's range, together. `boundOf` has the operands'.
void narrowByPieces(mlir::Operation &op, RangeAnalysis &analysis,
                    llvm::function_ref<const Bound &(mlir::Value)> boundOf, Bound &result);

} // namespace mpc

#endif // MPC_LIB_NUMERICS_RANGES_PIECES_H
