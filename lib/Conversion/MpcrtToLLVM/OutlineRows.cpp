// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The body of an op as a function of the call (and of a range of rows for mpcrt.parallel_rows, of
// the memory for mpcrt.prepare): all that it needs from outside are addresses and extents, which it
// computes again from the same arguments.
#include "lib/Conversion/MpcrtToLLVM/Lowering.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mpc;

/// Clones what computes `value`, unless `mapping` has it.
static LogicalResult recompute(OpBuilder &builder, Value value, IRMapping &mapping) {
  if (mapping.contains(value))
    return success();
  Operation *producer = value.getDefiningOp();
  if (!producer || !isMemoryEffectFree(producer) || producer->getNumRegions() != 0)
    return failure();
  for (Value operand : producer->getOperands())
    if (failed(recompute(builder, operand, mapping)))
      return failure();
  builder.clone(*producer, mapping);
  return success();
}

FailureOr<func::FuncOp> mpc::outlineBody(Operation *op, StringRef name) {
  auto entry = op->getParentOfType<func::FuncOp>();
  OpBuilder before(entry);
  auto function = cast<func::FuncOp>(before.cloneWithoutRegions(*entry));
  function.setSymName(name);
  function->removeAttr(MpcDialect::kEntryAttr);
  Block *block = function.addEntryBlock();
  IRMapping mapping;
  mapping.map(entry.getArguments(), block->getArguments());
  OpBuilder builder = OpBuilder::atBlockEnd(block);
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegion(0), captured);
  for (Value value : captured)
    if (failed(recompute(builder, value, mapping))) {
      function.erase();
      return op->emitOpError() << "uses a value that is not computed from the call alone: "
                               << value;
    }
  for (Operation &inner : op->getRegion(0).front())
    builder.clone(inner, mapping);
  func::ReturnOp::create(builder, op->getLoc());
  return function;
}
