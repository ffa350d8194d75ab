// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The choice of the split.
#include "lib/Conversion/LinalgToMpcrt/IterationSpace.h"
#include "dialects/mpcrt/IR/Mpcrt.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mpc/Analysis/LoopExtent.h"

using namespace mlir;
using namespace mpc;

/// Fewer scalar operations than this are not worth a launch.
static constexpr int64_t kInlineIterations = 64;

StringRef mpc::getSplitName(Split split) {
  static const StringRef names[] = {"inline",        "flat",   "rows", "columns",
                                    "column blocks", "blocks", "parts"};
  return names[static_cast<int>(split)];
}

bool mpc::isFlatOperand(linalg::GenericOp op, OpOperand &operand) {
  AffineMap map = op.getMatchingIndexingMap(&operand);
  if (map.isConstant() || map.getNumResults() == 0)
    return true;
  auto type = dyn_cast<MemRefType>(operand.get().getType());
  return type && map.isIdentity() && type.getLayout().isIdentity();
}

/// Loops that the body asks the index of, or whose iterations read captured buffers.
static bool usesIndices(linalg::GenericOp op) { return op.hasIndexSemantics(); }

static FailureOr<SmallVector<BatchExtent>> loopExtents(linalg::GenericOp op) {
  SmallVector<BatchExtent> extents;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop) {
    auto extent = getLoopExtent(op, loop);
    if (!extent)
      return op.emitOpError() << "has loop " << loop << " whose extent is no function of the batch";
    extents.push_back(*extent);
  }
  return extents;
}

/// A number to weigh costs with: the batch counts as 64.
static int64_t guess(BatchExtent extent) {
  return std::max<int64_t>(1, extent.fixed + 64 * extent.perSample);
}

/// Whether sums over `reductions` should stay in the output while columns run inside: the loop
/// `column` is innermost in memory, in the outputs and in what is summed.
static bool runsDownColumns(linalg::GenericOp op, unsigned column, ArrayRef<unsigned> reductions) {
  auto endsWithColumn = [&](OpOperand &operand) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    return map.getNumResults() > 0 && isa<AffineDimExpr>(map.getResults().back()) &&
           cast<AffineDimExpr>(map.getResults().back()).getPosition() == column;
  };
  return llvm::all_of(op.getDpsInitsMutable(), endsWithColumn) &&
         llvm::any_of(op.getDpsInputOperands(), [&](OpOperand *input) {
           AffineMap map = op.getMatchingIndexingMap(input);
           return endsWithColumn(*input) &&
                  llvm::any_of(reductions, [&](unsigned r) { return map.isFunctionOfDim(r); });
         });
}

/// On a CPU: whether there are too few columns for the threads, but enough to add up.
static bool hasFewLongColumns(ArrayRef<BatchExtent> extents, unsigned column,
                              ArrayRef<unsigned> reductions) {
  constexpr int64_t kFewColumns = 128, kLongSum = 16384;
  int64_t length = 1;
  for (unsigned loop : reductions)
    length = std::min<int64_t>(length * guess(extents[loop]), int64_t(1) << 40);
  return extents[column].isFixed() && extents[column].fixed < kFewColumns && length >= kLongSum;
}

