// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The buffers that the ops of an entry touch, for passes that change the order of ops.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_BUFFERUSES_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_BUFFERUSES_H

#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/SetVector.h"

namespace mpc {

/// Bytes [fixed, fixedEnd) of the arena, each bound plus a multiple of the batch.
struct ByteRange {
  int64_t fixed, perSample, fixedEnd, perSampleEnd;
  bool isBefore(const ByteRange &other) const {
    return fixedEnd <= other.fixed && perSampleEnd <= other.perSample;
  }
  bool operator==(const ByteRange &other) const {
    return fixed == other.fixed && perSample == other.perSample && fixedEnd == other.fixedEnd &&
           perSampleEnd == other.perSampleEnd;
  }
};
ByteRange rangeOf(mpcrt::ViewOp view);

/// The buffer that this one is a view of.
mlir::Value baseOf(mlir::Value buffer);

/// Whether two buffers of an entry may share a byte for some batch: views of the arena by their
/// ranges, arguments by being the same.
bool mayOverlap(mlir::Value a, mlir::Value b);

/// A buffer that an op of an entry touches, and what it is a view of.
struct BufferUse {
  BufferUse(mlir::Value buffer, bool isWritten);

  mlir::Value buffer;
  mlir::Value base;
  bool isWritten;
};

/// The buffers that the ops of entries touch, while kernels stay as they are.
class BufferUses {
public:
  explicit BufferUses(mlir::ModuleOp module) : symbols(module) {}

  /// The buffers that a launch (by the stores of its kernel), a library call, or code of the host
  /// between them touches; none for other ops, which may touch anything. They are found once for
  /// each op; an op that changes, or goes, is to be forgotten first.
  const std::optional<llvm::SmallVector<BufferUse>> &of(mlir::Operation *op);
  void forget(mlir::Operation *op) { known.erase(op); }
  /// Whether the order of two launches or library calls matters.
  bool dependOnEachOther(mlir::Operation *a, mlir::Operation *b);
  mlir::func::FuncOp kernelOf(mpcrt::LaunchOp launch) const {
    return symbols.lookup<mlir::func::FuncOp>(launch.getKernelAttr().getAttr());
  }
  /// A new kernel goes behind another one, under a name that is free.
  void insert(mlir::func::FuncOp kernel, mlir::func::FuncOp after) {
    symbols.insert(kernel, std::next(after->getIterator()));
  }
  /// Erases a launch in whose place there is another one.
  void erase(mpcrt::LaunchOp launch);
  /// Erases those of the kernels that nothing launches.
  void eraseUnused(llvm::ArrayRef<mlir::Operation *> kernels);
  /// Erases the kernels of erased launches that nothing else launches.
  void eraseReplaced() { eraseUnused(replaced.takeVector()); }

private:
  struct Argument {
    unsigned index;
    bool isWritten;
  };
  std::optional<llvm::SmallVector<BufferUse>> find(mlir::Operation *op);
  /// The buffers among its arguments that a kernel uses.
  const llvm::SmallVector<Argument> &argumentsOf(mlir::func::FuncOp kernel);

  mlir::SymbolTable symbols;
  llvm::SmallSetVector<mlir::Operation *, 8> replaced; ///< kernels of erased launches
  llvm::DenseMap<mlir::Operation *, llvm::SmallVector<Argument>> kernels;
  // The values have addresses of their own, which stay when the map grows.
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<std::optional<llvm::SmallVector<BufferUse>>>>
      known;
};

} // namespace mpc

#endif // MPC_LIB_CONVERSION_LINALGTOMPCRT_BUFFERUSES_H
