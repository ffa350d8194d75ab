// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A GPU moves 16 bytes per thread and instruction as fast as 2.
#include "lib/Codegen/CUDA/ElementAccess.h"
#include "lib/Codegen/CUDA/TurnedTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

using namespace mlir;
using namespace mpc;

static constexpr unsigned kAccessBytes = 16;
/// More neighbours than this need more registers than they save time.
static constexpr unsigned kMostElements = 8;

/// Fewer than this are read again for each row in the time that the row's own memory takes: a model
/// of time, not run (docs/decisions/0152).
static constexpr size_t kFewestShared = 4;

bool ElementAccess::sharesNeighbours() const {
  return row && !turnedRows && neighbours.size() >= kFewestShared;
}

bool mpc::isLinearPlace(MemRefType type, ValueRange indices, Value linear) {
  SmallVector<int64_t> strides;
  int64_t offset, expected = 1;
  if (indices.empty() || failed(type.getStridesAndOffset(strides, offset)))
    return false;
  Value rest = linear;
  for (size_t d = indices.size(); d-- > 1;) {
    auto remainder = indices[d].getDefiningOp<arith::RemUIOp>();
    auto extent = remainder ? getConstantIntValue(remainder.getRhs()) : std::nullopt;
    if (!extent || remainder.getLhs() != rest || strides[d] != expected)
      return false;
    expected *= *extent;
    // The quotient is the next index, or what the next index is the remainder of.
    auto next = indices[d - 1].getDefiningOp<arith::RemUIOp>();
    rest = d > 1 && next ? next.getLhs() : indices[d - 1];
    auto quotient = rest.getDefiningOp<arith::DivUIOp>();
    if (!quotient || quotient.getLhs() != remainder.getLhs() ||
        getConstantIntValue(quotient.getRhs()) != extent)
      return false;
  }
  return indices[0] == rest && strides[0] == expected;
}

unsigned mpc::packWidth(unsigned largestBytes) {
  return std::min(kMostElements, kAccessBytes / largestBytes);
}

unsigned mpc::bytesOf(MemRefType type) {
  return type.getElementType().isIndex() ? 8 : llvm::divideCeil(type.getElementTypeBitWidth(), 8);
}

/// Finds what all elements of a pack have in common, their row, and what lies side by side for
/// them.
static void findRows(Block &body, Value i, ElementAccess &access) {
  for (Operation &op : body) {
    auto remainder = dyn_cast<arith::RemUIOp>(op);
    auto extent = remainder ? getConstantIntValue(remainder.getRhs()) : std::nullopt;
    if (!extent || remainder.getLhs() != i || *extent % access.width != 0)
      continue;
    access.column = remainder;
    access.extent = *extent;
    break;
  }
  if (!access.column)
    return;
  for (Operation &op : body) {
    if (auto quotient = dyn_cast<arith::DivUIOp>(op);
        quotient && quotient.getLhs() == i &&
        getConstantIntValue(quotient.getRhs()) == access.extent)
      access.row = quotient;
    auto load = dyn_cast<memref::LoadOp>(op);
    auto argument = load ? dyn_cast<BlockArgument>(load.getMemRef()) : BlockArgument();
    SmallVector<int64_t> strides;
    int64_t offset;
    if (!argument || access.buffers[argument.getArgNumber()].isElement ||
        load.getIndices().empty() || load.getIndices().back() != access.column ||
        failed(load.getMemRefType().getStridesAndOffset(strides, offset)) || strides.back() != 1)
      continue;
    bool isFixed = true;
    for (auto [index, stride] :
         llvm::zip_equal(load.getIndices().drop_back(), ArrayRef(strides).drop_back()))
      isFixed &= getConstantIntValue(index) && stride % access.width == 0;
    if (isFixed && bytesOf(load.getMemRefType()) * access.width <= kAccessBytes)
      access.neighbours.push_back(load);
  }
}

std::optional<ElementAccess> mpc::findElementAccess(func::FuncOp kernel) {
  auto arguments = kernel.getArguments();
  Block &body = kernel.getBody().front();
  Value i = arguments.drop_back().back();
  ElementAccess access;
  access.buffers.resize(arguments.size() - 2);
  unsigned largest = 0;
  bool hasWritten = false;
  const std::optional<TurnedTile> tile = findTurnedTile(body, i);
  for (auto [argument, buffer] : llvm::zip_equal(arguments.drop_back(2), access.buffers)) {
    auto type = dyn_cast<MemRefType>(argument.getType());
    buffer.isTurned = tile && llvm::is_contained(tile->buffers, argument);
    buffer.isWritten = buffer.isTurned;
    hasWritten |= buffer.isTurned;
    if (buffer.isTurned || !type) // a number is no place
      continue;
    buffer.isElement = !argument.use_empty();
    for (Operation *user : argument.getUsers()) {
      auto load = dyn_cast<memref::LoadOp>(user);
      auto store = dyn_cast<memref::StoreOp>(user);
      buffer.isRead |= !store;
      buffer.isWritten |= !load;
      buffer.isElement &= user->getBlock() == &body && (load || store) &&
                          isLinearPlace(type,
                                        load    ? load.getIndices()
                                        : store ? store.getIndices()
                                                : Operation::operand_range(nullptr, 0),
                                        i);
    }
    if (buffer.isWritten && !buffer.isElement)
      return std::nullopt;
    hasWritten |= buffer.isWritten;
    if (buffer.isElement)
      largest = std::max(largest, bytesOf(type));
  }
  bool isWriting = false;
  for (Operation &op : body) {
    auto load = dyn_cast<memref::LoadOp>(op);
    if (load && isWriting)
      return std::nullopt;
    isWriting |= isa<memref::StoreOp>(op);
    // Sums: more threads with one each are better than fewer with several.
    if (isa<memref::AllocaOp>(op) ||
        op.walk([](LoopLikeOpInterface) { return WalkResult::interrupt(); }).wasInterrupted())
      return std::nullopt;
  }
  if (!hasWritten || largest == 0)
    return std::nullopt;
  access.width = packWidth(largest);
  if (tile)
    access.width = std::min<unsigned>(access.width, TurnedTile::kColumns);
  if (access.width < 2 || (tile && access.width != TurnedTile::kColumns))
    return std::nullopt;
  findRows(body, i, access);
  if (!tile)
    return access;
  access.turnedRows = tile->rows;
  return access.row && access.extent == tile->columns ? std::optional(access) : std::nullopt;
}
