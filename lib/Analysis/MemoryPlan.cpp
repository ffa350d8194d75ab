// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Liveness over the steps of an entry, in-place sharing, and offsets by greedy-by-size packing
// (Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference, 2020: within a few
// per cent of the lower bound on such graphs).
#include "mpc/Analysis/MemoryPlan.h"
#include "dialects/mpcrt/IR/Turn.h"
#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mpc/Analysis/ReshapedBuffer.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mpc;

/// A buffer and those that share its place.
namespace {
struct Place {
  int64_t bytes; // in the unit of its region
  int64_t alignment;
  unsigned begin = UINT_MAX, end = 0; // of all that share the place
  int64_t offset = -1;
};
} // namespace

/// Gives every place an offset; returns the bytes used.
static int64_t pack(MutableArrayRef<Place *> places) {
  llvm::sort(places, [](const Place *a, const Place *b) {
    return std::pair(-a->bytes, a) < std::pair(-b->bytes, b);
  });
  int64_t total = 0;
  SmallVector<Place *> placed; // by offset
  for (Place *place : places) {
    int64_t best = -1, bestGap = INT64_MAX, cursor = 0;
    for (Place *other : placed) {
      if (other->end < place->begin || place->end < other->begin)
        continue;
      int64_t at = llvm::alignTo(cursor, place->alignment);
      int64_t gap = other->offset - at;
      if (gap >= place->bytes && gap < bestGap) {
        best = at;
        bestGap = gap;
      }
      cursor = std::max(cursor, other->offset + other->bytes);
    }
    place->offset =
        best >= 0 ? best : static_cast<int64_t>(llvm::alignTo(cursor, place->alignment));
    total = std::max(total, place->offset + place->bytes);
    placed.insert(
        llvm::upper_bound(placed, place,
                          [](const Place *a, const Place *b) { return a->offset < b->offset; }),
        place);
  }
  return total;
}

/// Whether `op` may write `output` over `input`: every iteration reads what it overwrites and
/// nothing else of it.
static bool canShare(linalg::LinalgOp op, Value input, Value output) {
  if (op.getNumLoops() != op.getNumParallelLoops())
    return false;
  auto inputType = cast<MemRefType>(input.getType()),
       outputType = cast<MemRefType>(output.getType());
  if (inputType.getShape() != outputType.getShape() ||
      inputType.getElementTypeBitWidth() != outputType.getElementTypeBitWidth() ||
      !inputType.getLayout().isIdentity() || !outputType.getLayout().isIdentity())
    return false;
  // Captured buffers may be read anywhere.
  bool captures = false;
  op->getRegion(0).walk([&](memref::LoadOp) { captures = true; });
  if (captures)
    return false;
  Value read = skipBufferReshapes(input), written = skipBufferReshapes(output);
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    if (operand.get() == input || operand.get() == output)
      return op.getMatchingIndexingMap(&operand).isIdentity();
    // In another shape, other elements are read.
    Value other = skipBufferReshapes(operand.get());
    return other != read && other != written;
  });
}

/// Makes one plan: how large the buffers are and when they live, who shares a place, where the
/// places lie.
class MemoryPlan::Planner {
public:
  Planner(func::FuncOp entry, int64_t apartBytes)
      : entry(entry), body(entry.getBody().front()), apartBytes(apartBytes), views(entry) {}

  FailureOr<MemoryPlan> run();

private:
  void numberSteps();
  unsigned stepOf(Operation *op) { return steps.lookup(body.findAncestorOpInBlock(*op)); }

  LogicalResult addBuffer(memref::AllocOp alloc);
  /// Its bytes, and the extent of its leading dimension.
  LogicalResult measure(Buffer &buffer);
  /// From the first to the last step that touches it; whether all touch it as a whole.
  FailureOr<bool> findLifetime(Buffer &buffer);

  void keepFactors();
  void keepSources();
  void shareInPlace();
  void shareWithInput(linalg::LinalgOp op, unsigned step, Value output);
  bool isTaken(unsigned buffer) const;

  std::vector<Place> makePlaces();
  void layOut();

  func::FuncOp entry;
  Block &body;
  int64_t apartBytes;
  BufferViewFlowAnalysis views;
  SmallVector<Operation *> ops; // by step
  DenseMap<Operation *, unsigned> steps;
  MemoryPlan plan;
  DenseMap<Value, unsigned> indexOf;
  SmallVector<bool> whole;    // touched as a whole only, in whatever shape
  std::vector<unsigned> root; // of the chain of buffers that share a place
};

