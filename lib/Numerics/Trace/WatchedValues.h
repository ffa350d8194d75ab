// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The values that the kernels and library calls of a training step leave in memory.
#ifndef MPC_LIB_NUMERICS_TRACE_WATCHEDVALUES_H
#define MPC_LIB_NUMERICS_TRACE_WATCHEDVALUES_H

#include "lib/Conversion/LinalgToMpcrt/MemoryOrder.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mpc/Analysis/BatchExtent.h"
#include "mpc/Analysis/TracedNames.h"

namespace mpc {

/// A whole buffer, and what is reported of it (mpcrt.trace).
struct WatchedValue {
  mlir::Value buffer;
  mlir::Value before; ///< what it was rounded from; null where that is not in memory
  TraceDirection direction;
  std::string op;
  llvm::StringRef layer;
  bool isScaled = false;
  bool isUpdate = false;        ///< of a weight that is trained: its change is reported, too
  mlir::memref::SubViewOp part; ///< of the buffer, without padding; null: all of it
};

/// Looks at the entry as it is: what is added to it later is not seen.
class WatchedValues {
public:
  WatchedValues(mlir::func::FuncOp step, BufferUses &uses);

  llvm::SmallVector<WatchedValue> inputs();
  /// Buffers that are complete behind this op of the entry's block and leave their layer, are
  /// narrow, or belong to all steps of a scan or to a variable.
  llvm::SmallVector<WatchedValue> of(mlir::Operation *op);

private:
  struct Written;
  VariableOp variableOf(mlir::Value base);
  TraceDirection directionOf(mlir::Operation *call);
  /// The variable whose gradient the buffer is: an op that reads it updates that one alone.
  VariableOp updatedFrom(mlir::Operation *reader, mlir::Value buffer, const BatchExtent &elements);
  /// The buffers that a launch writes where it reads this one.
  llvm::SmallVector<mlir::Value> writtenFrom(mpcrt::LaunchOp launch, mlir::Value buffer);
  /// The part of a buffer that has its numbers, where library calls and what fills it with zeros
  /// alone touch the rest.
  mlir::memref::SubViewOp unpadded(mlir::Value base);
  std::optional<WatchedValue> describeVariable(const Written &written);
  std::optional<WatchedValue> describeResult(mlir::Operation *op, const Written &written);
  WatchedValue describe(const Written &written);

  mlir::func::FuncOp step;
  BufferUses &uses;
  MemoryOrder order;
  bool isScaled;
  mlir::Operation *lastBackward = nullptr; ///< of the entry's block
};

} // namespace mpc

#endif // MPC_LIB_NUMERICS_TRACE_WATCHEDVALUES_H
