// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The checker's derivation of functions that read one number in two places: part by part of the
// numbers that it can be.
#include "tools/mpc-check-certificate/Sharing.h"

using namespace mlir;
using namespace mpc;
using namespace mpc::check;

namespace {

bool isStep(Operation *op) {
  if (!op || op->getNumResults() != 1)
    return false;
  for (Value value : op->getOperands())
    if (!isa<FloatType>(elementTypeOf(value)))
      return false;
  return isa<FloatType>(elementTypeOf(op->getResult(0))) && isa<ElementwiseOpInterface, CastOp>(op);
}

/// A place in the block that grows along it.
std::pair<unsigned, unsigned> placeOf(Value value, llvm::DenseMap<Operation *, unsigned> &places) {
  if (auto argument = dyn_cast<BlockArgument>(value))
    return {0, argument.getArgNumber()};
  Operation *op = value.getDefiningOp();
  if (places.empty())
    for (Operation &each : *op->getBlock())
      places[&each] = unsigned(places.size()) + 1;
  return {places[op], 0};
}

/// The dozen values that `value` is computed of first.
std::vector<Value> behind(Value value) {
  std::vector<Value> found{value};
  for (size_t next = 0; next < found.size(); ++next) {
    Operation *op = found[next].getDefiningOp();
    if (!isStep(op) || found.size() >= 12)
      continue;
    for (Value operand : op->getOperands())
      if (found.size() < 12 && !llvm::is_contained(found, operand))
        found.push_back(operand);
  }
  return found;
}

} // namespace

void Sharing::narrowByParts(Operation &op, FactOf factOf, MutableArrayRef<Fact> results) {
  if (!isStep(&op) || op.getNumOperands() != 2 || op.getOperand(0) == op.getOperand(1) ||
      !results.front().isBounded())
    return;
  Fact &result = results.front();
  const std::vector<Value> left = behind(op.getOperand(0)), right = behind(op.getOperand(1));
  Value source;
  for (Value value : left)
    if (llvm::is_contained(right, value) &&
        (!source || placeOf(value, blockPlaces) > placeOf(source, blockPlaces)))
      source = value;
  if (!source || !factOf(source).isBounded() || factOf(source).low == factOf(source).high)
    return;
  std::map<std::pair<unsigned, unsigned>, Operation *> steps;
  bool hasFunction = false;
  for (const std::vector<Value> &side : {left, right})
    for (Value value : side)
      if (placeOf(value, blockPlaces) > placeOf(source, blockPlaces) &&
          isStep(value.getDefiningOp())) {
        steps[placeOf(value, blockPlaces)] = value.getDefiningOp();
        hasFunction |= !isa<AddOp, SubtractOp, MultiplyOp, NegateOp, CastOp>(value.getDefiningOp());
      }
  if (!hasFunction)
    return;
  steps[placeOf(op.getResult(0), blockPlaces)] = &op;
  const Fact whole = factOf(source);
  std::set<Real> ends{whole.low, whole.high};
  for (int exponent = -4; exponent < 16; ++exponent)
    for (Real size : {std::ldexp(Real(1), exponent), std::ldexp(Real(1.5), exponent), Real(0)})
      for (Real end : {size, -size})
        if (whole.low < end && end < whole.high)
          ends.insert(end);
  Real low = kInfinite, high = -kInfinite;
  for (auto end = ends.begin(); std::next(end) != ends.end(); ++end) {
    llvm::DenseMap<Value, Fact> part;
    part[source] = between(*end, *std::next(end), whole.error);
    for (const auto &[place, step] : steps) {
      SmallVector<Fact> operands = llvm::map_to_vector(step->getOperands(), [&](Value value) {
        return part.count(value) ? part[value] : factOf(value);
      });
      derive(step, /*training=*/false, operands, part[step->getResult(0)]);
    }
    const Fact &last = part[op.getResult(0)];
    if (!last.isBounded())
      return;
    low = std::min(low, last.low);
    high = std::max(high, last.high);
  }
  if (low <= high) {
    result.low = std::max(result.low, low);
    result.high = std::min(result.high, high);
  }
}
