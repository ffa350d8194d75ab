// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The host side of an entry under conversion: its calls of the runtime.
#ifndef MPC_LIB_CONVERSION_MPCRTTOLLVM_HOSTFUNCTION_H
#define MPC_LIB_CONVERSION_MPCRTTOLLVM_HOSTFUNCTION_H

#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/MpcrtToLLVM/CallStruct.h"
#include "lib/Conversion/MpcrtToLLVM/CallTable.h"
#include "lib/Conversion/MpcrtToLLVM/Descriptors.h"
#include "lib/Conversion/MpcrtToLLVM/Emitter.h"
#include "lib/Conversion/MpcrtToLLVM/Lowering.h"
#include "lib/Conversion/MpcrtToLLVM/RhsVariables.h"
#include "lib/Conversion/MpcrtToLLVM/RuntimeCalls.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mpc/Analysis/BatchExtent.h"

namespace mpc {

/// Lowers one entry, the body of a loop over `rows` (an mpc_rt_rows_fn), or that of mpcrt.prepare
/// (an mpc_rt_prepare_fn).
class HostFunction {
public:
  enum class Kind { entry, rows, preparation };
  HostFunction(mlir::func::FuncOp entry, TablePositions &tables, Kind kind = Kind::entry,
               std::optional<BatchExtent> rows = std::nullopt)
      : entry(entry), tables(tables), kind(kind), runtime(tables), rhsVariables(entry, tables),
        rows(rows) {}
  mlir::LogicalResult run();

private:
  // The steps of run().
  void createFunction();
  void readCall();
  mlir::FailureOr<llvm::SmallVector<mlir::Value>> readArguments();
  mlir::FailureOr<mlir::Value> readArgument(mlir::BlockArgument argument);
  llvm::SmallVector<mlir::Operation *> findCalls();
  mlir::LogicalResult lowerRun(llvm::ArrayRef<mlir::Operation *> run);
  llvm::SmallVector<mlir::Operation *> markFailures(llvm::ArrayRef<CallRun> runs);
  mlir::LogicalResult lowerAll(llvm::ArrayRef<CallRun> runs);
  void takeBody(llvm::ArrayRef<mlir::Value> arguments);
  static void returnFailures(mlir::LLVM::LLVMFuncOp function, mlir::Value status,
                             llvm::ArrayRef<mlir::Operation *> markers);
  /// Whether the entry is now a sequence of calls of functions, because it was long.
  bool cutIntoStages(llvm::ArrayRef<mlir::Operation *> markers);

  mlir::DictionaryAttr describe();
  mlir::LogicalResult lower(mlir::Operation *op);
  mlir::LogicalResult lowerCall(mlir::Operation *op);
  /// The call, in front of `before`; `kernel` as storeCall() takes it.
  mlir::LogicalResult callLibrary(mlir::Operation *before, mlir::Operation *op, mlir::Value kernel);
  mlir::LogicalResult lowerLaunch(mpcrt::LaunchOp op);
  mlir::LogicalResult lowerRows(mpcrt::ParallelRowsOp op);
  /// The memory that the entry's mpcrt.prepare wrote; called in the prologue.
  mlir::FailureOr<mlir::Value> prepare();
  /// Where the body of a loop over rows finds the address of that memory: behind its call.
  static constexpr int64_t kPreparedOfRows = sizeof(mpc_rt_call_t);
  mlir::LogicalResult lowerOwnPart(mpcrt::OwnPartOp op);
  mlir::LogicalResult lowerContractOfRows(mpcrt::ContractOp op);
  mlir::LogicalResult lowerLaunchOfRows(mpcrt::LaunchOp op);
  mlir::LogicalResult lowerInterleave(mpcrt::InterleaveOp op);
  mlir::LogicalResult lowerLaunchAll(mpcrt::LaunchAllOp op);
  mlir::LogicalResult lowerCopy(mlir::memref::CopyOp op);

  mlir::func::FuncOp entry;
  TablePositions &tables;
  Kind kind;
  mlir::LLVM::LLVMFuncOp function; // in place of the entry
  RuntimeCalls runtime;
  mlir::Value call;
  mlir::Value inputArray, outputArray, variableArray; // of the call
  unsigned inputIndex = 0, outputIndex = 0;           // of the next arguments in these
  CallPlaces places;                                  // of arguments
  // Asked of the ops as they were before the first rewrite.
  RhsVariables rhsVariables;
  mlir::Block *prologue = nullptr;
  std::optional<BatchExtent> rows;
  mlir::Value begin, end;   // of the rows
  unsigned productRank = 0; // of the next contraction among those of the rows
};

/// Erases ops of a block whose results nobody uses, but for these.
void eraseUnused(mlir::Block &block, llvm::ArrayRef<mlir::Operation *> kept = {});

} // namespace mpc

#endif // MPC_LIB_CONVERSION_MPCRTTOLLVM_HOSTFUNCTION_H
