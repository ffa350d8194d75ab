// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Slots at the start of the arena for what an entry kept on its stack or in registers.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_HOSTSPILL_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_HOSTSPILL_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

namespace mpc {

class HostSpill {
public:
  explicit HostSpill(mlir::func::FuncOp entry);

  /// Every alloca of static size becomes a view of the arena.
  void replaceAllocas();

  /// Stores `value` where it is computed and loads it before each of `uses`; the store.
  mlir::Operation *throughMemory(mlir::Value value, llvm::ArrayRef<mlir::OpOperand *> uses);

  /// Makes room: the views that were there before move behind the new ones.
  void finish();

private:
  mlir::Value allocate(mlir::MemRefType type);

  mlir::func::FuncOp entry;
  mlir::Value arena, batch;
  llvm::SmallVector<mlir::Operation *> existing;
  int64_t bytes = 0;
};

} // namespace mpc

#endif
