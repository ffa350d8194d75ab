// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Where the buffers of an entry lie, for what may change its place in the order.
#ifndef MPC_LIB_CONVERSION_LINALGTOMPCRT_BUFFERPLACE_H
#define MPC_LIB_CONVERSION_LINALGTOMPCRT_BUFFERPLACE_H

#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Value.h"

namespace mpc {

/// Bytes [fixed, fixedEnd) of the arena, each bound plus a multiple of the batch.
struct ByteRange {
  int64_t fixed, perSample, fixedEnd, perSampleEnd;
  bool isBefore(const ByteRange &other) const {
    return fixedEnd <= other.fixed && perSampleEnd <= other.perSample;
  }
};
ByteRange rangeOf(mpcrt::ViewOp view);

/// Whether two buffers of an entry may share a byte for some batch: views of the arena by their
/// ranges, arguments by being the same.
bool mayOverlap(mlir::Value a, mlir::Value b);

/// A buffer that an op of an entry touches.
struct BufferUse {
  mlir::Value buffer;
  bool isWritten;
};

/// Of a launch (by the stores of its kernel), a library call, or code of the host between them;
/// none for other ops, which may touch anything.
std::optional<llvm::SmallVector<BufferUse>> getBufferUses(mlir::Operation *op);

/// Whether the order of two launches or library calls matters.
bool dependOnEachOther(mlir::Operation *a, mlir::Operation *b);

} // namespace mpc

#endif // MPC_LIB_CONVERSION_LINALGTOMPCRT_BUFFERPLACE_H