/// On a GPU: how many partial results each sum should have; 1 when there are enough sums, or too
/// little to add up. `parallel` says how many sums there are.
static int64_t chooseParts(ArrayRef<BatchExtent> extents, ArrayRef<unsigned> parallel,
                           ArrayRef<unsigned> reductions) {
  // Enough threads to hide the latency of memory on any GPU, and sums long enough to share. A warp
  // adds up what is left of a single sum.
  constexpr int64_t kThreads = 262144;
  constexpr int64_t kShortSum = 128, kShortSumOfWarp = 2048, kBatch = 4096;
  constexpr int64_t kLeastOfPart = 32, kLeastOfOneSum = 8;
  int64_t sums = 1, length = 1;
  bool isFixed = true;
  for (unsigned loop : parallel) {
    if (!extents[loop].isFixed())
      return 1; // the batch is enough threads, and partial results have a fixed address
    sums = std::min<int64_t>(sums * std::max<int64_t>(1, extents[loop].fixed), kThreads);
  }
  for (unsigned loop : reductions) {
    int64_t extent = extents[loop].fixed + kBatch * extents[loop].perSample;
    length = std::min<int64_t>(length * std::max<int64_t>(1, extent), int64_t(1) << 40);
    isFixed &= extents[loop].isFixed();
  }
  if (length <= (parallel.empty() && isFixed ? kShortSumOfWarp : kShortSum))
    return 1;
  int64_t parts = std::min(kThreads / sums, length / kLeastOfPart);
  // A single sum has no more parts than a warp adds up next, while that leaves no thread too much.
  if (parallel.empty() && length <= kThreads)
    parts = std::min(kShortSumOfWarp, length / kLeastOfOneSum);
  return std::max<int64_t>(1, llvm::bit_floor<uint64_t>(parts));
}

/// Sets the grain by the number of operations of one iteration of the launch.
static void setGrain(linalg::GenericOp op, IterationSpace &space) {
  int64_t work = std::max<int64_t>(1, op.getBody()->getOperations().size());
  for (unsigned loop : space.inner)
    work = std::min<int64_t>(work * guess(space.extents[loop]), int64_t(1) << 40);
  space.grain = std::max<int64_t>(1, kGrainOperations / work);
}

namespace {
/// The choice for one op.
class SplitChoice {
public:
  SplitChoice(linalg::GenericOp op, ArrayRef<BatchExtent> extents, bool isOnDevice);
  IterationSpace run();

private:
  bool isWorthALaunch() const;
  bool isFlat();
  void chooseInline();
  void chooseSumsOnDevice();
  void chooseFlat();
  void chooseRows();
  void chooseBlocks();
  void chooseColumns();
  void chooseSums();

  linalg::GenericOp op;
  const bool isOnDevice;
  const bool isByRows; ///< what threads share by rows stays launches over rows
  SmallVector<unsigned> parallel, reductions;
  IterationSpace space;
};
} // namespace

SplitChoice::SplitChoice(linalg::GenericOp op, ArrayRef<BatchExtent> extents, bool isOnDevice)
    : op(op), isOnDevice(isOnDevice),
      isByRows(op->getParentOfType<mpcrt::ParallelRowsOp>() != nullptr) {
  space.extents.assign(extents.begin(), extents.end());
  for (auto [loop, type] : llvm::enumerate(op.getIteratorTypesArray()))
    (type == utils::IteratorType::parallel ? parallel : reductions).push_back(loop);
}

bool SplitChoice::isWorthALaunch() const {
  int64_t total = 1;
  bool fixed = true;
  for (BatchExtent extent : space.extents) {
    fixed &= extent.isFixed();
    total = std::min<int64_t>(total * guess(extent), int64_t(1) << 40);
  }
  return !fixed || total > kInlineIterations || isByRows;
}

bool SplitChoice::isFlat() {
  // Outputs at a constant index would be written by every iteration.
  bool wholeOutputs = llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
    return op.getMatchingIndexingMap(&init).isIdentity();
  });
  return wholeOutputs && !usesIndices(op) &&
         llvm::all_of(op->getOpOperands(), [&](OpOperand &o) { return isFlatOperand(op, o); });
}

void SplitChoice::chooseInline() {
  space.split = Split::Inline;
  llvm::append_range(space.inner, parallel);
  space.firstReduction = parallel.size();
  llvm::append_range(space.inner, reductions);
}

/// Sums stay in registers; the index that is innermost in memory is the thread's.
void SplitChoice::chooseSumsOnDevice() {
  space.parts = chooseParts(space.extents, parallel, reductions);
  space.split = space.parts > 1 ? Split::Parts : parallel.empty() ? Split::Blocks : Split::Rows;
  space.launched = parallel;
  space.inner = reductions;
}

