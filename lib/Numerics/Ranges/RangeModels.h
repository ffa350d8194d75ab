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

namespace mpc {

/// How the result's form is made of the operands' forms, element by element.
enum class FormKind {
  None,       ///< a number of its own
  Same,       ///< the first operand's, maybe rounded to another type
  OfRun,      ///< of the first operand in training, of the second in inference
  Negated,    ///< the first operand's with the other sign
  Sum,        ///< of both operands; so are the next two
  Difference, ///< the first without the second
  Product
};

} // namespace mpc

#include "lib/Numerics/Ranges/RangeOpInterface.h.inc"

namespace mpc {

template <typename OpT, void (*kDerive)(OpT, RangeArguments &), FormKind kForm>
struct RangeModel : RangeOpInterface::ExternalModel<RangeModel<OpT, kDerive, kForm>, OpT> {
  void deriveRanges(mlir::Operation *op, RangeArguments &arguments) const {
    kDerive(llvm::cast<OpT>(op), arguments);
  }
  FormKind getFormKind(mlir::Operation *) const { return kForm; }
};

template <typename OpT, void (*kDerive)(OpT, RangeArguments &), FormKind kForm = FormKind::None>
void attachRange(mlir::MLIRContext &context) {
  OpT::template attachInterface<RangeModel<OpT, kDerive, kForm>>(context);
}

inline FormKind formKindOf(mlir::Operation *op) {
  auto ranged = llvm::dyn_cast<RangeOpInterface>(op);
  return ranged ? ranged.getFormKind() : FormKind::None;
}
inline bool isOfTwo(FormKind kind) {
  return kind == FormKind::Sum || kind == FormKind::Difference || kind == FormKind::Product;
}
/// Whether an op that has a form stores another number than its form says: of the ops that hand
/// numbers on, casts alone do.
inline bool roundsForm(mlir::Operation *op) {
  auto cast = llvm::dyn_cast<CastOp>(op);
  if (!cast)
    return isOfTwo(formKindOf(op));
  return elementTypeOf(cast.getInput()).getIntOrFloatBitWidth() >= 32 ||
         elementTypeOf(cast.getResult()).getIntOrFloatBitWidth() < 32;
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
