// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Conversion/LinalgToMpcrt/Requantization.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/Matchers.h"
#include <cmath>

using namespace mlir;
using namespace mpc;
using rules::Requantization;

/// Follows 8 bits back to the integer of 32 bits whose lowest they are, and adds up what is added
/// on the way: bits above the lowest 8 never come down.
static Value skipAdditions(Value value, uint8_t &offset) {
  while (Operation *op = value.getDefiningOp()) {
    APInt constant;
    auto hasConstant = [&] {
      return op->getNumOperands() == 2 && matchPattern(op->getOperand(1), m_ConstantInt(&constant));
    };
    if (isa<arith::AddIOp>(op) && hasConstant())
      offset = uint8_t(offset + constant.trunc(8).getZExtValue());
    else if (isa<arith::SubIOp>(op) && hasConstant())
      offset = uint8_t(offset - constant.trunc(8).getZExtValue());
    else if (!isa<arith::TruncIOp, arith::ExtUIOp, arith::ExtSIOp>(op))
      break;
    value = op->getOperand(0);
    if (value.getType().getIntOrFloatBitWidth() < 8)
      return {};
  }
  return value;
}

/// The x of `x > bound ? x : bound`, or with `<`.
static Value skipBound(Value value, arith::CmpFPredicate predicate, int16_t &bound) {
  auto select = value.getDefiningOp<arith::SelectOp>();
  auto compare = select ? select.getCondition().getDefiningOp<arith::CmpFOp>() : arith::CmpFOp();
  FloatAttr constant;
  if (!compare || compare.getPredicate() != predicate ||
      compare.getLhs() != select.getTrueValue() || compare.getRhs() != select.getFalseValue() ||
      !matchPattern(compare.getRhs(), m_Constant(&constant)))
    return {};
  const double number = constant.getValueAsDouble();
  if (number != std::nearbyint(number) || std::fabs(number) > Requantization::mostBound ||
      (number == 0 && std::signbit(number)))
    return {};
  bound = int16_t(number);
  return select.getTrueValue();
}

namespace {
/// Finds which arguments the values of one iteration come from.
class Iteration {
public:
  Iteration(RowLoops loops, BlockArgument sums)
      : column(loops.columns.getInductionVar()), width(loops.width), sums(sums) {}

  bool isSum(Value value) const {
    auto load = value.getDefiningOp<memref::LoadOp>();
    return load && load.getMemRef() == sums; // where, the caller has seen
  }
  /// The number of a vector's argument whose element of the column the value is.
  std::optional<uint8_t> findVector(Value value, Type element) const {
    auto load = value.getDefiningOp<memref::LoadOp>();
    if (!load || load.getIndices().size() != 1 || load.getIndices().front() != column)
      return std::nullopt;
    auto argument = dyn_cast<BlockArgument>(load.getMemRef());
    auto type = load.getMemRefType();
    if (!argument || type.getElementType() != element || !type.getLayout().isIdentity() ||
        type.getShape() != ArrayRef<int64_t>(width) ||
        argument.getArgNumber() >= Requantization::none)
      return std::nullopt;
    return uint8_t(argument.getArgNumber());
  }
  /// The other operand of a sum or product one of whose operands is a vector's element.
  template <typename Op> Value skipVector(Value value, uint8_t &vector) const {
    auto op = value.getDefiningOp<Op>();
    for (unsigned i = 0; op && i < 2; ++i)
      if (auto found = findVector(op->getOperand(i), op.getType())) {
        vector = *found;
        return op->getOperand(1 - i);
      }
    return {};
  }

private:
  Value column;
  int64_t width;
  BlockArgument sums;
};
} // namespace

/// The only store of the loop over columns, if nothing else there has an effect.
static memref::StoreOp findOnlyStore(RowLoops loops) {
  memref::StoreOp store;
  for (Operation &op : loops.columns.getBody()->without_terminator()) {
    if (auto found = dyn_cast<memref::StoreOp>(op)) {
      if (store)
        return {};
      store = found;
    } else if (op.getNumRegions() != 0 || !(isMemoryEffectFree(&op) || isa<memref::LoadOp>(op))) {
      return {};
    }
  }
  return store;
}

std::optional<Requantization> mpc::findRequantization(func::FuncOp kernel, unsigned sums) {
  auto loops = findRowLoops(kernel);
  memref::StoreOp store = loops ? findOnlyStore(*loops) : memref::StoreOp();
  auto out = store ? dyn_cast<BlockArgument>(store.getMemRef()) : BlockArgument();
  if (!out || !store.getMemRefType().getElementType().isInteger(8) ||
      out.getArgNumber() >= Requantization::none)
    return std::nullopt;
  BlockArgument from = kernel.getArgument(sums);
  auto written = findElementAccess(out, *loops), read = findElementAccess(from, *loops);
  if (!written || written->isRead || !written->isWritten || !read || read->isWritten ||
      !cast<MemRefType>(from.getType()).getElementType().isInteger(32))
    return std::nullopt;
  const Iteration iteration(*loops, from);
  Requantization found;
  found.out = uint8_t(out.getArgNumber());
  Value value = skipAdditions(store.getValueToStore(), found.offset);
  auto whole = value ? value.getDefiningOp<arith::FPToSIOp>() : arith::FPToSIOp();
  auto rounded = whole ? whole.getIn().getDefiningOp<math::RoundEvenOp>() : math::RoundEvenOp();
  if (!rounded || !rounded.getType().isF32() || !whole.getType().isInteger(32))
    return std::nullopt;
  value = skipBound(rounded.getOperand(), arith::CmpFPredicate::OLT, found.high);
  value = value ? skipBound(value, arith::CmpFPredicate::OGT, found.low) : Value();
  value = value ? iteration.skipVector<arith::MulFOp>(value, found.scale) : Value();
  auto number = value ? value.getDefiningOp<arith::SIToFPOp>() : arith::SIToFPOp();
  if (!number)
    return std::nullopt;
  value = number.getIn();
  if (Value sum = iteration.skipVector<arith::AddIOp>(value, found.bias))
    value = sum;
  if (!iteration.isSum(value) || found.low >= found.high)
    return std::nullopt;
  return found;
}
