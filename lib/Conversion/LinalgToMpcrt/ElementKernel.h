// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels whose iteration i has to do with element i of a buffer.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_ELEMENTKERNEL_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_ELEMENTKERNEL_H

#include "BufferPlace.h"

namespace mpc {

/// What a kernel does with a buffer, of which iteration i touches element i and no other one.
struct ElementAccess {
  bool isRead = false, isWritten = false;
};

/// None for an argument that is used otherwise. A written one is written by every iteration.
std::optional<ElementAccess> findElementAccess(mlir::BlockArgument argument);

/// Kernels that replace a buffer in place: one argument is what another one reads and writes.
class InPlaceKernels {
public:
  explicit InPlaceKernels(BufferUses &uses) : uses(uses) {}

  /// The launch reads one buffer as argument `read` and writes it as argument `written`, of the
  /// same type: from now on the kernel, a copy of its own, has the first alone. Returns its index.
  unsigned merge(mpcrt::LaunchOp launch, unsigned read, unsigned written);
  /// Kernels that no launch needs any more go.
  void eraseUnused(mlir::ModuleOp module);

private:
  BufferUses &uses;
  llvm::DenseMap<std::tuple<mlir::Operation *, unsigned, unsigned>, mlir::func::FuncOp> copies;
};

} // namespace mpc

#endif