void MemoryPlan::Planner::numberSteps() {
  for (Operation &op : body) {
    steps[&op] = ops.size();
    ops.push_back(&op);
  }
}

LogicalResult MemoryPlan::Planner::measure(Buffer &buffer) {
  memref::AllocOp alloc = buffer.alloc;
  auto count = getElementCount(alloc);
  MemRefType type = alloc.getType();
  if (!count || !type.getLayout().isIdentity())
    return alloc.emitOpError() << "has a size that is no function of the batch";
  auto bytes = *count * BatchExtent{llvm::divideCeil(type.getElementTypeBitWidth(), 8), 0};
  if (!bytes)
    return alloc.emitOpError() << "is larger than memory";
  buffer.bytes = *bytes;
  if (type.getRank() > 0 && type.isDynamicDim(0)) {
    BatchExtent extent = *getExtent(alloc, 0);
    if (extent.fixed != 0 || extent.perSample < 1)
      return alloc.emitOpError() << "has a leading extent that is not a multiple of the batch";
    buffer.extentPerSample = extent.perSample;
  }
  return success();
}

FailureOr<bool> MemoryPlan::Planner::findLifetime(Buffer &buffer) {
  memref::AllocOp alloc = buffer.alloc;
  buffer.begin = ops.size();
  bool nested = alloc->getBlock() != &body;
  bool isWhole = true;
  for (Value alias : views.resolve(alloc)) {
    if (nested && !alloc->getParentOp()->isAncestor(alias.getParentBlock()->getParentOp()))
      return alloc.emitOpError()
             << "leaves its loop; temporaries of a loop must not outlive an iteration";
    isWhole &= alias == alloc.getResult() || isBufferReshape(alias.getDefiningOp());
    for (Operation *user : alias.getUsers()) {
      buffer.begin = std::min(buffer.begin, stepOf(user));
      buffer.end = std::max(buffer.end, stepOf(user));
    }
  }
  buffer.begin = std::min(buffer.begin, buffer.end);
  return isWhole;
}

LogicalResult MemoryPlan::Planner::addBuffer(memref::AllocOp alloc) {
  Buffer buffer;
  buffer.alloc = alloc;
  if (failed(measure(buffer)))
    return failure();
  FailureOr<bool> isWhole = findLifetime(buffer);
  if (failed(isWhole))
    return failure();
  if (buffer.bytes.isFixed() && buffer.bytes.fixed <= apartBytes) {
    buffer.begin = 0;
    buffer.end = ops.size();
  }
  indexOf[alloc] = plan.buffers.size();
  whole.push_back(*isWhole);
  plan.buffers.push_back(buffer);
  return success();
}

/// The first reader of an integer product's sums may come to run on parts of them
/// (mpc-interleave-launches): it must not write over what the product still reads. Readers of
/// floating numbers mostly write in place.
void MemoryPlan::Planner::keepFactors() {
  for (auto [step, op] : llvm::enumerate(ops)) {
    auto product = dyn_cast<mpcrt::LibraryCallOpInterface>(op);
    if (!product || !getElementTypeOrSelf(product.getOut().getType()).isInteger())
      continue;
    auto sums = indexOf.find(skipBufferReshapes(product.getOut()));
    if (sums == indexOf.end())
      continue;
    unsigned next = ops.size();
    for (Value alias : views.resolve(sums->first))
      for (Operation *user : alias.getUsers())
        if (unsigned at = stepOf(user); at > step && isa<linalg::LinalgOp>(user))
          next = std::min(next, at);
    for (Value factor : {product.getLhs(), product.getRhs()})
      if (auto kept = indexOf.find(skipBufferReshapes(factor));
          kept != indexOf.end() && next < ops.size())
        plan.buffers[kept->second].end = std::max(plan.buffers[kept->second].end, next);
  }
}

