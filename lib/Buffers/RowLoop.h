// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Whether a loop over the steps of a scan works row by row.
#ifndef MPC_LIB_BUFFERS_ROWLOOP_H
#define MPC_LIB_BUFFERS_ROWLOOP_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mpc/Analysis/BatchExtent.h"
#include <string>

namespace mpc {

namespace mpcrt {
class ContractOp;
} // namespace mpcrt

/// The accesses of a loop of an entry on buffers, before allocations share memory. The rows are the
/// first dimension of what the loop writes.
class RowLoop {
public:
  explicit RowLoop(mlir::scf::ForOp loop) : loop(loop) {}

  /// Whether the loop may run on any part of the rows: every buffer that it writes is touched row
  /// by row only. Otherwise whyNot() says what stands against it.
  bool isByRows();
  llvm::StringRef whyNot() const { return reason; }
  /// How many there are; after isByRows().
  BatchExtent getRows() const { return *rows; }

private:
  struct Buffer {
    bool isWritten = false;
    /// An op that touches it otherwise than row by row, or null.
    mlir::Operation *mixing = nullptr;
  };
  bool addOp(mlir::Operation *op);
  bool addContract(mpcrt::ContractOp op);
  bool addStructured(mlir::Operation *op);
  /// `isRowWise`: the op touches row i of the buffer in its iteration i of the rows alone.
  bool addAccess(mlir::Operation *op, mlir::Value buffer, bool isWritten, bool isRowWise);
  bool refuse(mlir::Operation *op, llvm::StringRef why);

  mlir::scf::ForOp loop;
  std::optional<BatchExtent> rows;
  llvm::DenseMap<mlir::Value, Buffer> buffers; ///< by allocation or argument
  std::string reason;
};

} // namespace mpc

#endif
