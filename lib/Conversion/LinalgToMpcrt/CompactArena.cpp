// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pass: results that kernels consume have no memory, and the arena closes up.
#include "lib/Conversion/LinalgToMpcrt/BufferUses.h"
#include "mlir/Dialect/MemRef/Utils/MemRefUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "mpc/Analysis/EntryRole.h"
#include "mpc/Conversion/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace mpc {
#define GEN_PASS_DEF_COMPACTARENA
#include "mpc/Conversion/Passes.h.inc"
} // namespace mpc

using namespace mlir;
using namespace mpc;

/// Buffers move by multiples of this, so that they stay aligned.
static constexpr int64_t kStride = 64;

/// Whether nothing but interleaves use the buffer `base`, each as the result that it consumes: what
/// their launches write, and other contractions read, is stored. `buffer` is `base` or a part of
/// it.
static bool isNeverStored(Value buffer, Value base) {
  return !buffer.use_empty() && llvm::all_of(buffer.getUsers(), [&](Operation *user) {
    if (isa<ViewLikeOpInterface>(user))
      return llvm::all_of(user->getResults(),
                          [&](Value part) { return isNeverStored(part, base); });
    auto both = dyn_cast<mpcrt::InterleaveOp>(user->getParentOp());
    return both && both.getConsumed() &&
           memref::skipViewLikeOps(cast<MemrefValue>(both.getProduct().getOut())) == base;
  });
}

namespace {
/// One of the two parts of an arena: the fixed one, or the one whose numbers are per sample.
class ArenaPart {
public:
  void add(int64_t begin, int64_t end) { used.emplace_back(begin, end); }

  /// Finds what nothing uses, once all is added.
  void close() {
    llvm::sort(used);
    int64_t covered = 0;
    for (auto [begin, end] : used) {
      if (int64_t gap = llvm::alignDown(begin - std::min(begin, covered), kStride))
        gaps.emplace_back(begin, (gaps.empty() ? 0 : gaps.back().second) + gap);
      covered = std::max(covered, end);
    }
    size = covered - (gaps.empty() ? 0 : gaps.back().second);
  }
  int64_t moved(int64_t offset) const {
    int64_t before = 0;
    for (auto [begin, bytes] : gaps)
      before = begin <= offset ? bytes : before;
    return offset - before;
  }
  int64_t getSize() const { return size; }

private:
  std::vector<std::pair<int64_t, int64_t>> used, gaps; // gaps: their ends, bytes of all up to there
  int64_t size = 0;
};
} // namespace

static void compact(func::FuncOp entry) {
  auto fixedAttr = entry->getAttrOfType<IntegerAttr>(mpcrt::MpcrtDialect::kArenaFixedAttr);
  auto sampleAttr = entry->getAttrOfType<IntegerAttr>(mpcrt::MpcrtDialect::kArenaPerSampleAttr);
  if (!fixedAttr || !sampleAttr)
    return;
  SmallVector<mpcrt::ViewOp> stored;
  Builder builder(entry.getContext());
  bool isAnyUnstored = false;
  entry.walk([&](mpcrt::ViewOp view) {
    // Prepared weights have memory of their own.
    auto arena = cast<BlockArgument>(view.getArena());
    if (!entry.getArgAttr(arena.getArgNumber(), mpcrt::MpcrtDialect::kArenaAttr))
      return;
    if (!view.getUnstored() && !isNeverStored(view.getResult(), view.getResult()))
      return stored.push_back(view);
    isAnyUnstored |= !view.getUnstored();
    view.setUnstored(true);
    view.setFixed(0);
    view.setPerSample(0);
  });
  if (!isAnyUnstored)
    return;

  // Buffers of as many bytes per sample lie behind all fixed ones.
  const int64_t fixedBytes = fixedAttr.getInt();
  ArenaPart fixed, perSample;
  auto isFixed = [&](const ByteRange &range) { return range.perSampleEnd == 0; };
  for (mpcrt::ViewOp view : stored) {
    ByteRange range = rangeOf(view);
    if (isFixed(range))
      fixed.add(range.fixed, range.fixedEnd);
    else
      perSample.add(range.perSample, range.perSampleEnd);
  }
  fixed.close();
  perSample.close();
  const int64_t fixedLeft = llvm::alignTo(fixed.getSize(), kStride);
  const int64_t sampleLeft = llvm::alignTo(perSample.getSize(), 8);
  for (mpcrt::ViewOp view : stored) {
    ByteRange range = rangeOf(view);
    if (isFixed(range)) {
      view.setFixed(static_cast<uint64_t>(fixed.moved(range.fixed)));
    } else {
      view.setFixed(static_cast<uint64_t>(range.fixed - fixedBytes + fixedLeft));
      view.setPerSample(static_cast<uint64_t>(perSample.moved(range.perSample)));
    }
  }
  entry->setAttr(mpcrt::MpcrtDialect::kArenaFixedAttr, builder.getI64IntegerAttr(fixedLeft));
  entry->setAttr(mpcrt::MpcrtDialect::kArenaPerSampleAttr, builder.getI64IntegerAttr(sampleLeft));
  remark::passed(entry.getLoc(), remark::RemarkOpts::name("arena").category("mpc-memory"))
      << "@" << entry.getSymName().str() << " needs " << remark::metric("fixed", fixedLeft)
      << " bytes + " << remark::metric("per_sample", sampleLeft)
      << " per sample without the results that kernels consume";
}

namespace {
struct CompactArenaPass : mpc::impl::CompactArenaBase<CompactArenaPass> {
  LogicalResult runOnEntry(func::FuncOp entry) const override {
    compact(entry);
    return success();
  }
};
} // namespace
