// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Properties of ops on single numbers. MLIR's dialects define those ops, so that they carry no
// trait of ours: one table has a row for each, and passes ask it.
#ifndef MPC_ANALYSIS_SCALAROPS_H
#define MPC_ANALYSIS_SCALAROPS_H

#include "mlir/IR/Operation.h"

namespace mpc {

struct ScalarProperties {
  /// Every level of instructions has it, or a short sequence for it: it calls no function of libm.
  bool isInstruction = false;
  /// It costs less than storing its result: it compares, selects or moves bits.
  bool isCheap = false;
  /// A NaN among its results is the default one, or one of the operands: it makes no payload.
  bool keepsNaNs = false;
  /// Its result is one of its operands, or one with another sign: what rounding leaves as they are,
  /// it leaves as its result.
  bool choosesNumbers = false;
};

/// All false for ops that the table lacks.
ScalarProperties scalarPropertiesOf(mlir::Operation *op);

} // namespace mpc

#endif // MPC_ANALYSIS_SCALAROPS_H
