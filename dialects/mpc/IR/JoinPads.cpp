// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "dialects/mpc/IR/JoinPads.h"
#include "dialects/mpc/IR/Mpc.h"

using namespace mlir;
using namespace mpc;

Value mpc::joinPads(OpBuilder &builder, Location loc, Value a, Value b) {
  auto first = a.getDefiningOp<PadOp>(), second = b.getDefiningOp<PadOp>();
  if (!first || !second || first.getAxis() != second.getAxis() || !first.getValue().isZero() ||
      !second.getValue().isZero())
    return {};
  if (first.getLow() > second.getLow())
    std::swap(first, second);
  const int64_t axis = first.getAxis();
  auto extentOf = [&](PadOp pad) { return tensorTypeOf(pad.getInput()).getDimSize(axis); };
  if (int64_t(first.getLow()) + extentOf(first) != int64_t(second.getLow()))
    return {};
  SmallVector<Value> parts;
  for (PadOp pad : {first, second}) {
    auto joined = pad.getInput().getDefiningOp<ConcatenateOp>();
    if (joined && int64_t(joined.getAxis()) == axis && joined->hasOneUse())
      llvm::append_range(parts, joined.getInputs());
    else
      parts.push_back(pad.getInput());
  }
  Value joined = ConcatenateOp::create(builder, loc, ValueRange(parts), axis);
  if (first.getLow() == 0 && second.getHigh() == 0)
    return joined;
  return PadOp::create(builder, loc, joined, axis, first.getLow(), second.getHigh(),
                       llvm::APFloat(0.0));
}
