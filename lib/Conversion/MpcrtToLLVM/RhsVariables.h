// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef MPC_LIB_CONVERSION_MPCRTTOLLVM_RHSVARIABLES_H
#define MPC_LIB_CONVERSION_MPCRTTOLLVM_RHSVARIABLES_H

#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/MpcrtToLLVM/Lowering.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/BitVector.h"

namespace mpc {

/// Which library calls of an entry read a variable of the model as rhs, as the run finds it: the
/// runtime may keep a packed copy of it. To be constructed before the first rewrite.
class RhsVariables {
public:
  RhsVariables(mlir::func::FuncOp entry, TablePositions &tables);

  /// The position of the variable that is the rhs of `call`, or behind all positions a number of
  /// its own for a constant of integers and for what mpcrt.prepare wrote, which stays as long as
  /// variables do; else -1.
  int32_t lookup(mlir::Operation *call) const;

  /// Whether such calls alone read the variable: they may take its value from somewhere else.
  bool areOnlyUsesOf(mlir::BlockArgument variable) const;

private:
  int32_t variableOf(mlir::Value buffer, mlir::Operation *reader);
  int32_t takeNumber();
  int32_t preparedOf(mpcrt::ViewOp view);
  int32_t numberOf(mlir::memref::GetGlobalOp constant);
  bool isWrittenBefore(mlir::BlockArgument variable, mlir::Operation *op);
  llvm::ArrayRef<mlir::Operation *> writersOf(mlir::BlockArgument variable);
  bool mayWrite(mlir::OpOperand &use);
  bool isStoredTo(mlir::func::FuncOp kernel, unsigned index);

  mlir::func::FuncOp entry;
  TablePositions &tables;
  mlir::SymbolTable symbols;
  mlir::BufferViewFlowAnalysis views;
  // Answers are kept: a variable is read by many calls, and a kernel writes in many launches.
  llvm::DenseMap<mlir::Value, llvm::SmallVector<mlir::Operation *>> writers;
  llvm::DenseMap<mlir::Operation *, llvm::BitVector> stored;
  llvm::DenseMap<mlir::Operation *, int32_t> positions;
  llvm::DenseMap<uint64_t, int32_t> preparedPlaces; ///< by the offset
  llvm::DenseMap<mlir::Attribute, int32_t> constants;
};

} // namespace mpc

#endif
