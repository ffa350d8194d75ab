// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels whose iteration `i` touches element `i` of its buffers: they take several elements at a
// time, in accesses of 16 bytes.
#ifndef MPC_LIB_CODEGEN_CUDA_ELEMENTACCESS_H
#define MPC_LIB_CODEGEN_CUDA_ELEMENTACCESS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include <optional>

namespace mpc {

struct ElementAccess {
  struct Buffer {
    bool isElement = false; ///< touched at element `i` only
    bool isTurned = false;  ///< each iteration writes its element of the turned matrix
    bool isRead = false, isWritten = false;
    bool hasOne() const { return isElement || isTurned; } ///< element for each iteration
  };
  llvm::SmallVector<Buffer> buffers; ///< per argument of the kernel without `begin` and `end`
  /// i / extent and i % extent, where rows of the buffers have `extent` elements, a multiple of
  /// `width`; null where nothing asks for them.
  mlir::Value row, column;
  int64_t extent = 0;
  /// Loads of element `column` of a fixed row of something else, such as a bias.
  llvm::SmallVector<mlir::memref::LoadOp> neighbours;
  unsigned width = 1; ///< elements at a time: a power of two, at least 2
  /// The rows of what is turned; null where nothing is. Then there are `row`, `column` and
  /// `extent`.
  mlir::Value turnedRows;

  /// Whether a thread takes several rows of a pack's columns, so that it reads the neighbours once
  /// for all of them.
  bool sharesNeighbours() const;
};

/// For a kernel of one iteration (ThreadKernel.h). None when it writes anything but elements, or
/// reads one after it wrote one (what is read is read first), or has loops. Elements of turned
/// matrices are bytes.
std::optional<ElementAccess> findElementAccess(mlir::func::FuncOp kernel);

/// Whether `indices` of a buffer of this type are element number `linear`: that value itself, or
/// its quotients and remainders by the extents.
bool isLinearPlace(mlir::MemRefType type, mlir::ValueRange indices, mlir::Value linear);

/// How many elements a thread takes at a time where the largest has so many bytes: less than 2
/// where neighbours do not pay.
unsigned packWidth(unsigned largestBytes);

/// Bytes of an element.
unsigned bytesOf(mlir::MemRefType type);

} // namespace mpc

#endif // MPC_LIB_CODEGEN_CUDA_ELEMENTACCESS_H