void SplitChoice::chooseFlat() {
  int64_t bodyCost = std::max<int64_t>(1, op.getBody()->getOperations().size());
  space.split = Split::Flat;
  space.launched = parallel;
  space.innermostIndependent = true;
  space.grain = std::max<int64_t>(64, kGrainOperations / bodyCost);
}

void SplitChoice::chooseRows() {
  space.split = Split::Rows;
  bool hasInner = parallel.size() > 1 && !isOnDevice;
  space.launched.assign(parallel.begin(), hasInner ? parallel.end() - 1 : parallel.end());
  if (hasInner)
    space.inner.push_back(parallel.back());
  space.firstReduction = space.inner.size();
  // Writes go to different elements only when the output's map is a permutation.
  space.innermostIndependent = llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
    return op.getMatchingIndexingMap(&init).isPermutation();
  });
  setGrain(op, space);
}

void SplitChoice::chooseBlocks() {
  space.split = Split::Blocks;
  space.inner = reductions;
  space.firstReduction = 0;
  space.grain = 1;
}

void SplitChoice::chooseColumns() {
  const unsigned column = parallel.back();
  const bool isSingle = parallel.size() == 1;
  space.split = Split::Columns;
  space.launched.assign(parallel.begin(), isSingle ? parallel.end() : parallel.end() - 1);
  llvm::append_range(space.inner, reductions);
  if (!isSingle)
    space.inner.push_back(column);
  space.firstReduction = space.inner.size(); // sums stay in the output
  space.innermostIndependent = true;
  if (isSingle && !isByRows && hasFewLongColumns(space.extents, column, reductions)) {
    space.split = Split::ColumnBlocks;
    return;
  }
  setGrain(op, space);
  if (isSingle)
    space.grain = std::max<int64_t>(space.grain, 64); // a cache line at least per thread and row
}

void SplitChoice::chooseSums() {
  space.split = Split::Rows;
  space.launched = parallel;
  space.inner = reductions;
  space.firstReduction = 0;
  setGrain(op, space);
}

IterationSpace SplitChoice::run() {
  if (!isWorthALaunch())
    chooseInline();
  else if (isOnDevice && !reductions.empty())
    chooseSumsOnDevice();
  else if (reductions.empty() && isFlat())
    chooseFlat();
  else if (reductions.empty())
    chooseRows();
  else if (parallel.empty())
    chooseBlocks();
  else if (runsDownColumns(op, parallel.back(), reductions))
    chooseColumns();
  else
    chooseSums();
  return space;
}

FailureOr<IterationSpace> mpc::analyzeIterationSpace(linalg::GenericOp op, bool isOnDevice) {
  auto extents = loopExtents(op);
  if (failed(extents))
    return failure();
  return SplitChoice(op, *extents, isOnDevice).run();
}

FailureOr<IterationSpace> mpc::analyzeRows(linalg::GenericOp op, unsigned rowLoops) {
  auto extents = loopExtents(op);
  if (failed(extents))
    return failure();
  IterationSpace space;
  space.split = Split::Rows;
  space.extents = *extents;
  SmallVector<unsigned> parallel, reductions;
  for (auto [loop, type] : llvm::enumerate(op.getIteratorTypesArray())) {
    if (loop < rowLoops)
      space.launched.push_back(loop);
    else
      (type == utils::IteratorType::parallel ? parallel : reductions).push_back(loop);
  }
  if (!parallel.empty() && !reductions.empty() &&
      runsDownColumns(op, parallel.back(), reductions)) {
    space.inner.assign(parallel.begin(), parallel.end() - 1);
    llvm::append_range(space.inner, reductions);
    space.inner.push_back(parallel.back());
    space.firstReduction = space.inner.size(); // sums stay in the output
    space.innermostIndependent = true;
  } else {
    llvm::append_range(space.inner, parallel);
    space.firstReduction = parallel.size();
    llvm::append_range(space.inner, reductions);
    space.innermostIndependent =
        reductions.empty() && llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
          return op.getMatchingIndexingMap(&init).isPermutation();
        });
  }
  setGrain(op, space);
  return space;
}
