// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Turns one structured op into a kernel function and its launch.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_KERNELOUTLINER_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_KERNELOUTLINER_H

#include "dialects/mpcrt/IR/Mpcrt.h"
#include "lib/Conversion/LinalgToMpcrt/LoopEmitter.h"
#include "llvm/ADT/StringSet.h"

namespace mpc {

/// The op that combines the partial results of an output, and its neutral element.
using Combiner = std::pair<mlir::Operation *, mlir::TypedAttr>;
/// That of each output; empty when an output has none with a neutral element.
llvm::SmallVector<Combiner> combinersOf(mlir::linalg::GenericOp op);

class KernelOutliner {
public:
  /// `isOnDevice`: for a GPU. Temporaries of mpcrt.rows then hold one row, since a thread takes
  /// one.
  explicit KernelOutliner(mlir::func::FuncOp entry, bool isOnDevice = false);

  /// Replaces `op`. Failure, with an error on the op, when it cannot be expressed.
  mlir::LogicalResult outline(mlir::linalg::GenericOp op);

  /// Replaces the group by one kernel that runs its ops on a few rows at a time.
  mlir::LogicalResult outline(mpcrt::RowsOp rows);

private:
  /// A kernel under construction.
  struct Kernel {
    mlir::func::FuncOp function;
    mlir::OpBuilder builder;
    mlir::IRMapping inside;                ///< operands and captured values of the ops
    mlir::SmallVector<mlir::Value> extras; ///< the launch's further arguments, inside
    mlir::Value batch, begin, end;
    mlir::SmallVector<mlir::Value> arguments; ///< of the launch
  };

  mlir::linalg::GenericOp flatten(mlir::linalg::GenericOp op);
  Kernel createKernel(llvm::ArrayRef<mlir::linalg::GenericOp> ops, mlir::ValueRange extras);
  /// Launches the kernel in place of `op`, which goes.
  void finish(mlir::Operation *op, Kernel &kernel, mlir::Value count, int64_t grain,
              llvm::StringRef split);
  void emitInline(mlir::linalg::GenericOp op, const IterationSpace &space);
  void emitLaunch(mlir::linalg::GenericOp op, const IterationSpace &space);
  /// Whether the last loop that the launch counts goes through an input as that lies in memory, and
  /// the only one inside of it has a few iterations.
  bool readsTransposed(mlir::linalg::GenericOp op, const IterationSpace &space) const;
  /// The loops of such a kernel.
  void emitTransposedReads(Kernel &kernel, LoopEmitter &emitter, mlir::Location loc,
                           const IterationSpace &space);
  /// Partial results by one kernel, their combination by a structured op, which is outlined then.
  mlir::LogicalResult emitParts(mlir::linalg::GenericOp op, IterationSpace space);
  /// That kernel, in place of `op`.
  void emitPartialSums(mlir::linalg::GenericOp op, const IterationSpace &space,
                       llvm::ArrayRef<Combiner> combiners, llvm::ArrayRef<mlir::Value> partials,
                       const BatchExtent &iterations);
  mlir::LogicalResult emitColumnBlocks(mlir::linalg::GenericOp op, IterationSpace space);
  mlir::LogicalResult emitBlocks(mlir::linalg::GenericOp op, const IterationSpace &space);
  void emitSerial(mlir::linalg::GenericOp op, const IterationSpace &space);
  void sumBlocks(Kernel &kernel, mlir::linalg::GenericOp op, const IterationSpace &space,
                 llvm::ArrayRef<Combiner> combiners);

  mlir::func::FuncOp entry;
  mlir::Value batch;
  bool isOnDevice;
  llvm::StringSet<> names;               ///< of the module's symbols
  llvm::StringMap<unsigned> lastNumbers; ///< of kernels, by their names without one
};

/// Lets equal kernels of a module share one function.
void mergeEqualKernels(mlir::ModuleOp module);

} // namespace mpc

#endif
