// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Room behind what an entry has in its arena.
#ifndef MPC_LIB_NUMERICS_TRACE_ARENAEND_H
#define MPC_LIB_NUMERICS_TRACE_ARENAEND_H

#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mpc {

class ArenaEnd {
public:
  explicit ArenaEnd(mlir::func::FuncOp entry);

  int64_t getFixed() const { return fixed; }
  static int64_t align(int64_t bytes);
  int64_t takeFixed(int64_t bytes);
  int64_t takePerSample(int64_t bytes);
  /// Views that grow with the batch lie behind all that do not, and move on.
  void close();
  mlir::Value getMemory() const { return memory; }
  bool isOfArena(mpcrt::ViewOp view) const { return view.getArena() == memory; }

private:
  int64_t sizeOf(llvm::StringRef name);

  mlir::func::FuncOp entry;
  mlir::Value memory;
  int64_t fixed, perSample;
  const int64_t fixedBefore;
};

/// Buffers that nothing reads behind their reports, which have one place, one after the other.
class ReportRoom {
public:
  explicit ReportRoom(mlir::func::FuncOp entry) : entry(entry), arena(entry) {}

  /// A view of the shape that `buffer` has, dense and of another element type; null where no view
  /// has that shape.
  mpcrt::ViewOp makeView(mlir::OpBuilder &builder, mlir::Value buffer, mlir::Type element);
  /// The views so far are not needed beside those that come.
  void startAgain();
  /// The views have their offsets then.
  void close();

private:
  mlir::func::FuncOp entry;
  ArenaEnd arena;
  int64_t fixed = 0, perSample = 0, mostFixed = 0, mostPerSample = 0;
  llvm::SmallVector<mpcrt::ViewOp> views;
};

} // namespace mpc

#endif // MPC_LIB_NUMERICS_TRACE_ARENAEND_H
