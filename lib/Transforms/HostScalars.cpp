// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An op without loops would be a launch of one thread on a GPU, which others wait for.
#include "lib/Transforms/HostScalars.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using linalg::GenericOp;

/// Whether it computes one number of scalars alone.
static bool isOfScalars(GenericOp op) {
  return op.getNumLoops() == 0 && op->getNumResults() == 1 &&
         !op.payloadUsesValueFromOperand(&op.getDpsInitsMutable()[0]) &&
         llvm::none_of(op.getDpsInputs(),
                       [](Value input) { return isa<ShapedType>(input.getType()); });
}

/// Where kernels read the one number of `value`, at whatever index in whatever shape; false where
/// something else reads it.
static bool findReads(Value value, SmallVector<OpOperand *> &reads) {
  return llvm::all_of(value.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(user))
      return findReads(user->getResult(0), reads);
    auto reader = dyn_cast<GenericOp>(user);
    // Another operand then says how long the loops are.
    if (!reader || !reader.isDpsInput(&use) || reader.getNumLoops() == 0 ||
        !reader.getMatchingIndexingMap(&use).isConstant())
      return false;
    reads.push_back(&use);
    return true;
  });
}

static Value computeScalar(IRRewriter &rewriter, GenericOp op) {
  IRMapping mapping;
  for (auto [argument, input] : llvm::zip(op.getBody()->getArguments(), op.getDpsInputs()))
    mapping.map(argument, input);
  rewriter.setInsertionPoint(op);
  for (Operation &inner : op.getBody()->without_terminator())
    rewriter.clone(inner, mapping);
  return mapping.lookupOrDefault(op.getBody()->getTerminator()->getOperand(0));
}

static void readScalar(OpOperand &read, Value number) {
  auto reader = cast<GenericOp>(read.getOwner());
  SmallVector<AffineMap> maps = reader.getIndexingMapsArray();
  maps[read.getOperandNumber()] = AffineMap::get(reader.getNumLoops(), 0, reader.getContext());
  read.set(number);
  reader.setIndexingMapsAttr(Builder(reader.getContext()).getAffineMapArrayAttr(maps));
}

void mpc::passHostScalars(IRRewriter &rewriter, func::FuncOp entry) {
  SmallVector<GenericOp> ops;
  entry.walk([&](GenericOp op) {
    if (isOfScalars(op))
      ops.push_back(op);
  });
  for (GenericOp op : ops) {
    SmallVector<OpOperand *> reads;
    if (op->use_empty() || !findReads(op->getResult(0), reads))
      continue;
    Value number = computeScalar(rewriter, op);
    for (OpOperand *read : reads)
      readScalar(*read, number);
  }
}
