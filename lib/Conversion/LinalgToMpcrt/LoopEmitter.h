// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Scalar loops for the body of a structured op.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_LOOPEMITTER_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_LOOPEMITTER_H

#include "lib/Conversion/LinalgToMpcrt/IterationSpace.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SmallBitVector.h"

namespace mpc {

/// A loop with its bounds.
struct LoopBounds {
  unsigned loop;
  mlir::Value begin, end;
  mlir::Value step = {}; ///< null: 1; only of loops that reduce
};

/// The bounds of a loop over combinations of indices.
struct FlatBounds {
  mlir::Value begin, end, step;
};

/// Emits loops that run the body of `op` on `buffers` (its operands, perhaps as seen by a kernel).
class LoopEmitter {
public:
  /// `captured` maps values that the body takes from outside to what stands for them.
  LoopEmitter(mlir::linalg::GenericOp op, mlir::ValueRange buffers, mlir::IRMapping captured);

  /// The first `rowLoops` dimensions of the buffers that `indices` has are one, indexed with what
  /// it says.
  void setRow(unsigned rowLoops, const llvm::DenseMap<mlir::Value, mlir::Value> &indices);

  /// Loop `loop` has index `value` from here on; loads what that makes known.
  void bind(mlir::OpBuilder &builder, unsigned loop, mlir::Value value);

  /// Loads what depends on no loop; first call unless `emit` is.
  void prepare(mlir::OpBuilder &builder) { loadInputs(builder); }

  /// Loops of `bounds`, outermost first; from `firstReduction` on, outputs stay in registers.
  void emit(mlir::OpBuilder &builder, llvm::ArrayRef<LoopBounds> bounds, unsigned firstReduction,
            bool innermostIndependent);

  /// Runs the loops with the outputs in registers, starting from `accumulators`; their last values.
  llvm::SmallVector<mlir::Value> reduce(mlir::OpBuilder &builder, llvm::ArrayRef<LoopBounds> bounds,
                                        mlir::ValueRange accumulators);

  /// The same with one loop, of `bounds`, over all combinations of indices of `loops`, of which
  /// only the first may depend on the batch. The numbers of iterations are `extents`.
  llvm::SmallVector<mlir::Value> reduceFlat(mlir::OpBuilder &builder,
                                            llvm::ArrayRef<unsigned> loops,
                                            llvm::ArrayRef<int64_t> extents,
                                            const FlatBounds &bounds,
                                            mlir::ValueRange accumulators);

private:
  bool isBound(mlir::AffineMap map) const;
  llvm::SmallVector<mlir::Value> indices(mlir::OpBuilder &builder, unsigned operand);
  void loadInputs(mlir::OpBuilder &builder);
  llvm::SmallVector<mlir::Value> loadOutputs(mlir::OpBuilder &builder);
  void storeOutputs(mlir::OpBuilder &builder, mlir::ValueRange values);
  llvm::SmallVector<mlir::Value> body(mlir::OpBuilder &builder, mlir::ValueRange outputs);

  mlir::linalg::GenericOp op;
  llvm::SmallVector<mlir::Value> buffers;
  mlir::IRMapping captured;
  llvm::SmallVector<mlir::Value> loopValues;
  llvm::SmallVector<mlir::Value> loaded; // per operand; null when not yet
  unsigned rowLoops = 0;
  llvm::SmallVector<mlir::Value> rowOf; // per operand; null where rows have several dimensions
};

} // namespace mpc

#endif
