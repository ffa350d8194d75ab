// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels that go through a buffer element by element.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_ELEMENTKERNEL_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_ELEMENTKERNEL_H

#include "lib/Conversion/LinalgToMpcrt/BufferUses.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mpc {

/// The accesses of a kernel to a buffer of which an iteration touches its own element and no other
/// one.
struct ElementAccess {
  bool isRead = false, isWritten = false;
};

/// Finds the accesses of a kernel whose iteration i touches element i; none for an argument that is
/// used otherwise. A written buffer is written by every iteration.
std::optional<ElementAccess> findElementAccess(mlir::BlockArgument argument);

/// Whether the indices are those of element number `linear` of a buffer with these extents, the
/// first one of which need not be known: its quotients and remainders.
bool isPlaceOf(mlir::ValueRange indices, llvm::ArrayRef<int64_t> extents, mlir::Value linear);

/// The loop of a kernel over its iterations; null where the loop, or what is beside it, has regions
/// or memory of its own.
mlir::scf::ForOp findStraightLoop(mlir::func::FuncOp kernel);

/// The loop of a kernel over its iterations, each of which goes straight on. In front of it stand
/// numbers that all of them read.
mlir::scf::ForOp findElementLoop(mlir::func::FuncOp kernel);

/// The loops of a kernel whose iteration i is row i, and goes through `width` columns, in any
/// order: what reads a vector per column.
struct RowLoops {
  mlir::scf::ForOp rows, columns;
  int64_t width;
};

/// None for a kernel that does anything else.
std::optional<RowLoops> findRowLoops(mlir::func::FuncOp kernel);

/// The same as above of the elements (row, column) of a buffer [..., width].
std::optional<ElementAccess> findElementAccess(mlir::BlockArgument argument, RowLoops loops);

/// Copies of kernels for launches that join a contraction.
class KernelCopies {
public:
  explicit KernelCopies(BufferUses &uses) : uses(uses) {}

  /// The launch reads one buffer as argument `read` and writes it as argument `written`, of the
  /// same type: from now on the kernel, a copy of its own, has the first alone. Returns its index.
  unsigned mergeInPlace(mpcrt::LaunchOp launch, unsigned read, unsigned written);
  /// The launch has an iteration for each row of a kernel with RowLoops: from now on one for each
  /// element, of a copy that begins and ends within rows. What counts them goes to the builder.
  void splitRows(mlir::OpBuilder &builder, mpcrt::LaunchOp launch);
  /// Kernels that no launch needs any more go.
  void eraseUnused();

private:
  BufferUses &uses;
  llvm::DenseMap<std::tuple<mlir::Operation *, unsigned, unsigned>, mlir::func::FuncOp> inPlace;
  llvm::DenseMap<mlir::Operation *, mlir::func::FuncOp> byElements;
};

} // namespace mpc

#endif
