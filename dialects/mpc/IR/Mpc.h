// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The mpc dialect: every op, attribute, enum and interface.
#ifndef MPC_DIALECTS_MPC_IR_MPC_H
#define MPC_DIALECTS_MPC_IR_MPC_H

#include "dialects/mpc/IR/Reference.h"
#include "dialects/mpc/IR/Window.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CastInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "runtime/rules/loss_scale.h"

#include "dialects/mpc/IR/MpcEnums.h.inc"

namespace mpc {

/// float64 for float64, else float32: what sums and keep32 arithmetic use.
mlir::Type widerOf32(mlir::Type elementType);
/// The value with this floating element type: itself, or a cast of it.
mlir::Value castElements(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                         mlir::Type elementType);

/// A value that an optimizer keeps for each variable.
struct OptimizerSlot {
  llvm::StringRef name; // Keras's suffix, for example "momentum"
  mlir::RankedTensorType type;
  double initial = 0;
  bool isPlaceholder = false;    // nothing uses it; Keras keeps one all the same
  bool startsAsVariable = false; // zeros until the first step, which takes the variable for it
};

inline bool anyStartsAsVariable(llvm::ArrayRef<OptimizerSlot> slots) {
  return llvm::any_of(slots, [](const OptimizerSlot &slot) { return slot.startsAsVariable; });
}

/// An optimizer of TensorFlow's OptimizerV2 leaves these alone in rows of a table without a
/// gradient.
enum class KeptRows { None, Variable, VariableAndSlots };

/// A scalar, float32 or float64, that an optimizer keeps once.
struct OptimizerScalar {
  llvm::StringRef name;
  double initial = 0;
};

/// NumPy broadcasting of shapes; failure when extents disagree. A dynamic extent (the batch) equals
/// only itself and 1.
llvm::FailureOr<llvm::SmallVector<int64_t>>
broadcastShapes(llvm::ArrayRef<llvm::ArrayRef<int64_t>> shapes);

/// Result type shared by all elementwise ops: broadcast shape; i1 for comparisons and tests.
llvm::LogicalResult inferElementwise(llvm::StringRef opName, std::optional<mlir::Location> location,
                                     mlir::ValueRange operands,
                                     llvm::SmallVectorImpl<mlir::Type> &types);

/// Whether a tensor (of one sample, where the batch is open) has at most 2^47 bytes, which is what
/// an x86-64 process can address.
bool isAddressable(mlir::Type type);

/// Trait of all ops: operands and results are addressable.
llvm::LogicalResult verifyAddressable(mlir::Operation *op);
template <typename Op> struct Addressable : mlir::OpTrait::TraitBase<Op, Addressable> {
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) { return verifyAddressable(op); }
};

/// Trait of ops whose verifier relies on what their types were inferred from.
template <typename Op> struct InferenceFirst : mlir::OpTrait::TraitBase<Op, InferenceFirst> {
  static llvm::LogicalResult verifyTrait(mlir::Operation *op) {
    return mlir::detail::verifyInferredResultTypes(op);
  }
};

/// Trait of ops with one cotangent that only move elements, or narrow them: a cotangent wider than
/// the result goes on to the operand as wide as it is.
template <typename Op>
struct PassesWideCotangent : mlir::OpTrait::TraitBase<Op, PassesWideCotangent> {};

/// Trait of ops that backward bodies of loops compute again instead of reading a stacked result.
template <typename Op> struct CheaperThanStack : mlir::OpTrait::TraitBase<Op, CheaperThanStack> {};

/// Trait of ops whose reference value is what compiled code computes, bit by bit.
template <typename Op> struct ExactOfConstants : mlir::OpTrait::TraitBase<Op, ExactOfConstants> {};

/// Trait of ops whose results have elements of their operands, and zeros.
template <typename Op> struct MovesElements : mlir::OpTrait::TraitBase<Op, MovesElements> {};

/// Element type of a shaped value.
inline mlir::Type elementTypeOf(mlir::Value value) {
  return mlir::getElementTypeOrSelf(value.getType());
}
inline mlir::RankedTensorType tensorTypeOf(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}

} // namespace mpc

