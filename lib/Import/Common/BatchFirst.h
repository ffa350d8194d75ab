// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Brings the ops of a node, which see tensors as the file has them, to values whose first
// dimension is the open batch, as the dialect has them: transpositions of the batch go away, axes
// are counted anew.
#ifndef MPC_LIB_IMPORT_COMMON_BATCHFIRST_H
#define MPC_LIB_IMPORT_COMMON_BATCHFIRST_H

#include "dialects/mpc/IR/Mpc.h"
#include "lib/Import/Common/BatchPlace.h"

#include "llvm/ADT/DenseMap.h"

#include <optional>

namespace mpc {

class BatchFirst {
public:
  /// A value of the dialect, and where the batch is in the tensor that it stands for.
  struct Batched {
    mlir::Value value;
    BatchPlace place;
  };

  BatchFirst(mlir::Block &block, mlir::MLIRContext *context) : block(block), builder(context) {}

  /// `value` stands for `tensor`, which ops of the block read.
  void add(mlir::Value tensor, Batched batched) { places[tensor] = batched; }
  /// Null, or the op that keeps the batch together with other dimensions, or has no form with the
  /// batch first; then the block is of no use.
  mlir::Operation *run();
  /// After run: what stands for a tensor of the block; itself, where that is as it was.
  std::pair<mlir::Value, BatchPlace> find(mlir::Value tensor) const;
  /// Erases what nothing reads any more.
  void finish();

private:
  /// Nothing where the tensor has no batch.
  std::optional<Batched> findBatched(mlir::Value tensor) const;
  bool isConcerned(mlir::Operation *op) const;
  /// False where the op cannot be.
  bool rewrite(mlir::Operation *op);
  bool transpose(TransposeOp op);
  bool reshape(ReshapeOp op);
  bool broadcast(mlir::Operation *op);
  bool keepShape(mlir::Operation *op);
  bool moveAlong(mlir::Operation *op, llvm::StringRef attribute);
  bool resample(ResampleOp op);
  bool concatenate(ConcatenateOp op);
  bool reduce(mlir::Operation *op, llvm::ArrayRef<int64_t> axes, bool keepDims);
  bool findLargest(ArgMaxOp op);
  bool gather(GatherOp op);
  bool contract(ContractOp op);

  /// `operand` of an elementwise op whose result, of `rank` dimensions, has the batch at `place`;
  /// null where its dimensions lie in another order.
  mlir::Value align(mlir::Value operand, int64_t rank, const BatchPlace &place);
  mlir::Value makeReshape(mlir::Value value, llvm::ArrayRef<int64_t> shape);
  mlir::Value makeTranspose(mlir::Value value, llvm::ArrayRef<int64_t> order);
  /// The op again, with these operands and results of the types that the batch's place gives.
  mlir::Operation *repeat(mlir::Operation *op, mlir::ValueRange operands,
                          const std::optional<BatchPlace> &place);
  /// `value` stands for `tensor`, whose batch is at `place`, or which has none.
  void set(mlir::Value tensor, mlir::Value value, const std::optional<BatchPlace> &place);
  void setAll(mlir::Operation *op, mlir::Operation *by, const std::optional<BatchPlace> &place);

  mlir::Block &block;
  mlir::OpBuilder builder;
  llvm::DenseMap<mlir::Value, Batched> places; ///< of tensors that are no values of the dialect
  llvm::DenseMap<mlir::Value, mlir::Value> replaced; ///< of those that are
  llvm::SmallVector<mlir::Operation *> dead;
};

} // namespace mpc

#endif
