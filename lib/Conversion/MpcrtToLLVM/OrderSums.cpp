// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums that may be regrouped get an order that depends on their length alone. Were it LLVM's
// choice, it would depend on the whole loop: the same sum would come out otherwise where its terms
// are computed in the loop and where they are read, as in a training step and in its stages.
//
// Lanes of up to four vectors each sum every so many terms. The terms that are left over go to the
// first lanes, in vectors that get smaller as halves of the lanes are added to each other.
#include "lib/Conversion/MpcrtToLLVM/LoopVectors.h"
#include "lib/Conversion/MpcrtToLLVM/Lowering.h"
#include "lib/Conversion/MpcrtToLLVM/SumLanes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mpc;

/// One zmm, two ymm or four xmm registers of float32, and as many of them as hide the latency of an
/// addition.
static constexpr int64_t kLanes = 16, kVectors = 4;
/// Terms that are in memory at a time where they are not computed as vectors; the first cache has
/// room for them.
static constexpr int64_t kBuffered = 512;
/// Longer bodies run out of registers with so many lanes, and are repeated for what is left over.
static constexpr int64_t kLongBody = 16, kLongCode = 128;

/// A buffer of terms.
static constexpr StringLiteral kTermsAttr = "mpcrt.terms";

static bool isRegrouped(Operation *op) {
  auto sum = dyn_cast<arith::AddFOp>(op);
  return sum && bitEnumContainsAll(sum.getFastmath(), arith::FastMathFlags::reassoc);
}

namespace {
class OrderedSum {
public:
  explicit OrderedSum(scf::ForOp loop) : loop(loop), loc(loop.getLoc()) {}

  /// Whether all that the loop carries are combinations of one term each in any order.
  bool match();
  void rewrite();

private:
  void makeBuffers();
  void fill(OpBuilder &b, Value begin, Value count);
  Sums readBuffers(OpBuilder &b, Value index, int64_t lanes);
  Sums sumKnown(OpBuilder &b, int64_t length);
  void sumUnknown(OpBuilder &b);

  scf::ForOp loop;
  Location loc;
  llvm::SmallPtrSet<Operation *, 4> omitted; ///< combiners, for lookups
  SmallVector<Operation *> combiners;
  SmallVector<Value> summands, buffers;
};
} // namespace

bool OrderedSum::match() {
  if (getConstantIntValue(loop.getStep()) != 1 || loop.getNumRegionIterArgs() == 0 ||
      llvm::any_of(*loop.getBody(), [](Operation &op) { return op.getNumRegions() != 0; }))
    return false;
  bool isFree = false;
  for (auto [i, carried] : llvm::enumerate(loop.getRegionIterArgs())) {
    SmallVector<Operation *> chain;
    Value summand = matchReduction(loop.getRegionIterArgs(), i, chain);
    if (!summand || chain.size() != 1 || !carried.hasOneUse() ||
        !arith::getNeutralElement(chain[0]) || summand.getType().isInteger(1) ||
        (isa<arith::AddFOp, arith::MulFOp>(chain[0]) && !isRegrouped(chain[0])))
      return false;
    isFree |= isRegrouped(chain[0]);
    combiners.push_back(chain[0]);
    omitted.insert(chain[0]);
    summands.push_back(summand);
  }
  return isFree && llvm::all_of(loop.getBody()->without_terminator(), [](Operation &op) {
           return isa<memref::LoadOp>(op) || isMemoryEffectFree(&op);
         });
}

/// One for each sum, which all loops of a function share.
void OrderedSum::makeBuffers() {
  Region *region = loop->getParentRegion();
  while (isa<scf::SCFDialect>(region->getParentOp()->getDialect()))
    region = region->getParentOp()->getParentRegion();
  for (Value summand : summands) {
    auto type = MemRefType::get({kBuffered}, summand.getType());
    auto isFree = [&](memref::AllocaOp buffer) {
      return buffer->hasAttr(kTermsAttr) && buffer.getType() == type &&
             !llvm::is_contained(buffers, buffer.getResult());
    };
    auto known = region->front().getOps<memref::AllocaOp>();
    auto found = llvm::find_if(known, isFree);
    if (found != known.end()) {
      buffers.push_back((*found).getResult());
      continue;
    }
    OpBuilder start = OpBuilder::atBlockBegin(&region->front());
    auto made = memref::AllocaOp::create(start, loc, type);
    made->setAttr(kTermsAttr, start.getUnitAttr());
    buffers.push_back(made);
  }
}

/// Stores the terms of `count` iterations from `begin` on, in a loop that LLVM may vectorise as it
/// likes.
void OrderedSum::fill(OpBuilder &b, Value begin, Value count) {
  auto store = scf::ForOp::create(b, loc, arith::ConstantIndexOp::create(b, loc, 0), count,
                                  arith::ConstantIndexOp::create(b, loc, 1));
  store->setAttr(mpcrt::MpcrtDialect::kIndependentAttr, b.getUnitAttr());
  OpBuilder inner = OpBuilder::atBlockBegin(store.getBody());
  IRMapping map;
  map.map(loop.getInductionVar(),
          arith::AddIOp::create(inner, loc, begin, store.getInductionVar()).getResult());
  for (Operation &op : loop.getBody()->without_terminator())
    if (!omitted.contains(&op))
      inner.clone(op, map);
  for (auto [summand, buffer] : llvm::zip_equal(summands, buffers))
    memref::StoreOp::create(inner, loc, map.lookupOrDefault(summand), buffer,
                            store.getInductionVar());
}

