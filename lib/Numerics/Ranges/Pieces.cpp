// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Numerics/Ranges/Pieces.h"
#include "lib/Numerics/Ranges/RangeModels.h"

using namespace mlir;
using namespace mpc;

/// Values that are looked at on the way back from an operand.
static constexpr size_t kMostValues = 12;

bool mpc::computesByElement(Operation *op) {
  if (!op || op->getNumResults() != 1 || !isa<ElementwiseOpInterface, CastOp>(op))
    return false;
  auto isFloat = [](Value value) { return isa<FloatType>(elementTypeOf(value)); };
  return isFloat(op->getResult(0)) && llvm::all_of(op->getOperands(), isFloat);
}

/// The value and what it is computed of, element by element, closest first.
static llvm::SetVector<Value> originsOf(Value value) {
  llvm::SetVector<Value> origins;
  origins.insert(value);
  for (size_t i = 0; i < origins.size() && origins.size() < kMostValues; ++i)
    if (Operation *op = origins[i].getDefiningOp(); computesByElement(op))
      for (Value operand : op->getOperands())
        if (origins.size() < kMostValues)
          origins.insert(operand);
  return origins;
}

static bool isBefore(Value a, Value b) {
  Operation *first = a.getDefiningOp(), *second = b.getDefiningOp();
  if (!first || !second)
    return !first && (second || cast<BlockArgument>(a).getArgNumber() <
                                    cast<BlockArgument>(b).getArgNumber());
  return first->isBeforeInBlock(second);
}

namespace {
/// The ops between a number and the op that reads it on both sides.
struct Chain {
  Value source;
  SmallVector<Operation *> ops; ///< in their order, without the last
};
} // namespace

static std::optional<Chain> findChain(Operation &op) {
  if (!computesByElement(&op) || op.getNumOperands() != 2 || op.getOperand(0) == op.getOperand(1))
    return std::nullopt;
  const llvm::SetVector<Value> left = originsOf(op.getOperand(0)),
                               right = originsOf(op.getOperand(1));
  Chain chain;
  for (Value value : left)
    if (right.contains(value) && (!chain.source || isBefore(chain.source, value)))
      chain.source = value;
  if (!chain.source)
    return std::nullopt;
  SmallVector<Value> between;
  for (const llvm::SetVector<Value> *origins : {&left, &right})
    for (Value value : *origins)
      if (value != chain.source && isBefore(chain.source, value) &&
          computesByElement(value.getDefiningOp()) && !llvm::is_contained(between, value))
        between.push_back(value);
  llvm::sort(between, isBefore);
  for (Value value : between)
    chain.ops.push_back(value.getDefiningOp());
  // Forms know of sums and products.
  auto hasForm = [](Operation *each) { return formKindOf(each) != FormKind::None; };
  return llvm::all_of(chain.ops, hasForm) ? std::nullopt : std::optional(chain);
}

/// The ends of the pieces: the ends of the range, 0, and numbers that grow by a third or a half.
static SmallVector<double> endsOf(const Bound &bound) {
  SmallVector<double> ends{bound.low, bound.high};
  auto add = [&](double end) {
    if (bound.low < end && end < bound.high)
      ends.push_back(end);
  };
  add(0);
  for (int exponent = -4; exponent < 16; ++exponent)
    for (double part : {1.0, 1.5}) {
      add(std::ldexp(part, exponent));
      add(-std::ldexp(part, exponent));
    }
  llvm::sort(ends);
  return ends;
}

void mpc::narrowByPieces(Operation &op, RangeAnalysis &analysis,
                         llvm::function_ref<const Bound &(Value)> boundOf, Bound &result) {
  std::optional<Chain> chain = findChain(op);
  if (!chain || !result.isFinite())
    return;
  const Bound &whole = boundOf(chain->source);
  if (!whole.isFinite() || whole.low == whole.high)
    return;
  chain->ops.push_back(&op);
  const SmallVector<double> ends = endsOf(whole);
  double low = kUnbounded, high = -kUnbounded;
  for (size_t piece = 0; piece + 1 < ends.size(); ++piece) {
    llvm::DenseMap<Value, Bound> bounds;
    bounds[chain->source] = Bound::of(ends[piece], ends[piece + 1], whole.error);
    for (Operation *each : chain->ops) {
      auto operands = llvm::map_to_vector(each->getOperands(), [&](Value value) {
        auto found = bounds.find(value);
        return found == bounds.end() ? boundOf(value) : found->second;
      });
      SmallVector<Bound> derived{Bound::anyOf(elementTypeOf(each->getResult(0)))};
      if (auto ranged = dyn_cast<RangeOpInterface>(each)) {
        RangeArguments arguments(each, analysis, operands, derived);
        ranged.deriveRanges(arguments);
      }
      bounds[each->getResult(0)] = derived[0];
    }
    const Bound &last = bounds[op.getResult(0)];
    if (!last.isFinite())
      return;
    low = std::min(low, last.low);
    high = std::max(high, last.high);
  }
  if (low <= high) {
    result.low = std::max(result.low, low);
    result.high = std::min(result.high, high);
  }
}
