// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls one behind the other as a constant table. Code for each of them would be most of what a
// deep network has to have compiled.
#ifndef MPC_LIB_CONVERSION_MPCRTTOLLVM_CALLTABLE_H
#define MPC_LIB_CONVERSION_MPCRTTOLLVM_CALLTABLE_H

#include "lib/Conversion/MpcrtToLLVM/RhsVariables.h"
#include "lib/Conversion/MpcrtToLLVM/RuntimeCalls.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mpc/Analysis/BatchExtent.h"

namespace mpc {

/// A step does one of these with the first words of its frame.
enum class CallShape : uint32_t {
  library,  ///< a service takes two of them and returns a status
  launch,   ///< a service takes four
  launches, ///< a service takes one, and 32 bits of the second
  copy,     ///< memory: to, from, bytes
  function, ///< the first is a function, which takes the second
};

/// A word of a step's frame: an element of one of these tables, to which a number is added.
struct CallWord {
  enum Table : uint32_t { numbers, inputs, outputs, variables, kernels, locals, symbols, count };
  /// Elements of `numbers`.
  enum Number : uint32_t { zero, arena, frame, numberCount };
  Table table = numbers;
  uint32_t index = zero;
  BatchExtent plus;
};

/// Where arguments of an entry are.
using CallPlaces = llvm::DenseMap<mlir::Value, CallWord>;

/// A step is two words, the number of its frame's words and CallShape, and the service (in bytes);
/// then, for each word of the frame, three: table and index, and what is added, fixed and per
/// sample.
class CallTable {
public:
  CallTable(const CallPlaces &places, const RhsVariables &rhsVariables, RuntimeCalls &runtime,
            TablePositions &tables)
      : places(places), rhsVariables(rhsVariables), runtime(runtime), tables(tables) {}

  /// Whether the op can be a step.
  static bool takes(mlir::Operation *op);
  mlir::LogicalResult add(mlir::Operation *op);
  /// Runs the steps: the first failure ends them.
  void run(Emitter &emit, mlir::Value call);

private:
  mlir::LogicalResult addLibrary(mlir::Operation *op, std::optional<CallWord> kernel);
  mlir::LogicalResult addInterleave(mpcrt::InterleaveOp op);
  mlir::LogicalResult addLaunch(mpcrt::LaunchOp op);
  mlir::LogicalResult addLaunches(mpcrt::LaunchAllOp op);
  mlir::LogicalResult addCopy(mlir::memref::CopyOp op);
  mlir::LogicalResult addFunction(mlir::func::CallOp op);

  /// Adds words to the frame, and returns the place of the first one.
  size_t reserve(size_t words);
  size_t addArguments(mlir::OperandRange arguments);
  void finish(CallShape shape, int64_t service = 0);

  CallWord kernelOf(mpcrt::LaunchOp op) const;
  CallWord wordOf(mlir::Value buffer);
  CallWord numberOf(mlir::Value number);
  CallWord addressOfNumber(mlir::Value number);
  CallWord symbolOf(llvm::StringRef symbol);
  std::optional<CallWord> placeOf(mlir::Value buffer) const;
  /// Code in front computes it: an address, a number, or where a number is.
  CallWord localOf(mlir::Value value, bool byAddress);
  static CallWord addressOf(size_t place) {
    return {CallWord::numbers, CallWord::frame, {int64_t(8 * place), 0}};
  }
  static CallWord constant(int64_t number) {
    return {CallWord::numbers, CallWord::zero, {number, 0}};
  }

  mlir::Value storeLocals(Emitter &emit);
  std::string createTable(Emitter &emit);
  std::string createSymbols(Emitter &emit);

  const CallPlaces &places;
  const RhsVariables &rhsVariables;
  RuntimeCalls &runtime;
  TablePositions &tables;
  llvm::SmallVector<CallWord> frame; // of the step under construction
  llvm::SmallVector<int64_t> words;
  llvm::SmallVector<std::string> symbols;
  llvm::SmallVector<std::pair<mlir::Value, bool>> locals;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, uint32_t> localIndex;
  size_t steps = 0, largestFrame = 0;
};

/// Calls one behind the other, with nothing between them that does something.
using CallRun = llvm::SmallVector<mlir::Operation *, 0>;

/// Those of an entry that are long enough for a table.
llvm::SmallVector<CallRun> findCallRuns(mlir::func::FuncOp entry);

/// The function of the library that goes through a table: (call, locals, words, symbols, steps,
/// words of the largest frame) to a status. Made where the module has none.
mlir::LLVM::LLVMFuncOp getRunCalls(mlir::ModuleOp module);

/// How many bytes an op copies; failure, with an error, where they are no function of the batch.
mlir::FailureOr<BatchExtent> bytesOfCopy(mlir::memref::CopyOp op);

} // namespace mpc

#endif // MPC_LIB_CONVERSION_MPCRTTOLLVM_CALLTABLE_H
