// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Loops of a thread over elements of buffers whose results do not depend on the order: they take
// several neighbours at a time, in accesses of up to 16 bytes.
#ifndef MPC_LIB_CODEGEN_CUDA_PACKEDLOOP_H
#define MPC_LIB_CODEGEN_CUDA_PACKEDLOOP_H

#include "lib/Codegen/CUDA/TurnedTile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/MapVector.h"
#include <optional>

namespace mpc {

struct PackedLoop {
  struct Access {
    bool isRead = false, isWritten = false;
  };
  /// Arguments of the kernel of which iteration i touches element i, and no other one.
  llvm::MapVector<mlir::Value, Access> buffers;
  unsigned width = 1;             ///< elements at a time: a power of two, at least 2
  std::optional<TurnedTile> tile; ///< of what is written column after column
};

/// For a loop of a kernel of one iteration (ThreadKernel.h) that adds nothing up: what it carries
/// are extremes or bits. None where it writes anything but elements, of matrices that are turned
/// bytes alone, reads one after it wrote one,
/// or reads what it writes elsewhere.
std::optional<PackedLoop> findPackedLoop(mlir::scf::ForOp loop);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CUDA_PACKEDLOOP_H
