// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lib/Import/Common/ScanBuilder.h"

namespace mpc {

using mlir::Value;

ScanBuilder::ScanBuilder(mlir::OpBuilder &builder, mlir::Location location,
                         llvm::ArrayRef<Value> inits, llvm::ArrayRef<Value> scanned, int64_t steps,
                         bool reverse)
    : builder(builder), location(location), outside(builder.saveInsertionPoint()),
      block(std::make_unique<mlir::Block>()), inits(inits), scanned(scanned), steps(steps),
      reverse(reverse) {
  for (Value init : inits)
    carried.push_back(block->addArgument(init.getType(), location));
  for (Value whole : scanned)
    slices.push_back(block->addArgument(ScanOp::sliceType(tensorTypeOf(whole)), location));
  builder.setInsertionPointToEnd(block.get());
}

void ScanBuilder::carry(Value outside, Value next, bool inTraining) {
  Value argument = block->insertArgument(unsigned(inits.size()), outside.getType(), location);
  outside.replaceUsesWithIf(
      argument, [&](mlir::OpOperand &use) { return use.getOwner()->getBlock() == block.get(); });
  inits.push_back(outside);
  if (inTraining)
    next = InTrainingOp::create(builder, location, next, argument);
  later.push_back(next);
}

void ScanBuilder::varyRandomness(Value state) {
  if (!state || llvm::none_of(state.getUsers(), [&](mlir::Operation *user) {
        return user->getBlock() == block.get();
      }))
    return;
  carry(state, RandomStepOp::create(builder, location, state), /*inTraining=*/false);
}

ScanOp ScanBuilder::finish(llvm::ArrayRef<Value> next, llvm::ArrayRef<Value> outputs) {
  llvm::SmallVector<Value> yielded(next), captures;
  llvm::append_range(yielded, later);
  llvm::append_range(yielded, outputs);
  llvm::SmallVector<mlir::Type> types(mlir::ValueRange(inits).getTypes());
  for (Value output : outputs)
    types.push_back(ScanOp::stackType(tensorTypeOf(output), steps));
  YieldOp::create(builder, location, yielded);
  builder.restoreInsertionPoint(outside);
  // Ops that depend on no step (slices of weights) run once, in front of the loop.
  for (mlir::Operation &op : llvm::make_early_inc_range(block->without_terminator()))
    if (op.getNumOperands() > 0 && op.getNumRegions() == 0 &&
        llvm::all_of(op.getOperands(),
                     [&](Value operand) { return operand.getParentBlock() != block.get(); })) {
      op.remove();
      builder.insert(&op);
    }
  llvm::DenseMap<Value, Value> inside;
  auto capture = [&](mlir::OpOperand &operand) {
    Value value = operand.get();
    if (value.getParentBlock() == block.get())
      return;
    Value &stand = inside[value];
    if (!stand && value.getDefiningOp<ConstantOp>()) {
      mlir::OpBuilder atStart(builder.getContext()); // the block is in no region yet
      atStart.setInsertionPointToStart(block.get());
      stand = atStart.clone(*value.getDefiningOp())->getResult(0);
    } else if (!stand) {
      captures.push_back(value);
      stand = block->addArgument(value.getType(), location);
    }
    operand.set(stand);
  };
  // Bodies of ops inside are isolated: what they use are their operands.
  for (mlir::Operation &op : llvm::make_early_inc_range(*block))
    for (mlir::OpOperand &operand : op.getOpOperands())
      capture(operand);
  auto scan = ScanOp::create(builder, location, types, inits, scanned, captures, steps, reverse);
  scan.getBody().push_back(block.release());
  return scan;
}

void importForEveryStep(mlir::Block &block, llvm::function_ref<void()> import) {
  mlir::Operation *const last = block.empty() ? nullptr : &block.back();
  import();
  auto next = last ? std::next(last->getIterator()) : block.begin();
  for (mlir::Operation &op : llvm::make_range(next, block.end()))
    if (auto step = llvm::dyn_cast<EveryStepOpInterface>(op))
      step.setEveryStep(true);
}

} // namespace mpc
