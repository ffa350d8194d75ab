// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One thread that goes along a row reads memory in strides of rows, 32 times the traffic; a warp
// reads whole lines. Sums have a fixed order: each lane its elements, then lanes in pairs.
#include "lib/Codegen/CUDA/WarpRows.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace mpc;

Operation *mpc::findCombiner(scf::ForOp loop, unsigned index) {
  Value carried = loop.getRegionIterArg(index);
  Operation *combiner = loop.getYieldedValues()[index].getDefiningOp();
  if (!combiner || !carried.hasOneUse() || *carried.user_begin() != combiner ||
      combiner->getNumOperands() != 2 || combiner->getBlock() != loop.getBody() ||
      !combiner->getResult(0).hasOneUse() || !arith::getNeutralElement(combiner))
    return nullptr;
  // Sums of floats that must not be regrouped have no such flag.
  auto flags = dyn_cast<arith::ArithFastMathInterface>(combiner);
  bool isExtreme =
      isa<arith::MaximumFOp, arith::MinimumFOp, arith::MaxNumFOp, arith::MinNumFOp>(combiner);
  if (flags && !isExtreme &&
      !bitEnumContainsAll(flags.getFastMathFlagsAttr().getValue(), arith::FastMathFlags::reassoc))
    return nullptr;
  return combiner;
}

namespace {
/// How a buffer is touched inside of loops and outside.
struct Accesses {
  bool isWrittenInLoops = false, isTouchedOutside = false;
  /// Indices of the accesses in loops, with null for the loop's own.
  SmallVector<SmallVector<Value>> places;
};
} // namespace

static bool isLoopStraight(scf::ForOp loop) {
  auto trips = loop.getStaticTripCount();
  if (!trips || trips->getSExtValue() < 1 || getConstantIntValue(loop.getLowerBound()) != 0 ||
      getConstantIntValue(loop.getStep()) != 1)
    return false;
  for (Operation &op : *loop.getBody())
    if (op.getNumRegions())
      return false;
  for (unsigned i = 0; i < loop.getNumRegionIterArgs(); ++i)
    if (!findCombiner(loop, i))
      return false;
  return true;
}

bool mpc::isSharedOut(Value buffer) {
  if (!buffer.getDefiningOp<memref::AllocaOp>())
    return false;
  return llvm::any_of(buffer.getUsers(), [](Operation *user) {
    auto loop = dyn_cast<scf::ForOp>(user->getParentOp());
    return loop && !user->getOperands().empty() &&
           user->getOperands().back() == loop.getInductionVar();
  });
}

bool mpc::isForWarps(func::FuncOp kernel) {
  Block &body = kernel.getBody().front();
  llvm::MapVector<Value, Accesses> buffers;
  int64_t longest = 0;
  bool readsNeighbours = false;
  auto visit = [&](Operation &op, scf::ForOp loop) {
    Value buffer;
    ValueRange indices;
    if (auto load = dyn_cast<memref::LoadOp>(op)) {
      buffer = load.getMemRef(), indices = load.getIndices();
    } else if (auto store = dyn_cast<memref::StoreOp>(op)) {
      buffer = store.getMemRef(), indices = store.getIndices();
      buffers[buffer].isWrittenInLoops |= loop != nullptr;
    } else {
      return isa<arith::ConstantOp, memref::AllocaOp, memref::GetGlobalOp>(op) ||
             op.getDialect()->getNamespace() == "arith" ||
             op.getDialect()->getNamespace() == "math";
    }
    Accesses &accesses = buffers[buffer];
    if (!loop) {
      accesses.isTouchedOutside = true;
      return true;
    }
    SmallVector<Value> place(indices);
    if (!place.empty() && place.back() == loop.getInductionVar()) {
      SmallVector<int64_t> strides;
      int64_t offset;
      auto type = cast<MemRefType>(buffer.getType());
      readsNeighbours |= succeeded(type.getStridesAndOffset(strides, offset)) &&
                         strides.back() == 1 && !buffer.getDefiningOp<memref::AllocaOp>();
      place.back() = Value();
    }
    accesses.places.push_back(place);
    return true;
  };
  for (Operation &op : body.without_terminator()) {
    auto loop = dyn_cast<scf::ForOp>(op);
    if (!loop) {
      if (op.getNumRegions() || !visit(op, {}))
        return false;
      continue;
    }
    if (!isLoopStraight(loop))
      return false;
    longest = std::max(longest, loop.getStaticTripCount()->getSExtValue());
    for (Operation &inner : loop.getBody()->without_terminator())
      if (!visit(inner, loop))
        return false;
  }
  for (auto &[buffer, accesses] : buffers) {
    // Outside of loops one lane writes for all.
    if (!accesses.isWrittenInLoops && !isSharedOut(buffer))
      continue;
    // An element belongs to one lane: the one that the loops' own index says.
    if (accesses.isTouchedOutside)
      return false;
    for (ArrayRef<Value> place : accesses.places)
      if (place.empty() || place.back() || place != ArrayRef<Value>(accesses.places.front()))
        return false;
  }
  return readsNeighbours && longest >= kWarpLanes;
}