/// The kernel that writes numbers may come to turn them, too (mpc-merge-launches): what it reads is
/// no place for what is turned.
void MemoryPlan::Planner::keepSources() {
  for (auto [step, op] : llvm::enumerate(ops)) {
    auto turn = dyn_cast<mpcrt::TurnOp>(op);
    auto numbers = turn ? indexOf.find(skipBufferReshapes(turn.getNumbers())) : indexOf.end();
    if (numbers == indexOf.end())
      continue;
    for (Value alias : views.resolve(numbers->first))
      for (Operation *user : alias.getUsers()) {
        auto writer = dyn_cast<linalg::LinalgOp>(user);
        if (!writer || !llvm::is_contained(writer.getDpsInits(), alias))
          continue;
        for (Value input : writer.getDpsInputs())
          if (auto kept = indexOf.find(skipBufferReshapes(input)); kept != indexOf.end())
            plan.buffers[kept->second].end =
                std::max(plan.buffers[kept->second].end, static_cast<unsigned>(step));
      }
  }
}

/// In place: `inPlaceOf` forms chains; each chain becomes one place.
void MemoryPlan::Planner::shareInPlace() {
  root.resize(plan.buffers.size());
  std::iota(root.begin(), root.end(), 0);
  for (auto [step, op] : llvm::enumerate(ops))
    if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
      for (Value output : linalgOp.getDpsInits())
        shareWithInput(linalgOp, step, output);
}

/// Gives `output` the place of the first input that `op`, at `step`, reads for the last time.
void MemoryPlan::Planner::shareWithInput(linalg::LinalgOp op, unsigned step, Value output) {
  auto written = indexOf.find(output);
  if (written == indexOf.end() || !whole[written->second])
    return;
  Buffer &target = plan.buffers[written->second];
  if (target.begin != step || target.inPlaceOf)
    return;
  for (Value input : op.getDpsInputs()) {
    auto read = indexOf.find(skipBufferReshapes(input));
    if (read == indexOf.end() || !whole[read->second] || input == output)
      continue;
    if (plan.buffers[read->second].end != step || isTaken(read->second) ||
        !canShare(op, input, output))
      continue;
    target.inPlaceOf = read->second;
    root[written->second] = root[read->second];
    return;
  }
}

/// The last member of a chain is the one that still holds a value.
bool MemoryPlan::Planner::isTaken(unsigned buffer) const {
  return llvm::any_of(plan.buffers, [&](const Buffer &b) { return b.inPlaceOf == buffer; });
}

/// By buffer; only those of roots are used.
std::vector<Place> MemoryPlan::Planner::makePlaces() {
  std::vector<Place> places(plan.buffers.size());
  for (auto [index, buffer] : llvm::enumerate(plan.buffers)) {
    int64_t fixed = buffer.bytes.fixed, perSample = buffer.bytes.perSample;
    plan.sum.fixed += fixed;
    plan.sum.perSample += perSample;
    Place &place = places[root[index]];
    if (root[index] == index) {
      bool small = perSample > 0 && perSample < 64;
      place.alignment = small ? 8 : 64;
      place.bytes = llvm::alignTo(perSample > 0 ? perSample : fixed, place.alignment);
    }
    // A member can come before its root in the list: both widen the range.
    place.begin = std::min(place.begin, buffer.begin);
    place.end = std::max(place.end, buffer.end);
  }
  return places;
}

void MemoryPlan::Planner::layOut() {
  std::vector<Place> places = makePlaces();
  SmallVector<Place *> fixedPlaces, samplePlaces;
  for (unsigned i = 0; i < root.size(); ++i)
    if (root[i] == i)
      (plan.buffers[i].bytes.perSample > 0 ? samplePlaces : fixedPlaces).push_back(&places[i]);
  plan.arena.fixed = llvm::alignTo(pack(fixedPlaces), 64);
  plan.arena.perSample = llvm::alignTo(pack(samplePlaces), 8);
  for (auto [index, buffer] : llvm::enumerate(plan.buffers)) {
    int64_t offset = places[root[index]].offset;
    buffer.offset =
        buffer.bytes.perSample > 0 ? BatchExtent{plan.arena.fixed, offset} : BatchExtent{offset, 0};
  }
}

FailureOr<MemoryPlan> MemoryPlan::Planner::run() {
  numberSteps();
  bool failedOnce = false; // all errors are reported together
  entry.walk([&](memref::AllocOp alloc) { failedOnce |= failed(addBuffer(alloc)); });
  if (failedOnce)
    return failure();
  keepFactors();
  keepSources();
  shareInPlace();
  layOut();
  return std::move(plan);
}

FailureOr<MemoryPlan> MemoryPlan::compute(func::FuncOp entry, int64_t apartBytes) {
  return Planner(entry, apartBytes).run();
}