Sums OrderedSum::readBuffers(OpBuilder &b, Value index, int64_t lanes) {
  return llvm::map_to_vector(buffers, [&](Value buffer) -> Value {
    if (lanes == 1)
      return memref::LoadOp::create(b, loc, buffer, index);
    Type element = cast<MemRefType>(buffer.getType()).getElementType();
    return vector::LoadOp::create(b, loc, cast<VectorType>(vectorOf(element, lanes)), buffer,
                                  index);
  });
}

Sums OrderedSum::sumKnown(OpBuilder &b, int64_t length) {
  SumLanes emit(combiners, loc);
  const int64_t lanes = std::min<int64_t>(kLanes, llvm::bit_floor<uint64_t>(length));
  const int64_t vectors = std::clamp<int64_t>(length / kLanes, 1, kVectors);
  const int64_t step = vectors * lanes;
  Value begin = loop.getLowerBound();
  LoopVectors body(loop, omitted);
  const int64_t copies = vectors + length % step / lanes + llvm::popcount<uint64_t>(length % lanes);
  if (body.arePossible() && body.length() <= kLongBody && body.length() * copies <= kLongCode) {
    auto inVectors = [&](OpBuilder &builder, Value index, int64_t count) {
      return body.emit(builder, index, count, summands);
    };
    Value end = emit.advance(b, begin, length / step * step);
    SmallVector<Sums> sums =
        emit.accumulate(b, emit.neutral(b, vectors, lanes), lanes, begin, end, inVectors);
    return emit.finish(b, std::move(sums), lanes, end, length % step, inVectors);
  }
  makeBuffers();
  auto read = [&](OpBuilder &builder, Value index, int64_t count) {
    return readBuffers(builder, index, count);
  };
  const int64_t last = length % kBuffered;
  Value end = emit.advance(b, begin, length - last);
  SmallVector<Sums> sums =
      emit.repeat(b, begin, end, kBuffered, emit.neutral(b, vectors, lanes),
                  [&](OpBuilder &inner, Value index, SmallVector<Sums> before) {
                    fill(inner, index, emit.constant(inner, kBuffered));
                    return emit.accumulate(inner, std::move(before), lanes, emit.constant(inner, 0),
                                           emit.constant(inner, kBuffered), read);
                  });
  if (last)
    fill(b, end, emit.constant(b, last));
  Value whole = emit.constant(b, last / step * step);
  sums = emit.accumulate(b, std::move(sums), lanes, emit.constant(b, 0), whole, read);
  return emit.finish(b, std::move(sums), lanes, whole, last % step, read);
}

/// The iterations that fill no vector of `kLanes` stay in the loop.
void OrderedSum::sumUnknown(OpBuilder &b) {
  SumLanes emit(combiners, loc);
  Value begin = loop.getLowerBound(), zero = emit.constant(b, 0);
  Value length = arith::MaxSIOp::create(b, loc, zero,
                                        arith::SubIOp::create(b, loc, loop.getUpperBound(), begin));
  Value end = arith::AddIOp::create(b, loc, begin, emit.roundDown(b, length, kVectors * kLanes));
  Value last = arith::AddIOp::create(b, loc, begin, emit.roundDown(b, length, kLanes));
  SmallVector<Sums> sums = emit.neutral(b, kVectors, kLanes);
  LoopVectors body(loop, omitted);
  if (body.arePossible() && body.length() <= kLongBody) {
    auto inVectors = [&](OpBuilder &builder, Value index, int64_t count) {
      return body.emit(builder, index, count, summands);
    };
    sums = emit.accumulate(b, std::move(sums), kLanes, begin, end, inVectors);
    sums = emit.accumulate(b, {emit.foldVectors(b, std::move(sums))}, kLanes, end, last, inVectors);
  } else {
    makeBuffers();
    auto read = [&](OpBuilder &builder, Value index, int64_t count) {
      return readBuffers(builder, index, count);
    };
    sums = emit.repeat(b, begin, end, kBuffered, std::move(sums),
                       [&](OpBuilder &inner, Value index, SmallVector<Sums> before) {
                         Value left = arith::SubIOp::create(inner, loc, end, index);
                         Value count = arith::MinUIOp::create(inner, loc, left,
                                                              emit.constant(inner, kBuffered));
                         fill(inner, index, count);
                         return emit.accumulate(inner, std::move(before), kLanes,
                                                emit.constant(inner, 0), count, read);
                       });
    Value count = arith::SubIOp::create(b, loc, last, end);
    fill(b, end, count);
    sums = emit.accumulate(b, {emit.foldVectors(b, std::move(sums))}, kLanes, zero, count, read);
  }
  Sums folded = emit.foldLanes(b, sums[0], kLanes, last, 0, nullptr);
  loop.setLowerBound(last);
  loop.getInitArgsMutable().assign(emit.combine(b, loop.getInitArgs(), folded));
}

void OrderedSum::rewrite() {
  OpBuilder b(loop);
  auto length = loop.getStaticTripCount();
  if (!length) {
    sumUnknown(b);
    return;
  }
  // Fewer terms are not worth a vector.
  if (length->getSExtValue() < 4)
    return;
  Sums folded = sumKnown(b, length->getSExtValue());
  loop->replaceAllUsesWith(SumLanes(combiners, loc).combine(b, loop.getInitArgs(), folded));
  loop->erase();
}

void mpc::orderSums(ModuleOp module) {
  SmallVector<scf::ForOp> loops;
  module.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    if (OrderedSum sum(loop); sum.match())
      sum.rewrite();
  module.walk([](arith::AddFOp sum) {
    if (isRegrouped(sum))
      sum.setFastmath(arith::FastMathFlags::none);
  });
  module.walk([](memref::AllocaOp buffer) { buffer->removeAttr(kTermsAttr); });
}
