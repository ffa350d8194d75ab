// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Derivatives and reference values that are being written; each moves to its op's own file.
#include "dialects/mpc/IR/Mpc.h"
using namespace mlir;
using namespace mpc;
#define PENDING_VJP(OP) LogicalResult OP::buildVjp(OpBuilder &, ValueRange, ArrayRef<bool>, MutableArrayRef<Value>) { return emitOpError("has no derivative yet"); }
#define PENDING_EVALUATE(OP) LogicalResult OP::evaluate(ArrayRef<ReferenceTensor>, MutableArrayRef<ReferenceTensor>) { return emitOpError("has no reference value yet"); }
#define PENDING(OP) PENDING_VJP(OP) PENDING_EVALUATE(OP)
PENDING(ContractOp) PENDING(ReduceOp) PENDING(SoftmaxOp) PENDING(LogSoftmaxOp) PENDING(SoftmaxCrossEntropyOp)
PENDING(BroadcastLikeOp) PENDING(ReshapeOp) PENDING(TransposeOp) PENDING(ConcatenateOp) PENDING(SliceOp) PENDING(PadOp)
PENDING(DropoutOp) PENDING_EVALUATE(ConstantOp) PENDING_EVALUATE(ArgMaxOp) PENDING_EVALUATE(OneHotOp)
