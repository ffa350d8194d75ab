// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The float32 twin of an entry: op by op the same, so that values can be compared slot by slot.
#include "lib/Numerics/Trace/ReportValues.h"
#include "mpc/Analysis/EntryRole.h"

using namespace mlir;
using namespace mpc;

static bool isNarrow(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type && type.getWidth() < 32;
}

Type mpc::widenedType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor || !isNarrow(tensor.getElementType()))
    return type;
  return tensor.clone(Float32Type::get(type.getContext()));
}

/// The numbers as they were before they were rounded, where that is known: an epsilon that is 0 in
/// float16 is one in the twin.
static void widenConstant(ConstantOp constant) {
  auto type = cast<RankedTensorType>(constant.getResult().getType());
  if (!isNarrow(type.getElementType()))
    return;
  auto wide = cast<RankedTensorType>(widenedType(type));
  SmallVector<float> numbers;
  if (const std::optional<APFloat> exact = constant.getExact()) {
    constant.setValueAttr(DenseElementsAttr::get(wide, float(exact->convertToDouble())));
    constant.getResult().setType(wide);
    return;
  }
  for (const APFloat &value : cast<DenseElementsAttr>(constant.getValue()).getValues<APFloat>()) {
    numbers.push_back(float(value.convertToDouble()));
    if (constant.getValue().isSplat())
      break;
  }
  constant.setValueAttr(DenseElementsAttr::get(wide, ArrayRef<float>(numbers)));
  constant.getResult().setType(wide);
}

Value mpc::roundedToFloat8(Operation *op) {
  if (auto quantize = dyn_cast<Float8QuantizeOp>(op))
    return quantize.getInput();
  if (auto round = dyn_cast<RoundFloat8Op>(op))
    return round.getInput();
  return Value();
}

void mpc::widenOp(Operation *op) {
  if (auto constant = dyn_cast<ConstantOp>(op))
    return widenConstant(constant);
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (BlockArgument argument : block.getArguments())
        argument.setType(widenedType(argument.getType()));
  for (Value result : op->getResults())
    result.setType(widenedType(result.getType()));
  if (auto trace = dyn_cast<TraceOp>(op)) {
    trace.getBeforeMutable().clear(); // nothing is rounded
    trace.removeFormatAttr();
  }
  if (Value exact = roundedToFloat8(op)) {
    op->getResult(0).replaceAllUsesWith(exact);
    op->erase();
    return;
  }
  if (auto cast = dyn_cast<CastOp>(op); cast && cast.getInput().getType() == cast.getType()) {
    cast.replaceAllUsesWith(cast.getInput());
    cast.erase();
  }
}

/// Arguments stay as they are stored.
static void widenArguments(func::FuncOp entry) {
  OpBuilder builder = OpBuilder::atBlockBegin(&entry.getBody().front());
  for (BlockArgument argument : entry.getArguments()) {
    Type wide = widenedType(argument.getType());
    if (wide == argument.getType() || argument.use_empty())
      continue;
    auto cast = CastOp::create(builder, argument.getLoc(), wide, argument);
    argument.replaceAllUsesExcept(cast, cast);
  }
}

/// So do results.
static void narrowResults(func::FuncOp entry) {
  Operation *terminator = entry.getBody().front().getTerminator();
  OpBuilder builder(terminator);
  for (auto [operand, type] : llvm::zip_equal(terminator->getOpOperands(), entry.getResultTypes()))
    if (operand.get().getType() != type)
      operand.set(CastOp::create(builder, entry.getLoc(), type, operand.get()));
}

LogicalResult mpc::widenEntry(func::FuncOp entry) {
  SmallVector<Operation *> ops;
  entry.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { ops.push_back(op); });
  widenArguments(entry);
  for (Operation *op : ops)
    widenOp(op);
  narrowResults(entry);
  return success();
}
