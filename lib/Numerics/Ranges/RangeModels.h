// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// How files of transfer functions state them: one function per op, attached as the model of
// RangeOpInterface.
#ifndef MPC_LIB_NUMERICS_RANGES_RANGEMODELS_H
#define MPC_LIB_NUMERICS_RANGES_RANGEMODELS_H

#include "dialects/mpc/IR/Mpc.h"
#include "mpc/Numerics/Ranges/Bound.h"
#include "mpc/Numerics/Ranges/Ranges.h"

#include <cmath>
#include <limits>

namespace mpc {

/// Bounds of the operands, and places for those of the results.
class RangeArguments {
public:
  RangeArguments(mlir::Operation *op, RangeAnalysis &analysis, llvm::ArrayRef<Bound> operands,
                 llvm::MutableArrayRef<Bound> results)
      : analysis(analysis), op(op), operands(operands), results(results) {}

  const Bound &in(unsigned operand) const { return operands[operand]; }
  llvm::ArrayRef<Bound> all() const { return operands; }
  mlir::Type typeOf(unsigned result) const { return elementTypeOf(op->getResult(result)); }
  /// The result is one of the operands' elements, or computed without rounding.
  void setExact(unsigned result, Bound bound) {
    // 0 times an unknown error is unknown, not NaN, which comparisons would lose.
    bound.error = std::isnan(bound.error) ? kUnbounded : roundError(bound.error);
    results[result] = std::move(bound);
  }
  /// The result is a real number in `bound`, rounded to the result's type.
  void setRounded(unsigned result, Bound bound) {
    bound.widen();
    setExact(result, rounded(std::move(bound), typeOf(result)));
  }

  RangeAnalysis &analysis;

private:
  mlir::Operation *op;
  llvm::ArrayRef<Bound> operands;
  llvm::MutableArrayRef<Bound> results;
};

} // namespace mpc

#include "lib/Numerics/Ranges/RangeOpInterface.h.inc"

namespace mpc {

template <typename OpT, void (*kDerive)(OpT, RangeArguments &)>
struct RangeModel : RangeOpInterface::ExternalModel<RangeModel<OpT, kDerive>, OpT> {
  void deriveRanges(mlir::Operation *op, RangeArguments &arguments) const {
    kDerive(llvm::cast<OpT>(op), arguments);
  }
};

template <typename OpT, void (*kDerive)(OpT, RangeArguments &)>
void attachRange(mlir::MLIRContext &context) {
  OpT::template attachInterface<RangeModel<OpT, kDerive>>(context);
}

// Families of ops, each in the file of its name.
void attachArithmeticRanges(mlir::MLIRContext &context);
void attachFunctionRanges(mlir::MLIRContext &context);
void attachMovementRanges(mlir::MLIRContext &context);
void attachProductRanges(mlir::MLIRContext &context);
void attachReductionRanges(mlir::MLIRContext &context);
void attachStructureRanges(mlir::MLIRContext &context);

} // namespace mpc

#endif // MPC_LIB_NUMERICS_RANGES_RANGEMODELS_H