#include "dialects/mpc/IR/MpcOpInterfaces.h.inc"

#include "dialects/mpc/IR/MpcAttrInterfaces.h.inc"

#include "dialects/mpc/IR/MpcDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/mpc/IR/MpcAttributes.h.inc"

namespace mpc {
/// The value of an elementwise op through its evaluateScalar.
llvm::LogicalResult evaluateElementwise(mlir::Operation *op,
                                        llvm::ArrayRef<ReferenceTensor> operands,
                                        llvm::MutableArrayRef<ReferenceTensor> results);
} // namespace mpc

#define GET_OP_CLASSES
#include "dialects/mpc/IR/MpcOps.h.inc"

namespace mpc {
/// A rank-0 constant.
mlir::Value scalarConstant(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type elementType,
                           double value);

/// Adjoint of broadcasting: sums `cotangent` over what `type` repeats to reach its shape.
mlir::Value sumToType(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value cotangent,
                      mlir::RankedTensorType type);

/// log(sum of e^x) along `axes`, which stay with extent 1; -inf where all of x is. The derivative
/// takes the maximum that x is shifted by as a constant: what it contributes cancels out.
mlir::Value logSumExp(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x,
                      llvm::ArrayRef<int64_t> axes);

/// Builds mpc.float8_quantize of elementary ops in the type of `value`.
mlir::Value quantizeFloat8(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                           mlir::Value scale, mlir::Type format);

/// variable - variable * decay * rate, in the order of Keras's _apply_weight_decay.
mlir::Value decayWeight(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value variable,
                        mlir::FloatAttr decay, mlir::Value rate);

/// The slots as the rule takes them: where `start` is true (null: is not), those that start as the
/// variable are `variable`.
llvm::SmallVector<mlir::Value> startSlots(mlir::OpBuilder &builder, OptimizerStepOp step,
                                          mlir::Value variable, mlir::ValueRange slots,
                                          mlir::Value start);

/// How many elements a mean over `axes` of `input` divides by: float32 or float64, rank 0.
mlir::Value countElements(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value input,
                          llvm::ArrayRef<int64_t> axes);

/// The offsets of the kept dimensions and of the reduced ones of a row-major tensor.
std::pair<llvm::SmallVector<int64_t, 0>, llvm::SmallVector<int64_t, 0>>
splitOffsets(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> axes);

/// The type of a reduction of `input` over `axes`; an error where there is no such axis.
llvm::FailureOr<mlir::RankedTensorType> inferReducedType(std::optional<mlir::Location> location,
                                                         mlir::RankedTensorType input,
                                                         llvm::ArrayRef<int64_t> axes,
                                                         bool keepDims);

/// `shape` with the extents of `axes` left out, or 1 with `keepDims`.
llvm::SmallVector<int64_t> reducedShape(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> axes,
                                        bool keepDims);

/// Fails with an error that names the op when a dimension is there twice; `what` is what a message
/// calls it.
llvm::LogicalResult verifyDistinct(mlir::Operation *op, llvm::ArrayRef<int64_t> dims,
                                   llvm::StringRef what);

/// Keras's promotion of two floating dtypes (keras/src/backend/common/dtypes.py): the wider one,
/// and float32 for bfloat16 with float16. Null stands for "nothing yet".
mlir::Type promoteFloats(mlir::Type a, mlir::Type b);

/// The ops that an optimizer step stands for: unscale, update, select, casts. Values of its
/// results.
llvm::SmallVector<mlir::Value> expandOptimizerStep(mlir::OpBuilder &builder, OptimizerStepOp step);

/// The reference values of the operands of `block`'s terminator, given those of its arguments.
/// Every op must implement ReferenceOpInterface; one that does not is an error at its location.
llvm::LogicalResult evaluateBlock(mlir::Block &block, llvm::ArrayRef<ReferenceTensor> arguments,
                                  llvm::SmallVectorImpl<ReferenceTensor> &results);
} // namespace mpc

#endif // MPC_DIALECTS_MPC_IR_MPC_H
