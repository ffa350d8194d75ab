// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Numbers of float8 in the kernels of a training step: what they were rounded from, and their
// scales, are in the same kernel, so that memory has neither.
#ifndef MPC_LIB_NUMERICS_TRACE_WATCHEDROUNDINGS_H
#define MPC_LIB_NUMERICS_TRACE_WATCHEDROUNDINGS_H

#include "lib/Conversion/LinalgToMpcrt/BufferUses.h"
#include "lib/Numerics/Trace/ArenaEnd.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mpc/Analysis/TracedNames.h"

namespace mpc {

/// Both lie in the arena behind the launch that writes them.
struct WatchedRounding {
  mlir::Value rounded, before;
  mlir::Type format; ///< null where `rounded` has that type
  TraceDirection direction;
  llvm::StringRef layer;
};

/// Launches of kernels that round to float8 launch copies of these, which store the numbers, too;
/// so do loops of the step itself. All else that a copy computes is the kernel's: neither packs nor
/// the order of sums depend on what else a loop stores.
class WatchedRoundings {
public:
  WatchedRoundings(mlir::func::FuncOp step, BufferUses &uses);

  /// Those of an op of the entry's block.
  llvm::ArrayRef<WatchedRounding> of(mlir::Operation *op) const;

private:
  /// An op of a kernel, and where the kernel stores what it computes from the result.
  struct Rounding {
    mlir::Value rounded, before;
    mlir::Type format; ///< null where `rounded` has that type
    mlir::memref::StoreOp store;
  };
  /// A kernel's roundings, and a copy of it that stores them; none without any.
  struct Copy {
    mlir::func::FuncOp kernel;
    llvm::SmallVector<Rounding> roundings;
  };
  const Copy &copyOf(mlir::func::FuncOp kernel);
  Copy makeCopy(mlir::func::FuncOp kernel);
  /// In a kernel or a loop.
  llvm::SmallVector<Rounding> findRoundings(mlir::Operation *root);
  void expose(mlir::Operation *op, mpcrt::LaunchOp launch, ReportRoom &room);
  void exposeLoop(mlir::Operation *loop, ReportRoom &room);
  /// Two for each rounding, in front of `op` of the entry's block, behind which they are reported:
  /// of the layers where they stand, or of the caller's. None, and a remark, where there can be
  /// none.
  llvm::SmallVector<mlir::Value> makeViews(mlir::Operation *op, llvm::ArrayRef<Rounding> roundings,
                                           llvm::ArrayRef<mlir::Value> stored,
                                           mlir::Location caller, bool isOfCaller,
                                           ReportRoom &room);
  void missed(mlir::Location loc, llvm::StringRef why);

  mlir::func::FuncOp step;
  BufferUses &uses;
  llvm::DenseMap<mlir::Operation *, Copy> copies;
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<WatchedRounding>> found;
};

} // namespace mpc

#endif // MPC_LIB_NUMERICS_TRACE_WATCHEDROUNDINGS_H
