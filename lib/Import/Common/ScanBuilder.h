// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The body of an mpc.scan as importers write it: ops may use any value in front of the scan; what
// they use becomes a capture at the end.
#ifndef MPC_LIB_IMPORT_COMMON_SCANBUILDER_H
#define MPC_LIB_IMPORT_COMMON_SCANBUILDER_H

#include "dialects/mpc/IR/Mpc.h"

namespace mpc {

class ScanBuilder {
public:
  /// From here on `builder` emits into the body.
  ScanBuilder(mlir::OpBuilder &builder, mlir::Location location, llvm::ArrayRef<mlir::Value> inits,
              llvm::ArrayRef<mlir::Value> scanned, int64_t steps, bool reverse);

  llvm::ArrayRef<mlir::Value> getCarried() const { return carried; }
  llvm::ArrayRef<mlir::Value> getSlices() const { return slices; }
  mlir::Block *getBlock() { return block.get(); }
  template <typename Op, typename... Arguments> mlir::Value make(Arguments &&...arguments) {
    return Op::create(builder, location, std::forward<Arguments>(arguments)...)->getResult(0);
  }
  mlir::Value makeZero() { return scalarConstant(builder, location, builder.getF32Type(), 0.0); }

  /// Where the body reads `outside`, a value in front of the scan, it shall read what the step
  /// before gave as `next`. The value after the last step is result `finish(…).getFinals()` behind
  /// those of the inits, in the order of the calls.
  /// With `inTraining` only training gives a next value.
  void carry(mlir::Value outside, mlir::Value next, bool inTraining);
  /// Random ops that read `state` take other numbers in every step; null: there are none.
  void varyRandomness(mlir::Value state);

  /// Ends the body; `builder` is behind the scan again.
  ScanOp finish(llvm::ArrayRef<mlir::Value> next, llvm::ArrayRef<mlir::Value> outputs);

  /// Drops the body after an error.
  void abandon() { builder.restoreInsertionPoint(outside); }

private:
  mlir::OpBuilder &builder;
  const mlir::Location location;
  const mlir::OpBuilder::InsertPoint outside;
  std::unique_ptr<mlir::Block> block;
  llvm::SmallVector<mlir::Value> inits, scanned, carried, slices;
  llvm::SmallVector<mlir::Value> later; ///< next values of carry()
  const int64_t steps;
  const bool reverse;
};

/// The ops that `import` appends to `block` stand for ops in every step of a loop, where each reads
/// the variables anew.
void importForEveryStep(mlir::Block &block, llvm::function_ref<void()> import);

} // namespace mpc

#endif
